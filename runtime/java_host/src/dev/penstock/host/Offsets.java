package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import org.msgpack.core.MessagePacker;
import org.msgpack.value.ArrayValue;
import org.msgpack.value.Value;

/**
 * Source partitions and offsets: their format in messages, and committed offsets, requested from the parent at each call.
 *
 * <p>Numbers have the same types as after a round trip through JSON in Kafka: integers are Long, others Double.
 */
final class Offsets implements OffsetStorageReader {
    private final Channel channel;

    Offsets(Channel channel) {
        this.channel = channel;
    }

    @Override
    public <T> Map<String, Object> offset(Map<String, T> partition) {
        return offsets(List.of(partition)).get(partition);
    }

    @Override
    public <T> Map<Map<String, T>, Map<String, Object>> offsets(Collection<Map<String, T>> partitions) {
        List<Map<String, T>> asked = new ArrayList<>(partitions);
        ArrayValue found = channel.lookUp(out -> {
            out.packArrayHeader(asked.size());
            for (Map<String, T> partition : asked) {
                pack(out, partition);
            }
        });
        Map<Map<String, T>, Map<String, Object>> offsets = new HashMap<>();
        for (int i = 0; i < asked.size(); i++) {
            offsets.put(asked.get(i), map(found.get(i)));
        }
        return offsets;
    }

    static void pack(MessagePacker out, Map<String, ?> fields) throws IOException {
        if (fields == null) {
            out.packNil();
            return;
        }
        out.packMapHeader(fields.size());
        for (Map.Entry<String, ?> field : fields.entrySet()) {
            Channel.packText(out, String.valueOf(field.getKey()));
            packPrimitive(out, field.getKey(), field.getValue());
        }
    }

    private static void packPrimitive(MessagePacker out, String name, Object value) throws IOException {
        if (value == null) {
            out.packNil();
        } else if (value instanceof String text) {
            Channel.packText(out, text);
        } else if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            out.packLong(((Number) value).longValue());
        } else if (value instanceof Boolean is) {
            out.packBoolean(is);
        } else if (value instanceof Double number) {
            out.packDouble(number);
        } else if (value instanceof Float) {
            out.packDouble(Double.parseDouble(value.toString())); // the number as JSON would contain it
        } else {
            throw new DataException("Offsets may only contain primitive types as values, but field " + name + " contains "
                    + value.getClass().getName());
        }
    }

    static Map<String, Object> map(Value value) {
        if (value.isNilValue()) {
            return null;
        }
        Map<String, Object> fields = new LinkedHashMap<>();
        value.asMapValue().map().forEach((name, field) -> fields.put(name.asStringValue().asString(), primitive(field)));
        return fields;
    }

    private static Object primitive(Value value) {
        return switch (value.getValueType()) {
            case NIL -> null;
            case BOOLEAN -> value.asBooleanValue().getBoolean();
            case INTEGER -> value.asIntegerValue().asLong();
            case FLOAT -> value.asFloatValue().toDouble();
            default -> value.asStringValue().asString();
        };
    }
}
