package dev.penstock.host;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.errors.DataException;
import org.msgpack.core.ExtensionTypeHeader;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.ValueType;

/** Reader of values in messages, with the classes of Kafka Connect's data model. Counterpart of {@link Values}. */
final class ValueReader {
    private ValueReader() {}

    /** Reads a value. Without a schema, the message determines its type. */
    static Object read(MessageUnpacker in, Schema schema) throws IOException {
        ValueType next = in.getNextFormat().getValueType();
        if (next == ValueType.NIL) {
            in.unpackNil();
            return null;
        }
        if (schema == null) {
            return untyped(in, next);
        }
        if (next == ValueType.EXTENSION) {
            return fitted(schema, extension(in));
        }
        if (schema.name() != null && (next == ValueType.INTEGER || next == ValueType.STRING)) {
            Object logical = logical(in, schema, next);
            if (logical != null) {
                return logical;
            }
        }
        return switch (schema.type()) {
            case INT8 -> (byte) within(Byte.MIN_VALUE, in.unpackLong(), Byte.MAX_VALUE);
            case INT16 -> (short) within(Short.MIN_VALUE, in.unpackLong(), Short.MAX_VALUE);
            case INT32 -> (int) within(Integer.MIN_VALUE, in.unpackLong(), Integer.MAX_VALUE);
            case INT64 -> in.unpackLong();
            case FLOAT32 -> next == ValueType.INTEGER ? (float) in.unpackLong() : narrowed(in.unpackDouble());
            case FLOAT64 -> next == ValueType.INTEGER ? (double) in.unpackLong() : in.unpackDouble();
            case BOOLEAN -> in.unpackBoolean();
            case STRING -> in.unpackString();
            case BYTES -> in.readPayload(in.unpackBinaryHeader());
            case ARRAY -> list(in, schema.valueSchema());
            case MAP -> map(in, schema.keySchema(), schema.valueSchema());
            case STRUCT -> struct(in, schema);
        };
    }

    private static long within(long least, long value, long most) {
        if (value < least || value > most) {
            throw new DataException("an integer is not between " + least + " and " + most + ", as its schema requires");
        }
        return value;
    }

    private static float narrowed(double value) {
        float narrow = (float) value;
        if (Float.isInfinite(narrow) && !Double.isInfinite(value)) {
            throw new DataException("a number is outside the range of its schema, FLOAT32");
        }
        return narrow;
    }

    private static Object logical(MessageUnpacker in, Schema schema, ValueType next) throws IOException {
        return switch (schema.name()) {
            case Decimal.LOGICAL_NAME -> next == ValueType.STRING ? new BigDecimal(in.unpackString()) : null;
            case org.apache.kafka.connect.data.Date.LOGICAL_NAME, Time.LOGICAL_NAME, Timestamp.LOGICAL_NAME ->
                    next == ValueType.INTEGER ? new Date(in.unpackLong()) : null;
            default -> null;
        };
    }

    private static Object untyped(MessageUnpacker in, ValueType next) throws IOException {
        return switch (next) {
            case BOOLEAN -> in.unpackBoolean();
            case INTEGER -> in.unpackLong();
            case FLOAT -> in.unpackDouble();
            case STRING -> in.unpackString();
            case BINARY -> in.readPayload(in.unpackBinaryHeader());
            case ARRAY -> list(in, null);
            case MAP -> map(in, null, null);
            default -> extension(in);
        };
    }

    private static List<Object> list(MessageUnpacker in, Schema schema) throws IOException {
        int count = in.unpackArrayHeader();
        List<Object> items = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            items.add(read(in, schema));
        }
        return items;
    }

    private static Map<Object, Object> map(MessageUnpacker in, Schema keys, Schema values) throws IOException {
        int count = in.unpackMapHeader();
        Map<Object, Object> entries = new LinkedHashMap<>(count * 2);
        for (int i = 0; i < count; i++) {
            Object key = read(in, keys);
            entries.put(key, read(in, values));
        }
        return entries;
    }

    private static Struct struct(MessageUnpacker in, Schema schema) throws IOException {
        Struct made = new Struct(schema);
        int count = in.unpackMapHeader();
        for (int i = 0; i < count; i++) {
            Field field = schema.field(in.unpackString());
            if (field == null) {
                in.skipValue();
                continue;
            }
            Object value = read(in, field.schema());
            if (value != null) {
                made.put(field, value);
            }
        }
        return made;
    }

    private static Object extension(MessageUnpacker in) throws IOException {
        ExtensionTypeHeader header = in.unpackExtensionTypeHeader();
        byte[] content = in.readPayload(header.getLength());
        ByteBuffer buffer = ByteBuffer.wrap(content);
        return switch (header.getType()) {
            case Values.INT8 -> buffer.get();
            case Values.INT16 -> buffer.getShort();
            case Values.INT32 -> buffer.getInt();
            case Values.FLOAT32 -> buffer.getFloat();
            case Values.DECIMAL -> new BigDecimal(new String(content, StandardCharsets.US_ASCII));
            case Values.INSTANT -> new Date(buffer.getLong());
            case Values.TEXT -> buffer.asCharBuffer().toString();
            default -> throw new DataException("unknown extension type " + header.getType());
        };
    }

    /** Returns a number in the width that its schema requires. */
    private static Object fitted(Schema schema, Object value) {
        if (!(value instanceof Number number) || value instanceof BigDecimal) {
            return value;
        }
        return switch (schema.type()) {
            case INT8 -> (byte) within(Byte.MIN_VALUE, number.longValue(), Byte.MAX_VALUE);
            case INT16 -> (short) within(Short.MIN_VALUE, number.longValue(), Short.MAX_VALUE);
            case INT32 -> (int) within(Integer.MIN_VALUE, number.longValue(), Integer.MAX_VALUE);
            case INT64 -> number.longValue();
            case FLOAT32 -> narrowed(number.doubleValue());
            case FLOAT64 -> number.doubleValue();
            default -> value;
        };
    }
}
