package dev.penstock.host;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.connector.ConnectorContext;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkConnectorContext;
import org.apache.kafka.connect.source.SourceConnectorContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connector that runs as long as the first of its tasks, and watches the external system for changes.
 *
 * <p>All of its methods are called in one thread. Its requests to the context are sent to the parent.
 */
final class RunningConnector {
    private static final Logger log = LoggerFactory.getLogger(RunningConnector.class);

    private final Connector connector;
    private final ClassLoader loader;
    private final int mostTasks;
    private final PluginMetricsImpl metrics;
    private final Channel channel;
    private final ExecutorService calls = Executors.newSingleThreadExecutor(Threads.daemons("penstock-connector"));
    private final AtomicBoolean requested = new AtomicBoolean();

    RunningConnector(
            Connector connector, ClassLoader loader, int mostTasks, PluginMetricsImpl metrics, Channel channel) {
        this.connector = connector;
        this.loader = loader;
        this.mostTasks = mostTasks;
        this.metrics = metrics;
        this.channel = channel;
    }

    /** Starts the connector, and returns the properties of its current tasks. */
    Channel.Content start(Map<String, String> properties) throws Exception {
        return Threads.result(calls.submit(() -> Threads.with(loader, () -> {
            connector.initialize(connector instanceof SinkConnector ? new SinkContext() : new SourceContext());
            connector.start(properties);
            return ConnectorCalls.packed(connector.taskConfigs(mostTasks));
        })));
    }

    /** Initiates the stop of the connector, without waiting for it. */
    void beginStop() {
        calls.execute(() -> {
            try {
                Threads.with(loader, () -> {
                    connector.stop();
                    return null;
                });
            } catch (Throwable e) {
                log.warn("The connector's stop() has failed", e);
            } finally {
                PluginRegistries.close(metrics);
            }
        });
        synchronized (calls) {
            calls.shutdown();
        }
    }

    /** Waits until the connector has stopped, for at most {@code millis}. */
    void awaitStop(long millis) throws InterruptedException {
        if (!calls.awaitTermination(millis, TimeUnit.MILLISECONDS)) {
            log.warn("The connector's stop() has not returned; its JVM exits without waiting for it");
        }
    }

    /** Gets the connector's tasks, and sends them to the parent, which compares them with the plan. */
    private void split() {
        requested.set(false);
        try {
            send("tasks", Threads.with(loader, () -> ConnectorCalls.packed(connector.taskConfigs(mostTasks))));
        } catch (Throwable e) {
            log.error("The connector has requested a reconfiguration of its tasks, but its taskConfigs() has failed", e);
        }
    }

    private void send(String what, Channel.Content arguments) {
        try {
            channel.send(out -> {
                out.packArrayHeader(3);
                out.packString("connector");
                out.packString(what);
                arguments.write(out);
            });
        } catch (IOException e) {
            throw new ConnectException("cannot reach the process that runs this connector", e);
        }
    }

    private class Context implements ConnectorContext {
        @Override
        public void requestTaskReconfiguration() {
            synchronized (calls) {
                if (!calls.isShutdown() && requested.compareAndSet(false, true)) {
                    calls.execute(RunningConnector.this::split);
                }
            }
        }

        @Override
        public void raiseError(Exception error) {
            send("failed", out -> Errors.pack(out, error));
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return metrics;
        }
    }

    private final class SinkContext extends Context implements SinkConnectorContext {}

    private final class SourceContext extends Context implements SourceConnectorContext {
        private final OffsetStorageReader offsets = new Offsets(channel);

        @Override
        public OffsetStorageReader offsetStorageReader() {
            return offsets;
        }
    }
}
