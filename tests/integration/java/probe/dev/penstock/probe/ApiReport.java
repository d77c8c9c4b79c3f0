package dev.penstock.probe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Measurable;
import org.apache.kafka.common.metrics.PluginMetrics;

/** Writes what became of each method of Kafka Connect's API to the file "report": {@code <method> TAB <word>}. */
final class ApiReport {
    private final String file;

    ApiReport(Map<String, String> properties) {
        this.file = properties.get("report");
    }

    synchronized void note(String method, String word) {
        try {
            Files.writeString(
                    Path.of(file), method + "\t" + word + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The runtime has called a method of the plugin. */
    void called(String method) {
        note(method, "called");
    }

    void works(String method, boolean does) {
        note(method, does ? "works" : "fails");
    }

    /** Registers metrics, which the test then looks for at the task's endpoint. */
    void metrics(String context, PluginMetrics metrics) {
        works(context + ".pluginMetrics()", metrics != null);
        MetricName name = metrics.metricName("probe-metric", "A probe.", new LinkedHashMap<>());
        note("PluginMetrics.metricName(String, String, LinkedHashMap)", name.name().equals("probe-metric") ? "no effect" : "fails");
        metrics.addMetric(name, (Measurable) (config, now) -> 1.0);
        note("PluginMetrics.addMetric(MetricName, MetricValueProvider)", "no effect");
        metrics.removeMetric(name);
        note("PluginMetrics.removeMetric(MetricName)", "no effect");
        metrics.addSensor("probe-sensor").record(1);
        note("PluginMetrics.addSensor(String)", "no effect");
        metrics.removeSensor("probe-sensor");
        note("PluginMetrics.removeSensor(String)", "no effect");
        metrics.addMetric(name, (Measurable) (config, now) -> 1.0); // to be looked for
    }
}
