package dev.penstock.host;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;

/** Numbers for schemas, so that each is sent once: equal schemas have the same number, even if they are different objects. */
final class SchemaTable {
    private static final int MOST_OBJECTS = 10_000;
    private static final int MOST_SCHEMAS = 10_000;

    private final Map<Schema, Integer> byObject = new IdentityHashMap<>();
    private final Map<ByteBuffer, Integer> byContent = new HashMap<>();
    private final List<byte[]> unsent = new ArrayList<>();
    private boolean isReset;

    /** Returns the number of a schema, from 0. */
    int number(Schema schema) throws IOException {
        Integer known = byObject.get(schema);
        if (known != null) {
            return known;
        }
        byte[] content = packed(schema);
        int number = byContent.computeIfAbsent(ByteBuffer.wrap(content), key -> {
            unsent.add(content);
            return byContent.size();
        });
        if (schema instanceof SchemaBuilder) { // not built yet: fields may still be added
            return number;
        }
        if (byObject.size() >= MOST_OBJECTS) { // the plugin creates a schema for each record
            byObject.clear();
        }
        byObject.put(schema, number);
        return number;
    }

    /** Forgets all schemas once there are too many. Must be called before a message, never within one. */
    void bound() {
        if (byContent.size() >= MOST_SCHEMAS) {
            byObject.clear();
            byContent.clear();
            unsent.clear(); // may contain schemas of a message that could not be written
            isReset = true;
        }
    }

    /** Packs the schemas that are new since the last message: a flag whether numbers restart at 0, and the schemas. */
    void packNew(MessagePacker out) throws IOException {
        out.packArrayHeader(2);
        out.packBoolean(isReset);
        out.packArrayHeader(unsent.size());
        for (byte[] content : unsent) {
            out.writePayload(content);
        }
        unsent.clear();
        isReset = false;
    }

    private static byte[] packed(Schema schema) throws IOException {
        try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
            pack(out, schema);
            return out.toByteArray();
        }
    }

    private static void pack(MessagePacker out, Schema schema) throws IOException {
        if (schema == null) {
            out.packNil();
            return;
        }
        out.packArrayHeader(10);
        Channel.packText(out, schema.type().getName());
        out.packBoolean(schema.isOptional());
        Channel.packTextOrNil(out, schema.name());
        if (schema.version() == null) {
            out.packNil();
        } else {
            out.packInt(schema.version());
        }
        Channel.packTextOrNil(out, schema.doc());
        packParameters(out, schema.parameters());
        Values.packTagged(out, schema, schema.defaultValue());
        pack(out, schema.type() == Schema.Type.ARRAY || schema.type() == Schema.Type.MAP ? schema.valueSchema() : null);
        pack(out, schema.type() == Schema.Type.MAP ? schema.keySchema() : null);
        List<Field> fields = schema.type() == Schema.Type.STRUCT ? schema.fields() : List.of();
        out.packArrayHeader(fields.size());
        for (Field field : fields) {
            out.packArrayHeader(2);
            Channel.packText(out, field.name());
            pack(out, field.schema());
        }
    }

    private static void packParameters(MessagePacker out, Map<String, String> parameters) throws IOException {
        if (parameters == null || parameters.isEmpty()) {
            out.packNil();
            return;
        }
        out.packMapHeader(parameters.size());
        for (Map.Entry<String, String> parameter : parameters.entrySet()) {
            Channel.packText(out, parameter.getKey());
            Channel.packTextOrNil(out, parameter.getValue());
        }
    }
}
