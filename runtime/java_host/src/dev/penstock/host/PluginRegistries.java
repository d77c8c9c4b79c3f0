package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.msgpack.core.MessagePacker;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Metrics that plugins register (KIP-877). Each plugin object has its own registry, so that names do not collide. */
final class PluginRegistries {
    private static final Logger log = LoggerFactory.getLogger(PluginRegistries.class);
    private static final String GROUP = "plugins";

    private final Map<Metrics, Map<String, String>> open = new ConcurrentHashMap<>();

    /**
     * Creates the metrics of a plugin object, which are read until they are closed.
     *
     * @param tags tags of all its metrics, as in Kafka Connect
     */
    PluginMetricsImpl make(Map<String, String> tags) {
        return new Registered(new Metrics(), tags);
    }

    /** Passes metrics to a configured plugin and returns them if it is Monitorable; otherwise returns null. */
    PluginMetricsImpl give(Object plugin, Map<String, String> tags) {
        if (!(plugin instanceof Monitorable monitorable)) {
            return null;
        }
        PluginMetricsImpl made = make(tags);
        monitorable.withPluginMetrics(made);
        return made;
    }

    /** Returns metrics that are never read, for a plugin object that is only used for planning. */
    static PluginMetrics unread(Map<String, String> tags) {
        return new PluginMetricsImpl(new Metrics(), tags);
    }

    static void close(PluginMetricsImpl metrics) {
        try {
            if (metrics != null) {
                metrics.close();
            }
        } catch (IOException | RuntimeException e) {
            log.warn("Cannot close the metrics of a plugin", e);
        }
    }

    /** The metrics of each plugin object. */
    List<MetricsReader.Source> sources() {
        List<MetricsReader.Source> found = new ArrayList<>();
        open.forEach((metrics, tags) -> found.add(new MetricsReader.Source(metrics, "the plugin " + tags, () -> read(metrics))));
        return found;
    }

    private static List<MetricsReader.Reading> read(Metrics metrics) {
        List<MetricsReader.Reading> found = new ArrayList<>();
        for (KafkaMetric metric : metrics.metrics().values()) {
            if (metric.metricName().group().equals(GROUP)) {
                try {
                    Double number = MetricsReader.number(metric.metricValue());
                    if (number != null) {
                        found.add(new MetricsReader.Reading(out -> pack(out, metric, number), false));
                    }
                } catch (RuntimeException e) {
                    log.debug("Cannot read metric {}", metric.metricName(), e);
                }
            }
        }
        return found;
    }

    private static void pack(MessagePacker out, KafkaMetric metric, double value) throws IOException {
        out.packArrayHeader(4);
        Channel.packText(out, metric.metricName().name());
        Channel.packText(out, metric.metricName().description());
        MetricsReader.pack(out, metric.metricName().tags());
        out.packDouble(value);
    }

    private final class Registered extends PluginMetricsImpl {
        private final Metrics metrics;

        Registered(Metrics metrics, Map<String, String> tags) {
            super(metrics, tags);
            this.metrics = metrics;
            open.put(metrics, tags);
        }

        @Override
        public void close() throws IOException {
            open.remove(metrics);
            super.close();
            metrics.close();
        }
    }
}
