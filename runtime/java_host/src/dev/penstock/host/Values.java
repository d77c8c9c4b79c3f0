package dev.penstock.host;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Date;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.msgpack.core.MessagePacker;

/** Values in messages. Extension types carry the types that MessagePack and Python do not distinguish. */
final class Values {
    static final byte INT8 = 1;
    static final byte INT16 = 2;
    static final byte INT32 = 3;
    static final byte FLOAT32 = 4;
    static final byte DECIMAL = 5;
    static final byte INSTANT = 6;
    static final byte TEXT = 7;

    private Values() {}

    /**
     * Packs a value so that it can be read without its schema.
     *
     * @param schema schema of the value; null if it has none, so that the widths of numbers are packed as well
     */
    static void packTagged(MessagePacker out, Schema schema, Object value) throws IOException {
        if (value instanceof BigDecimal decimal) {
            byte[] text = text(decimal).getBytes(StandardCharsets.US_ASCII);
            out.packExtensionTypeHeader(DECIMAL, text.length);
            out.writePayload(text);
        } else if (value instanceof Date date) {
            out.packExtensionTypeHeader(INSTANT, 8);
            out.writePayload(ByteBuffer.allocate(8).putLong(date.getTime()).array());
        } else if (schema == null && value instanceof Integer number) {
            out.packExtensionTypeHeader(INT32, 4);
            out.writePayload(ByteBuffer.allocate(4).putInt(number).array());
        } else if (schema == null && value instanceof Short number) {
            out.packExtensionTypeHeader(INT16, 2);
            out.writePayload(ByteBuffer.allocate(2).putShort(number).array());
        } else if (schema == null && value instanceof Byte number) {
            out.packExtensionTypeHeader(INT8, 1);
            out.writePayload(new byte[] {number});
        } else if (schema == null && value instanceof Float number) {
            out.packExtensionTypeHeader(FLOAT32, 4);
            out.writePayload(ByteBuffer.allocate(4).putFloat(number).array());
        } else if (value instanceof Struct struct) {
            packStruct(out, struct);
        } else if (value instanceof Collection<?> items) {
            Schema itemSchema = schema != null && schema.type() == Schema.Type.ARRAY ? schema.valueSchema() : null;
            out.packArrayHeader(items.size());
            for (Object item : items) {
                packTagged(out, itemSchema, item);
            }
        } else if (value instanceof Map<?, ?> map) {
            boolean typed = schema != null && schema.type() == Schema.Type.MAP;
            out.packMapHeader(map.size());
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                packKey(out, typed ? schema.keySchema() : null, entry.getKey());
                packTagged(out, typed ? schema.valueSchema() : null, entry.getValue());
            }
        } else {
            packPlain(out, value);
        }
    }

    /** Packs the key of a map. Keys of a Python dict can be strings, numbers, bytes and logical types, but not containers. */
    private static void packKey(MessagePacker out, Schema schema, Object key) throws IOException {
        if (key instanceof Struct || key instanceof Collection<?> || key instanceof Map<?, ?>) {
            throw new DataException("cannot read a map whose keys are of " + key.getClass()
                    + "; maps with strings, numbers or bytes as keys are supported");
        }
        packTagged(out, schema, key);
    }

    private static void packStruct(MessagePacker out, Struct struct) throws IOException {
        out.packMapHeader(struct.schema().fields().size());
        for (Field field : struct.schema().fields()) {
            Channel.packText(out, field.name());
            packTagged(out, field.schema(), struct.getWithoutDefault(field.name()));
        }
    }

    /** Packs a value of a column whose schema the reader has: logical types as plain numbers and strings. */
    static void packInColumn(MessagePacker out, Schema schema, Object value) throws IOException {
        if (value instanceof BigDecimal decimal) {
            Channel.packText(out, text(decimal));
        } else if (value instanceof Date date) {
            out.packLong(date.getTime());
        } else if (value instanceof Collection<?> || value instanceof Map<?, ?> || value instanceof Struct) {
            packTagged(out, schema, value);
        } else {
            packPlain(out, value);
        }
    }

    private static void packPlain(MessagePacker out, Object value) throws IOException {
        if (value == null) {
            out.packNil();
        } else if (value instanceof String text) {
            packText(out, text);
        } else if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            out.packLong(((Number) value).longValue());
        } else if (value instanceof Boolean is) {
            out.packBoolean(is);
        } else if (value instanceof Double number) {
            out.packDouble(number);
        } else if (value instanceof Float number) {
            out.packFloat(number);
        } else if (value instanceof byte[] bytes) {
            out.packBinaryHeader(bytes.length);
            out.writePayload(bytes);
        } else if (value instanceof ByteBuffer buffer) {
            ByteBuffer copy = buffer.duplicate();
            byte[] bytes = new byte[copy.remaining()];
            copy.get(bytes);
            out.packBinaryHeader(bytes.length);
            out.writePayload(bytes);
        } else {
            throw new DataException("Java class " + value.getClass() + " does not have corresponding schema type.");
        }
    }

    /** Packs a string; one with lone surrogates, which UTF-8 cannot encode, is packed as UTF-16. */
    private static void packText(MessagePacker out, String text) throws IOException {
        if (isWellFormed(text)) {
            Channel.packText(out, text);
            return;
        }
        ByteBuffer units = ByteBuffer.allocate(2 * text.length());
        units.asCharBuffer().put(text);
        out.packExtensionTypeHeader(TEXT, units.capacity());
        out.writePayload(units.array());
    }

    private static boolean isWellFormed(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                if (i + 1 == text.length() || !Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1))) {
                    return false;
                }
                i++;
            }
        }
        return true;
    }

    /** Returns a decimal with its scale, in a form that Python's Decimal accepts. */
    private static String text(BigDecimal decimal) {
        return decimal.unscaledValue() + "E" + (-(long) decimal.scale());
    }
}
