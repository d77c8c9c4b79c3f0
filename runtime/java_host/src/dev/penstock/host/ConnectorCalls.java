package dev.penstock.host;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.connector.ConnectorContext;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkConnectorContext;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceConnectorContext;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import org.msgpack.core.MessagePacker;

/** Calls to a connector while it is planned: its properties, their validation, its tasks. */
final class ConnectorCalls {
    private final Plugins plugins;
    private final Channel channel;

    ConnectorCalls(Plugins plugins, Channel channel) {
        this.plugins = plugins;
        this.channel = channel;
    }

    /** Returns the configuration definition of a plugin of any kind; empty for a class that has none. */
    Channel.Content config(Plugins.Reference plugin) throws Exception {
        Object made = plugins.make(plugin, Object.class);
        ConfigDef definition = Threads.with(plugins.loader(plugin), () -> definition(made));
        List<ConfigDef.ConfigKey> keys = definition == null ? List.of() : List.copyOf(definition.configKeys().values());
        return out -> {
            out.packArrayHeader(keys.size());
            for (ConfigDef.ConfigKey key : keys) {
                packKey(out, key);
            }
        };
    }

    private static ConfigDef definition(Object plugin) throws Exception {
        Method config;
        try {
            config = plugin.getClass().getMethod("config");
        } catch (NoSuchMethodException e) {
            return null;
        }
        return config.invoke(plugin) instanceof ConfigDef definition ? definition : null;
    }

    private static void packKey(MessagePacker out, ConfigDef.ConfigKey key) throws java.io.IOException {
        boolean shown = key.hasDefault() && key.defaultValue != null;
        out.packArrayHeader(16);
        Channel.packText(out, key.name);
        Channel.packText(out, key.type.name());
        out.packBoolean(!key.hasDefault());
        Channel.packTextOrNil(out, shown ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
        Channel.packText(out, key.importance.name());
        Channel.packText(out, Objects.requireNonNullElse(key.documentation, ""));
        Channel.packText(out, described(key.validator));
        Channel.packTextOrNil(out, key.group);
        out.packInt(key.orderInGroup);
        Channel.packText(out, key.width == null ? "NONE" : key.width.name());
        Channel.packText(out, Objects.requireNonNullElse(key.displayName, key.name));
        packTexts(out, Objects.requireNonNullElse(key.dependents, List.of()));
        boolean inAnyCase = key.validator instanceof ConfigDef.CaseInsensitiveValidString;
        boolean named = inAnyCase || key.validator instanceof ConfigDef.ValidString;
        packTexts(out, named ? List.of(inBrackets(key.validator).split(", ")) : List.of());
        out.packBoolean(inAnyCase);
        boolean limited = key.validator instanceof ConfigDef.Range;
        String[] limits = limited ? inBrackets(key.validator).split(",?\\.\\.\\.,?", -1) : new String[] {"", ""};
        Channel.packText(out, limits[0]);
        Channel.packText(out, limits[limits.length - 1]);
    }

    private static void packTexts(MessagePacker out, List<String> texts) throws java.io.IOException {
        out.packArrayHeader(texts.size());
        for (String text : texts) {
            Channel.packText(out, text);
        }
    }

    /** Returns the list or range in a Kafka validator's description: {@code [none, gzip]}, {@code [0,...,100]}, {@code [1,...]}. */
    private static String inBrackets(ConfigDef.Validator validator) {
        String text = validator.toString();
        return text.substring(text.indexOf('[') + 1, text.length() - 1);
    }

    /** Returns the description of a validator; empty if it has none. */
    private static String described(ConfigDef.Validator validator) {
        String text = validator == null ? "" : String.valueOf(validator);
        return text.contains("@" + Integer.toHexString(System.identityHashCode(validator))) ? "" : text;
    }

    /** Returns every property with its errors, as {@code PUT /connector-plugins/<class>/config/validate} does. */
    Channel.Content validate(Plugins.Reference plugin, Map<String, String> properties) throws Exception {
        Connector connector = plugins.make(plugin, Connector.class);
        Config config = Threads.with(plugins.loader(plugin), () -> connector.validate(properties));
        if (config == null) {
            throw new ConnectException(
                    connector.getClass().getName() + ".validate() must return a Config that is not null.");
        }
        return problems(List.copyOf(config.configValues()));
    }

    /**
     * Returns every property of a transform, predicate or converter with its errors, by its configuration definition.
     *
     * @param prefix prefix of its properties in the connector's configuration; {@code properties} have it as well
     */
    Channel.Content validateDefinition(Plugins.Reference plugin, String prefix, Map<String, String> properties)
            throws Exception {
        Object made = plugins.make(plugin, Object.class);
        return Threads.with(plugins.loader(plugin), () -> {
            ConfigDef whole = new ConfigDef();
            ConfigDef definition = definition(made);
            if (definition != null) {
                whole.embed(prefix, "", 0, definition);
            }
            return problems(whole.validate(properties));
        });
    }

    private static Channel.Content problems(List<ConfigValue> values) {
        return out -> {
            out.packArrayHeader(values.size());
            for (ConfigValue value : values) {
                out.packArrayHeader(2);
                Channel.packText(out, value.name());
                out.packArrayHeader(value.errorMessages().size());
                for (String message : value.errorMessages()) {
                    Channel.packText(out, String.valueOf(message));
                }
            }
        };
    }

    /**
     * Returns the properties of each task from several calls of the connector: two calls and, if the answers differ, a
     * third one. The connector is started and stopped for this.
     */
    Channel.Content taskConfigs(Plugins.Reference plugin, Map<String, String> properties, int most) throws Exception {
        Connector connector = plugins.make(plugin, Connector.class);
        List<List<Map<String, String>>> answers = Threads.with(plugins.loader(plugin), () -> {
            connector.initialize(connector instanceof SinkConnector ? new SinkContext(properties) : new SourceContext(properties, channel));
            try {
                connector.start(properties);
                List<Map<String, String>> first = connector.taskConfigs(most);
                List<Map<String, String>> second = connector.taskConfigs(most);
                return Objects.equals(first, second)
                        ? Arrays.asList(first, second)
                        : Arrays.asList(first, second, connector.taskConfigs(most));
            } finally {
                connector.stop();
            }
        });
        return out -> {
            out.packArrayHeader(answers.size());
            for (List<Map<String, String>> tasks : answers) {
                packed(tasks).write(out);
            }
        };
    }

    /** Packs the properties of tasks; null means no tasks. */
    static Channel.Content packed(List<Map<String, String>> tasks) {
        List<Map<String, String>> given = tasks == null ? List.of() : tasks;
        return out -> {
            out.packArrayHeader(given.size());
            for (Map<String, String> task : given) {
                out.packMapHeader(task.size());
                for (Map.Entry<String, String> property : task.entrySet()) {
                    Channel.packText(out, property.getKey());
                    Channel.packTextOrNil(out, property.getValue());
                }
            }
        };
    }

    /** Returns whether the tasks of a source accept the metadata of each record written to Kafka. */
    Channel.Content isNotifiedOfRecords(Plugins.Reference plugin) throws Exception {
        Connector connector = plugins.make(plugin, Connector.class);
        Class<?> type = Threads.with(plugins.loader(plugin), connector::taskClass);
        boolean found = type.getMethod("commitRecord", SourceRecord.class, RecordMetadata.class).getDeclaringClass() != SourceTask.class;
        return out -> out.packBoolean(found);
    }

    /** Returns {@code SUPPORTED}, {@code UNSUPPORTED}, or nil for a connector that does not declare its support. */
    Channel.Content exactlyOnceSupport(Plugins.Reference plugin, Map<String, String> properties) throws Exception {
        SourceConnector connector = plugins.make(plugin, SourceConnector.class);
        ExactlyOnceSupport support =
                Threads.with(plugins.loader(plugin), () -> connector.exactlyOnceSupport(properties));
        return out -> Channel.packTextOrNil(out, support == null ? null : support.name());
    }

    /** Returns {@code SUPPORTED}, {@code UNSUPPORTED}, or nil for a connector that returns null. */
    Channel.Content transactionBoundaries(Plugins.Reference plugin, Map<String, String> properties) throws Exception {
        SourceConnector connector = plugins.make(plugin, SourceConnector.class);
        ConnectorTransactionBoundaries boundaries =
                Threads.with(plugins.loader(plugin), () -> connector.canDefineTransactionBoundaries(properties));
        return out -> Channel.packTextOrNil(out, boundaries == null ? null : boundaries.name());
    }

    Channel.Content alterOffsets(
            Plugins.Reference plugin, Map<String, String> properties, Map<Map<String, ?>, Map<String, ?>> offsets)
            throws Exception {
        SourceConnector connector = plugins.make(plugin, SourceConnector.class);
        boolean understood =
                Threads.with(plugins.loader(plugin), () -> connector.alterOffsets(properties, offsets));
        return out -> out.packBoolean(understood);
    }

    /** Returns whether a sink connector accepts a change of its group's offsets; null removes an offset. */
    Channel.Content alterPositions(
            Plugins.Reference plugin, Map<String, String> properties, Map<TopicPartition, Long> positions)
            throws Exception {
        SinkConnector connector = plugins.make(plugin, SinkConnector.class);
        boolean understood =
                Threads.with(plugins.loader(plugin), () -> connector.alterOffsets(properties, positions));
        return out -> out.packBoolean(understood);
    }

    /**
     * Creates a task of a connector.
     *
     * @param kind required class of the task
     */
    <T> T task(Plugins.Reference plugin, Map<String, String> properties, Class<T> kind) throws Exception {
        Connector connector = plugins.make(plugin, Connector.class);
        return Threads.with(plugins.loader(plugin), () -> {
            Class<?> found = connector.taskClass();
            properties.putIfAbsent("task.class", found.getName());
            if (!kind.isAssignableFrom(found)) {
                throw new ConnectException(found.getName() + " is not a subclass of " + kind.getName());
            }
            return kind.cast(found.getDeclaredConstructor().newInstance());
        });
    }

    /** Context of a connector that exists only while it is planned. */
    private static class Context implements ConnectorContext {
        private final PluginMetrics metrics;

        Context(Map<String, String> properties) {
            this.metrics = PluginRegistries.unread(Map.of("connector", properties.getOrDefault("name", "")));
        }

        @Override
        public void requestTaskReconfiguration() {
            // The connector's tasks are being determined already.
        }

        @Override
        public void raiseError(Exception error) {
            throw error instanceof RuntimeException unchecked ? unchecked : new ConnectException(error);
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return metrics;
        }
    }

    private static final class SinkContext extends Context implements SinkConnectorContext {
        SinkContext(Map<String, String> properties) {
            super(properties);
        }
    }

    private static final class SourceContext extends Context implements SourceConnectorContext {
        private final OffsetStorageReader offsets;

        SourceContext(Map<String, String> properties, Channel channel) {
            super(properties);
            this.offsets = new Offsets(channel);
        }

        @Override
        public OffsetStorageReader offsetStorageReader() {
            return offsets;
        }
    }
}
