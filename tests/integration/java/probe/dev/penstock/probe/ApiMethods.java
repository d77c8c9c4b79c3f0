package dev.penstock.probe;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.connector.ConnectorContext;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkConnectorContext;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.sink.SinkTaskContext;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceConnectorContext;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.source.TransactionContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/** Prints each public method that Kafka Connect's API has for connectors and between them and the runtime. */
public final class ApiMethods {
    private static final List<Class<?>> TYPES = List.of(
            Connector.class,
            SourceConnector.class,
            SinkConnector.class,
            Task.class,
            SourceTask.class,
            SinkTask.class,
            ConnectorContext.class,
            SourceConnectorContext.class,
            SinkConnectorContext.class,
            SourceTaskContext.class,
            SinkTaskContext.class,
            OffsetStorageReader.class,
            ErrantRecordReporter.class,
            TransactionContext.class,
            PluginMetrics.class);

    private ApiMethods() {}

    public static void main(String[] arguments) {
        for (Class<?> type : TYPES) {
            TreeSet<String> names = new TreeSet<>();
            for (Method method : type.getDeclaredMethods()) {
                if (Modifier.isPublic(method.getModifiers()) && !method.isSynthetic()) {
                    String parameters =
                            Stream.of(method.getParameterTypes()).map(Class::getSimpleName).collect(Collectors.joining(", "));
                    names.add(type.getSimpleName() + "." + method.getName() + "(" + parameters + ")");
                }
            }
            names.forEach(System.out::println);
        }
    }
}
