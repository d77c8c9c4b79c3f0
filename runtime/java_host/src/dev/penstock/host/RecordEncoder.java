package dev.penstock.host;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.source.SourceRecord;
import org.msgpack.core.MessagePacker;

/**
 * Encoder of records as messages of columns: a list of values, or one value that all records share. One message transfers
 * thousands of records, and Python creates one object per column instead of one for each field of each record.
 */
final class RecordEncoder {
    private static final int MOST_RECORDS = 5_000;
    private static final int WANTED_BYTES = 4 << 20;
    private static final int LIST = 0;
    private static final int CONSTANT = 1;
    private static final int STRUCT = 2;
    private static final Map<String, Class<?>> LOGICAL = Map.of(
            Decimal.LOGICAL_NAME, BigDecimal.class,
            Date.LOGICAL_NAME, java.util.Date.class,
            Time.LOGICAL_NAME, java.util.Date.class,
            Timestamp.LOGICAL_NAME, java.util.Date.class);

    private final SchemaTable schemas = new SchemaTable();
    private int portion = 500;

    /** Returns the maximum number of records in the next message: a few megabytes, estimated from the last message. */
    int portion() {
        return portion;
    }

    /**
     * Returns the message for these records.
     *
     * @param polled all records that were polled together, with their last part; otherwise null. Offsets are only
     *     sent with the last part, so that records polled together are committed together
     */
    Channel.Content message(int epoch, int sequence, List<SourceRecord> records, List<SourceRecord> polled) {
        return out -> {
            schemas.bound();
            long before = written(out);
            out.packArrayHeader(12);
            out.packString("records");
            out.packInt(epoch);
            out.packInt(sequence);
            out.packInt(records.size());
            packColumns(out, records);
            packOffsets(out, polled);
            schemas.packNew(out);
            measure(records.size(), written(out) - before);
        };
    }

    /** Packs the columns of records, and all new schemas: seven elements of an array. */
    void packWithSchemas(MessagePacker out, List<? extends ConnectRecord<?>> records) throws IOException {
        schemas.bound();
        packColumns(out, records);
        schemas.packNew(out);
    }

    private void packColumns(MessagePacker out, List<? extends ConnectRecord<?>> records) throws IOException {
        packColumn(out, null, column(records, ConnectRecord::topic));
        packColumn(out, Schema.INT32_SCHEMA, column(records, ConnectRecord::kafkaPartition));
        packColumn(out, Schema.INT64_SCHEMA, column(records, ConnectRecord::timestamp));
        packSide(out, records, ConnectRecord::keySchema, ConnectRecord::key);
        packSide(out, records, ConnectRecord::valueSchema, ConnectRecord::value);
        packHeaders(out, records);
    }

    private static long written(MessagePacker out) {
        return out.getTotalWrittenBytes();
    }

    private void measure(int records, long bytes) {
        portion = (int) Math.max(1, Math.min(MOST_RECORDS, (long) WANTED_BYTES * records / Math.max(1, bytes)));
    }

    private static Object[] column(List<? extends ConnectRecord<?>> records, Function<ConnectRecord<?>, Object> get) {
        Object[] values = new Object[records.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = get.apply(records.get(i));
        }
        return values;
    }

    /** Packs keys or values: groups of one schema each, with the rows of each group. */
    private void packSide(
            MessagePacker out,
            List<? extends ConnectRecord<?>> records,
            Function<ConnectRecord<?>, Schema> schemaOf,
            Function<ConnectRecord<?>, Object> valueOf)
            throws IOException {
        Map<Integer, List<Integer>> groups = new LinkedHashMap<>();
        Map<Integer, Schema> shapes = new LinkedHashMap<>();
        Schema last = null;
        List<Integer> rows = null;
        for (int row = 0; row < records.size(); row++) {
            Schema schema = schemaOf.apply(records.get(row));
            if (rows == null || schema != last) {
                int number = schema == null ? -1 : schemas.number(schema);
                shapes.putIfAbsent(number, schema);
                rows = groups.computeIfAbsent(number, key -> new ArrayList<>());
                last = schema;
            }
            rows.add(row);
        }
        out.packArrayHeader(groups.size());
        for (Map.Entry<Integer, List<Integer>> group : groups.entrySet()) {
            List<Integer> members = group.getValue();
            Schema schema = shapes.get(group.getKey());
            out.packArrayHeader(3);
            if (schema == null) {
                out.packNil();
            } else {
                out.packInt(group.getKey());
            }
            if (groups.size() == 1) {
                out.packNil();
            } else {
                out.packArrayHeader(members.size());
                for (int row : members) {
                    out.packInt(row);
                }
            }
            Object[] values = new Object[members.size()];
            for (int i = 0; i < values.length; i++) {
                ConnectRecord<?> record = records.get(members.get(i));
                values[i] = valueOf.apply(record);
                if (schema != null && values[i] != null) {
                    check(values[i], schemaOf.apply(record), record);
                }
            }
            packColumn(out, schema, values);
        }
    }

    /** Checks a value against its schema. A struct has already checked its fields. */
    private static void check(Object value, Schema schema, ConnectRecord<?> record) {
        if (!(value instanceof Struct struct)) {
            Class<?> logical = schema.name() == null ? null : LOGICAL.get(schema.name());
            boolean isLogical = value instanceof BigDecimal || value instanceof java.util.Date;
            if (logical == null ? isLogical : !logical.isInstance(value)) {
                throw new DataException("Mismatching schema: a record of topic " + record.topic() + " has a value of "
                        + value.getClass() + ", which does not match " + schema);
            }
        } else if (struct.schema() != schema && !struct.schema().equals(schema)) {
            throw new DataException("Mismatching schema: a record of topic " + record.topic()
                    + " has a different schema than the struct in it");
        }
    }

    private static void packColumn(MessagePacker out, Schema schema, Object[] values) throws IOException {
        if (schema != null && schema.type() == Schema.Type.STRUCT && areStructs(values)) {
            packStructs(out, schema, values);
        } else if (isConstant(values)) {
            out.packArrayHeader(2);
            out.packInt(CONSTANT);
            packCell(out, schema, values[0]);
        } else {
            out.packArrayHeader(2);
            out.packInt(LIST);
            out.packArrayHeader(values.length);
            for (Object value : values) {
                packCell(out, schema, value);
            }
        }
    }

    private static void packCell(MessagePacker out, Schema schema, Object value) throws IOException {
        if (schema == null) {
            Values.packTagged(out, null, value);
        } else {
            Values.packInColumn(out, schema, value);
        }
    }

    private static boolean areStructs(Object[] values) {
        boolean any = false;
        for (Object value : values) {
            if (value instanceof Struct) {
                any = true;
            } else if (value != null) {
                return false;
            }
        }
        return any;
    }

    private static boolean isConstant(Object[] values) {
        Object first = values[0];
        if (!(first == null || first instanceof String || first instanceof Number || first instanceof Boolean)) {
            return false;
        }
        for (int i = 1; i < values.length; i++) {
            if (values[i] != first && !Objects.equals(values[i], first)) {
                return false;
            }
        }
        return true;
    }

    /** Packs structs of one schema: which rows are present (nil for all), and a column for each field. */
    private static void packStructs(MessagePacker out, Schema schema, Object[] values) throws IOException {
        int count = 0;
        for (Object value : values) {
            if (value != null) {
                count++;
            }
        }
        Struct[] structs = new Struct[count];
        out.packArrayHeader(3);
        out.packInt(STRUCT);
        if (count == values.length) {
            out.packNil();
        } else {
            out.packArrayHeader(values.length);
            for (Object value : values) {
                out.packBoolean(value != null);
            }
        }
        int next = 0;
        for (Object value : values) {
            if (value != null) {
                structs[next++] = (Struct) value;
            }
        }
        List<Field> fields = schema.fields();
        out.packArrayHeader(fields.size());
        for (Field field : fields) {
            Object[] cells = new Object[count];
            for (int i = 0; i < count; i++) {
                cells[i] = structs[i].getWithoutDefault(field.name());
            }
            packColumn(out, field.schema(), cells);
        }
    }

    private void packHeaders(MessagePacker out, List<? extends ConnectRecord<?>> records) throws IOException {
        List<List<Header>> all = new ArrayList<>(records.size());
        boolean same = true;
        for (ConnectRecord<?> record : records) {
            List<Header> headers = new ArrayList<>();
            if (!record.headers().isEmpty()) {
                record.headers().forEach(headers::add);
            }
            all.add(headers);
            same = same && (all.size() == 1 || headers.equals(all.get(0)));
        }
        out.packArrayHeader(2);
        out.packInt(same ? CONSTANT : LIST);
        if (same) {
            packHeaderList(out, all.get(0));
            return;
        }
        out.packArrayHeader(all.size());
        for (List<Header> headers : all) {
            packHeaderList(out, headers);
        }
    }

    private void packHeaderList(MessagePacker out, List<Header> headers) throws IOException {
        out.packArrayHeader(headers.size());
        for (Header header : headers) {
            out.packArrayHeader(3);
            Channel.packText(out, header.key());
            if (header.schema() == null) {
                out.packNil();
            } else {
                out.packInt(schemas.number(header.schema()));
            }
            Values.packTagged(out, header.schema(), header.value());
        }
    }

    /** Packs the last offset of each source partition, ordered by the first occurrence; nil if {@code polled} is null. */
    static void packOffsets(MessagePacker out, List<SourceRecord> polled) throws IOException {
        if (polled == null) {
            out.packNil();
            return;
        }
        Map<Map<String, ?>, Map<String, ?>> last = new LinkedHashMap<>();
        for (SourceRecord record : polled) {
            if (record.sourcePartition() != null) {
                last.put(record.sourcePartition(), record.sourceOffset());
            }
        }
        out.packArrayHeader(last.size());
        for (Map.Entry<Map<String, ?>, Map<String, ?>> entry : last.entrySet()) {
            out.packArrayHeader(2);
            Offsets.pack(out, entry.getKey());
            Offsets.pack(out, entry.getValue());
        }
    }
}
