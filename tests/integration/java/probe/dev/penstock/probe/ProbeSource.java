package dev.penstock.probe;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;

/** A source whose behaviour is chosen by properties. */
public class ProbeSource extends SourceConnector {
    private Map<String, String> properties;
    private volatile boolean stopped;

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
        ProbeMetrics.counter(context().pluginMetrics(), "calls").record();
        if (given.get("watched") != null) {
            new Thread(this::watch, "probe-watch").start();
        }
        new Actions(given).at("connector.start");
    }

    /** Requests a reconfiguration when the file "watched" changes, which holds the number of tasks; raises what is no number. */
    private void watch() {
        try {
            String known = watched();
            while (!stopped) {
                Thread.sleep(50);
                String found = watched();
                if (!found.equals(known)) {
                    known = found;
                    if (found.matches("\\d+")) {
                        context().requestTaskReconfiguration();
                        append("journal", "requested\n");
                    } else {
                        context().raiseError(new ConnectException("cannot watch", new IOException(found)));
                    }
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private String watched() {
        try {
            return Files.readString(Path.of(properties.get("watched"))).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ProbeTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        new Actions(properties).at("taskConfigs");
        String tasks = properties.get("watched") != null ? watched() : properties.getOrDefault("tasks", "1");
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
    public void stop() {
        stopped = true;
        append("stops", "x");
    }

    private void append(String file, String text) {
        if (properties == null || properties.get(file) == null) {
            return;
        }
        try {
            Files.writeString(
                    Path.of(properties.get(file)), text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

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
    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> given) {
        new Actions(given).at("boundaries");
        String boundaries = given.getOrDefault("boundaries", "SUPPORTED");
        return boundaries.equals("null") ? null : ConnectorTransactionBoundaries.valueOf(boundaries);
    }

    @Override
    public boolean alterOffsets(Map<String, String> given, Map<Map<String, ?>, Map<String, ?>> offsets) {
        new Actions(given).at("alterOffsets");
        String alters = given.getOrDefault("alters", "default");
        return alters.equals("default") ? super.alterOffsets(given, offsets) : alters.equals("true");
    }
}
