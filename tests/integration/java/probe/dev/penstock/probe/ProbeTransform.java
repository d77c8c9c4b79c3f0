package dev.penstock.probe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** A transform that does what its property "does" says with records whose value contains a match of "on". */
public class ProbeTransform<R extends ConnectRecord<R>> implements Transformation<R>, Versioned, Monitorable {
    /** A nested class, as Kafka's own transforms have them. */
    public static class Value<R extends ConnectRecord<R>> extends ProbeTransform<R> {}

    private final Map<Object, Integer> tries = new HashMap<>();
    private Pattern on;
    private String does;
    private String journal;
    private Sensor applied;

    @Override
    public String version() {
        return new ProbeSource().version();
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
                .define("does", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "What is done.")
                .define("on", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "A pattern.")
                .define("journal", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "A file for calls.")
                .define("most", ConfigDef.Type.INT, 0, ConfigDef.Range.between(0, 9), ConfigDef.Importance.LOW, "A number.");
    }

    @Override
    public void configure(Map<String, ?> given) {
        does = (String) given.get("does");
        on = Pattern.compile(given.get("on") instanceof String pattern ? pattern : "");
        journal = (String) given.get("journal");
        if ("refuse".equals(does)) {
            throw new ConfigException("does", does, "this cannot be done");
        }
        if ("beans".equals(does)) {
            ProbeMetrics.registerBeans(Integer.parseInt(on.pattern()));
            on = Pattern.compile("");
        }
        tell("configure " + given.get("type"));
    }

    @Override
    public void withPluginMetrics(PluginMetrics metrics) {
        applied = ProbeMetrics.counter(metrics, "calls");
    }

    @Override
    public R apply(R record) {
        applied.record();
        if (!on.matcher(String.valueOf(record.value())).find()) {
            return record;
        }
        return switch (does) {
            case "nothing", "beans" -> record;
            case "upper" -> with(record, record.topic(), record.kafkaPartition(), String.valueOf(record.value()).toUpperCase());
            case "drop" -> null;
            case "topic" -> with(record, record.topic() + "-moved", record.kafkaPartition(), record.value());
            case "partition" -> with(record, record.topic(), 1, record.value());
            case "header" -> {
                record.headers().addString("seen", record instanceof SinkRecord ? "sink" : "source");
                yield record;
            }
            case "version" -> with(record, record.topic(), record.kafkaPartition(), version());
            case "throw" -> throw new DataException("this record is bad");
            case "retry" -> again(record);
            case "object" -> with(record, record.topic(), record.kafkaPartition(), Thread.currentThread());
            case "misfit" -> record.newRecord(record.topic(), null, null, null, Timestamp.SCHEMA, 5L, null);
            case "nameless" -> {
                List<Field> fields = List.of(new Field("", 0, Schema.STRING_SCHEMA));
                Schema schema = new ConnectSchema(Schema.Type.STRUCT, false, null, null, null, null, null, fields, null, null);
                Struct value = new Struct(schema).put("", "x");
                yield record.newRecord(record.topic(), null, null, null, schema, value, null);
            }
            case "no class" -> throw new NoClassDefFoundError("com/example/Driver");
            case "exit" -> {
                System.exit(3);
                yield record;
            }
            case "block" -> {
                new Actions(Map.of("here.action", "block")).at("here");
                yield record;
            }
            default -> throw new IllegalArgumentException(does);
        };
    }

    /** Fails twice for each record. */
    private R again(R record) {
        tell("try " + record.value());
        if (tries.merge(record.value(), 1, Integer::sum) <= 2) {
            throw new RetriableException("not yet");
        }
        return record;
    }

    private static <R extends ConnectRecord<R>> R with(R record, String topic, Integer partition, Object value) {
        Schema schema = value instanceof String ? Schema.STRING_SCHEMA : null;
        return record.newRecord(
                topic, partition, record.keySchema(), record.key(), schema, value, record.timestamp(), record.headers());
    }

    @Override
    public void close() {
        tell("close");
    }

    private void tell(String line) {
        if (journal == null) {
            return;
        }
        try {
            Files.writeString(Path.of(journal), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
