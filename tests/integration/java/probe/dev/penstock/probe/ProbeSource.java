package dev.penstock.probe;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;

/** A source whose behaviour is chosen by properties. */
public class ProbeSource extends SourceConnector {
    private Map<String, String> properties;

    @Override
    public String version() {
        try (InputStream in = ProbeSource.class.getResourceAsStream("/probe-version.txt")) {
            return in == null ? "0.0.1" : new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void start(Map<String, String> given) {
        properties = given;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ProbeTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        new Actions(properties).at("taskConfigs");
        String tasks = properties.getOrDefault("tasks", "1");
        if (tasks.equals("null")) {
            return null;
        }
        List<Map<String, String>> configs = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(tasks); i++) {
            Map<String, String> config = new HashMap<>(properties);
            config.put("number", String.valueOf(i));
            configs.add(config);
        }
        return configs;
    }

    @Override
    public void stop() {}

    @Override
    public ConfigDef config() {
        return new ConfigDef()
                .define("topic", ConfigDef.Type.STRING, "t", ConfigDef.Importance.HIGH, "Where records go.")
                .define("password", ConfigDef.Type.PASSWORD, "", ConfigDef.Importance.LOW, "A secret.");
    }

    @Override
    public Config validate(Map<String, String> given) {
        new Actions(given).at("validate");
        return super.validate(given);
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> given) {
        String support = given.getOrDefault("support", "SUPPORTED");
        return support.equals("null") ? null : ExactlyOnceSupport.valueOf(support);
    }

    @Override
    public boolean alterOffsets(Map<String, String> given, Map<Map<String, ?>, Map<String, ?>> offsets) {
        new Actions(given).at("alterOffsets");
        String alters = given.getOrDefault("alters", "default");
        return alters.equals("default") ? super.alterOffsets(given, offsets) : alters.equals("true");
    }
}
