import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.connect.converters.BooleanConverter;
import org.apache.kafka.connect.converters.ByteArrayConverter;
import org.apache.kafka.connect.converters.DoubleConverter;
import org.apache.kafka.connect.converters.FloatConverter;
import org.apache.kafka.connect.converters.IntegerConverter;
import org.apache.kafka.connect.converters.LongConverter;
import org.apache.kafka.connect.converters.ShortConverter;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.storage.StringConverter;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/** Cases of converters and header converters, both directions. */
final class Converters {
    private static final Map<String, Supplier<Object>> ALL = Map.of(
            "JsonConverter", JsonConverter::new,
            "StringConverter", StringConverter::new,
            "ByteArrayConverter", ByteArrayConverter::new,
            "BooleanConverter", BooleanConverter::new,
            "ShortConverter", ShortConverter::new,
            "IntegerConverter", IntegerConverter::new,
            "LongConverter", LongConverter::new,
            "FloatConverter", FloatConverter::new,
            "DoubleConverter", DoubleConverter::new,
            "SimpleHeaderConverter", SimpleHeaderConverter::new);

    private Converters() { }

    static boolean isCase(JsonNode c) {
        return ALL.containsKey(c.path("source").asText());
    }

    static ObjectNode expected(JsonNode c) throws Answer.Failed {
        JsonNode in = c.get("input");
        String source = c.get("source").asText();
        String header = in.path("header").isTextual() ? in.get("header").asText() : null;
        Object converter = ALL.get(source).get();
        Answer.in("config", () -> {
            configure(converter, c.get("config"), header != null, in.path("isKey").asBoolean(false));
            return null;
        });
        String topic = in.get("topic").asText();
        if (in.has("data")) {
            SchemaAndValue given = Codec.typed(in.get("data"));
            byte[] made = Answer.in("apply", () -> header != null
                    ? ((HeaderConverter) converter).fromConnectHeader(topic, header, given.schema(), given.value())
                    : ((Converter) converter).fromConnectData(topic, given.schema(), given.value()));
            return bytes(source, made);
        }
        JsonNode b = in.get("bytes");
        byte[] given = b.isNull() ? null : Base64.getDecoder().decode(b.get("$bytes").asText());
        SchemaAndValue made = Answer.in("apply", () -> header != null
                ? ((HeaderConverter) converter).toConnectHeader(topic, header, given)
                : ((Converter) converter).toConnectData(topic, given));
        ObjectNode out = Answer.object();
        out.set("data", Codec.typed(made));
        return out;
    }

    private static void configure(Object converter, JsonNode config, boolean header, boolean isKey) {
        Map<String, String> props = new HashMap<>();
        config.properties().forEach(e -> props.put(e.getKey(), e.getValue().isNull() ? null : e.getValue().asText()));
        if (header) {
            props.put("converter.type", "header");
            ((HeaderConverter) converter).configure(props);
        } else {
            ((Converter) converter).configure(props, isKey);
        }
    }

    /** The bytes, and beside them a form for people where they are text. */
    private static ObjectNode bytes(String source, byte[] made) {
        ObjectNode out = Answer.object();
        if (made == null) return out.putNull("bytes");
        out.putObject("bytes").put("$bytes", Base64.getEncoder().encodeToString(made));
        String text = new String(made, StandardCharsets.UTF_8);
        if (source.equals("JsonConverter")) out.put("json", text);
        else if ((source.equals("StringConverter") || source.equals("SimpleHeaderConverter"))
                && Arrays.equals(text.getBytes(StandardCharsets.UTF_8), made)) out.put("text", text);
        return out;
    }
}
