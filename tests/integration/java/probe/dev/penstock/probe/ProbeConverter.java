package dev.penstock.probe;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/**
 * Writes {@code <type>:<topic>:<value>}, and reads what follows the last colon. It fails with "bad", fails twice with
 * "slow", and keeps the type of the schema in a header, as registries' converters do.
 */
public class ProbeConverter implements Converter, HeaderConverter, Versioned, Monitorable {
    private static final String HEADER = "schema";

    private final Map<Object, Integer> tries = new HashMap<>();
    private String type;
    private Sensor checked;
    private boolean usesHeaders;
    private String journal;

    @Override
    public String version() {
        return new ProbeSource().version();
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
                .define("headers", ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.LOW, "Whether headers are used.")
                .define("journal", ConfigDef.Type.STRING, null, ConfigDef.Importance.LOW, "A file for calls.")
                .define("version", ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.LOW, "Whether it writes its version.");
    }

    @Override
    public void configure(Map<String, ?> given) {
        type = String.valueOf(given.get("converter.type"));
        journal = (String) given.get("journal");
    }

    @Override
    public void configure(Map<String, ?> given, boolean isKey) {
        type = isKey ? "key" : "value";
        usesHeaders = "true".equals(given.get("headers"));
        journal = (String) given.get("journal");
        if ("true".equals(given.get("version"))) {
            type = version();
        }
    }

    @Override
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        check(value);
        return value == null ? null : (type + ":" + topic + ":" + value).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public byte[] fromConnectData(String topic, Headers headers, Schema schema, Object value) {
        if (usesHeaders && value != null) {
            headers.add(HEADER, schema.type().getName().getBytes(StandardCharsets.UTF_8));
        }
        return fromConnectData(topic, schema, value);
    }

    @Override
    public SchemaAndValue toConnectData(String topic, byte[] content) {
        String text = content == null ? null : new String(content, StandardCharsets.UTF_8);
        check(text);
        String value = text == null ? null : text.substring(text.lastIndexOf(':') + 1);
        return new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, value);
    }

    @Override
    public SchemaAndValue toConnectData(String topic, Headers headers, byte[] content) {
        Header written = headers.lastHeader(HEADER);
        if (usesHeaders && content != null && written != null && "int32".equals(new String(written.value(), StandardCharsets.UTF_8))) {
            String text = String.valueOf(toConnectData(topic, content).value());
            return new SchemaAndValue(Schema.INT32_SCHEMA, Integer.valueOf(text));
        }
        return toConnectData(topic, content);
    }

    @Override
    public byte[] fromConnectHeader(String topic, String name, Schema schema, Object value) {
        return fromConnectData(topic + "/" + name, schema, value);
    }

    @Override
    public SchemaAndValue toConnectHeader(String topic, String name, byte[] content) {
        return toConnectData(topic, content);
    }

    @Override
    public void withPluginMetrics(PluginMetrics metrics) {
        checked = ProbeMetrics.counter(metrics, "calls");
    }

    private void check(Object value) {
        checked.record();
        String text = String.valueOf(value);
        if (text.contains("bad")) {
            throw new DataException("this value is bad");
        }
        if (text.contains("slow") && tries.merge(text, 1, Integer::sum) <= 2) {
            throw new RetriableException("not yet");
        }
    }

    @Override
    public void close() throws IOException {
        if (journal != null) {
            Files.writeString(Path.of(journal), "close " + type + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
    }
}
