package dev.penstock.probe;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.connect.components.Versioned;

/** A vault: the parameter "vault" is a properties file with "path/key" names. {@link Actions} at "configure" and "get". */
public class ProbeConfigProvider implements ConfigProvider, Versioned {
    private final Map<String, String> given = new HashMap<>();

    @Override
    public String version() {
        return new ProbeSource().version();
    }

    @Override
    public void configure(Map<String, ?> configs) {
        configs.forEach((name, value) -> given.put(name, (String) value));
        tell("configure " + Thread.currentThread().getContextClassLoader().getClass().getSimpleName());
        new Actions(given).at("configure");
    }

    @Override
    public ConfigData get(String path) {
        throw new UnsupportedOperationException("Kafka Connect always asks for keys");
    }

    @Override
    public ConfigData get(String path, Set<String> keys) {
        tell("get " + path + " " + new TreeSet<>(keys));
        new Actions(given).at("get");
        Properties held = new Properties();
        try (Reader file = Files.newBufferedReader(Path.of(given.get("vault")))) {
            held.load(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Map<String, String> found = new HashMap<>();
        keys.forEach(key -> found.put(key, held.getProperty(path + "/" + key))); // null: there is none
        found.put("of another", "surplus");
        return given.containsKey("ttl") ? new ConfigData(found, Long.parseLong(given.get("ttl"))) : new ConfigData(found);
    }

    @Override
    public void close() {
        tell("close");
        new Actions(given).at("close");
    }

    private void tell(String line) {
        if (!given.containsKey("journal")) {
            return;
        }
        try {
            Files.writeString(
                    Path.of(given.get("journal")), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
