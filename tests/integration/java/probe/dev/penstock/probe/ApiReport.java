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
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.stats.CumulativeSum;

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
        works("PluginMetrics.metricName(String, String, LinkedHashMap)", name.tags().containsKey("connector"));
        metrics.addMetric(name, (Measurable) (config, now) -> 1.0);
        works("PluginMetrics.addMetric(MetricName, MetricValueProvider)", true);
        MetricName removed = metrics.metricName("probe-removed", "A probe.", new LinkedHashMap<>());
        metrics.addMetric(removed, (Measurable) (config, now) -> 1.0);
        metrics.removeMetric(removed);
        works("PluginMetrics.removeMetric(MetricName)", true);
        Sensor sensor = metrics.addSensor("probe-sensor");
        sensor.add(metrics.metricName("probe-counted", "A probe.", new LinkedHashMap<>()), new CumulativeSum());
        sensor.record(7);
        works("PluginMetrics.addSensor(String)", true);
        metrics.addSensor("probe-gone").add(removed, new CumulativeSum());
        metrics.removeSensor("probe-gone");
        works("PluginMetrics.removeSensor(String)", true);
    }
}
