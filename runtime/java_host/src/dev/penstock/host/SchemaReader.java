package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.msgpack.core.MessageUnpacker;

/** Schemas that the parent has sent, by their numbers. Counterpart of {@link SchemaTable}. */
final class SchemaReader {
    private final List<Schema> schemas = new ArrayList<>();

    /** Reads the number of a schema and returns the schema; null for no schema. */
    Schema get(MessageUnpacker in) throws IOException {
        return in.tryUnpackNil() ? null : schemas.get(in.unpackInt());
    }

    /** Reads the new schemas in a message: a flag whether numbers restart at 0, and the schemas. */
    void readNew(MessageUnpacker in) throws IOException {
        in.unpackArrayHeader();
        if (in.unpackBoolean()) {
            schemas.clear();
        }
        int count = in.unpackArrayHeader();
        for (int i = 0; i < count; i++) {
            schemas.add(read(in));
        }
    }

    private static Schema read(MessageUnpacker in) throws IOException {
        if (in.tryUnpackNil()) {
            return null;
        }
        in.unpackArrayHeader();
        Schema.Type type = Schema.Type.valueOf(in.unpackString().toUpperCase(Locale.ROOT));
        boolean optional = in.unpackBoolean();
        String name = in.tryUnpackNil() ? null : in.unpackString();
        Integer version = in.tryUnpackNil() ? null : (Integer) in.unpackInt();
        String doc = in.tryUnpackNil() ? null : in.unpackString();
        Map<String, String> parameters = parameters(in);
        Schema values = read(in);
        Schema keys = read(in);
        List<Field> fields = fields(in, type);
        Schema bare = new ConnectSchema(type, optional, null, name, version, doc, parameters, fields, keys, values);
        Object fallback = ValueReader.read(in, bare);
        return fallback == null
                ? bare
                : new ConnectSchema(type, optional, fallback, name, version, doc, parameters, fields, keys, values);
    }

    private static Map<String, String> parameters(MessageUnpacker in) throws IOException {
        if (in.tryUnpackNil()) {
            return null;
        }
        Map<String, String> parameters = new HashMap<>();
        int count = in.unpackMapHeader();
        for (int i = 0; i < count; i++) {
            String name = in.unpackString();
            parameters.put(name, in.tryUnpackNil() ? null : in.unpackString());
        }
        return parameters;
    }

    private static List<Field> fields(MessageUnpacker in, Schema.Type type) throws IOException {
        int count = in.unpackArrayHeader();
        List<Field> fields = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            in.unpackArrayHeader();
            fields.add(new Field(in.unpackString(), i, read(in)));
        }
        return type == Schema.Type.STRUCT ? fields : null;
    }
}
