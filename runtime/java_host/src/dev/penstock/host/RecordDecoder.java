package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;

/** Decoder of messages of columns into records for sink tasks and for the chain. Counterpart of {@link RecordEncoder}. */
final class RecordDecoder {
    /**
     * Record of the class that Kafka Connect itself passes to tasks: some connectors check for it. It contains the position
     * of the original record in Kafka, but not its bytes.
     */
    private static final class Delivered extends InternalSinkRecord {
        Delivered(
                ConsumerRecord<byte[], byte[]> original,
                String topic,
                int partition,
                Schema keySchema,
                Object key,
                Schema valueSchema,
                Object value,
                Long timestamp,
                ConnectHeaders headers) {
            super(
                    new ProcessingContext<>(original),
                    topic,
                    partition,
                    keySchema,
                    key,
                    valueSchema,
                    value,
                    original.offset(),
                    timestamp,
                    original.timestampType(),
                    headers);
        }
    }

    /** Thrown when values do not fit their schemas. */
    static final class UnreadableException extends DataException {
        UnreadableException(Throwable cause) {
            super(cause.getMessage(), cause);
        }
    }

    /** Keys or values, with their schemas. */
    private record Side(Schema[] schemas, Object[] values) {}

    private static final int LIST = 0;
    private static final int CONSTANT = 1;

    private final SchemaReader schemas = new SchemaReader();

    /** Reads a message for a sink task: new schemas, and batches of one Kafka partition each. */
    List<SinkRecord> sinkRecords(byte[] message) throws IOException {
        List<SinkRecord> records = new ArrayList<>();
        for (ConnectRecord<?> record : records(message)) {
            records.add((SinkRecord) record);
        }
        return records;
    }

    /**
     * Reads a message: new schemas, and batches of one Kafka partition each, or of records that were not in Kafka yet.
     *
     * @throws UnreadableException if a value does not fit its schema; the next message can still be read
     */
    List<ConnectRecord<?>> records(byte[] message) throws IOException {
        try (MessageUnpacker in = MessagePack.newDefaultUnpacker(message)) {
            in.unpackArrayHeader();
            schemas.readNew(in);
            int batches = in.unpackArrayHeader();
            List<ConnectRecord<?>> records = new ArrayList<>();
            try {
                for (int i = 0; i < batches; i++) {
                    readBatch(in, records);
                }
            } catch (RuntimeException e) {
                throw new UnreadableException(e);
            }
            return records;
        }
    }

    private void readBatch(MessageUnpacker in, List<ConnectRecord<?>> records) throws IOException {
        in.unpackArrayHeader();
        String originalTopic = in.tryUnpackNil() ? null : in.unpackString();
        int originalPartition = in.tryUnpackNil() ? -1 : in.unpackInt();
        int count = in.unpackInt();
        Object[] offsets = column(in, Schema.INT64_SCHEMA, count);
        Object[] topics = column(in, Schema.OPTIONAL_STRING_SCHEMA, count);
        Object[] partitions = column(in, Schema.OPTIONAL_INT32_SCHEMA, count);
        Object[] timestamps = column(in, Schema.OPTIONAL_INT64_SCHEMA, count);
        Object[] types = column(in, Schema.OPTIONAL_STRING_SCHEMA, count);
        Side keys = side(in, count);
        Side values = side(in, count);
        ConnectHeaders[] headers = headers(in, count);
        for (int i = 0; i < count; i++) {
            Long timestamp = (Long) timestamps[i];
            if (originalTopic == null) {
                records.add(new SourceRecord(
                        Map.of(),
                        Map.of(),
                        (String) topics[i],
                        (Integer) partitions[i],
                        keys.schemas()[i],
                        keys.values()[i],
                        values.schemas()[i],
                        values.values()[i],
                        timestamp,
                        headers[i]));
                continue;
            }
            ConsumerRecord<byte[], byte[]> original = new ConsumerRecord<>(
                    originalTopic,
                    originalPartition,
                    (Long) offsets[i],
                    timestamp == null ? ConsumerRecord.NO_TIMESTAMP : timestamp,
                    types[i] == null ? TimestampType.CREATE_TIME : TimestampType.forName((String) types[i]),
                    ConsumerRecord.NULL_SIZE,
                    ConsumerRecord.NULL_SIZE,
                    null,
                    null,
                    new RecordHeaders(),
                    Optional.empty());
            records.add(new Delivered(
                    original,
                    (String) topics[i],
                    partitions[i] == null ? originalPartition : (Integer) partitions[i],
                    keys.schemas()[i],
                    keys.values()[i],
                    values.schemas()[i],
                    values.values()[i],
                    timestamp,
                    headers[i]));
        }
    }

    /** Reads keys or values: groups of one schema each, with the rows of each group; nil for all rows. */
    private Side side(MessageUnpacker in, int count) throws IOException {
        int groups = in.unpackArrayHeader();
        Side all = new Side(new Schema[count], new Object[count]);
        for (int group = 0; group < groups; group++) {
            in.unpackArrayHeader();
            Schema schema = schemas.get(in);
            if (in.tryUnpackNil()) {
                Schema[] same = all.schemas();
                Arrays.fill(same, schema);
                return new Side(same, column(in, schema, count));
            }
            int[] rows = new int[in.unpackArrayHeader()];
            for (int i = 0; i < rows.length; i++) {
                rows[i] = in.unpackInt();
            }
            Object[] values = column(in, schema, rows.length);
            for (int i = 0; i < rows.length; i++) {
                all.schemas()[rows[i]] = schema;
                all.values()[rows[i]] = values[i];
            }
        }
        return all;
    }

    private static Object[] column(MessageUnpacker in, Schema schema, int count) throws IOException {
        in.unpackArrayHeader();
        int kind = in.unpackInt();
        Object[] cells = new Object[count];
        if (kind == CONSTANT) {
            Object value = ValueReader.read(in, schema);
            if (value instanceof Date date) { // mutable: a plugin may change it in place
                Arrays.setAll(cells, row -> new Date(date.getTime()));
            } else {
                Arrays.fill(cells, value);
            }
        } else if (kind == LIST) {
            in.unpackArrayHeader();
            for (int i = 0; i < count; i++) {
                cells[i] = ValueReader.read(in, schema);
            }
        } else {
            readStructs(in, schema, cells);
        }
        return cells;
    }

    /** Reads structs of one schema: which rows are present (nil for all), and a column for each field. */
    private static void readStructs(MessageUnpacker in, Schema schema, Object[] cells) throws IOException {
        List<Struct> structs = new ArrayList<>(cells.length);
        if (in.tryUnpackNil()) {
            for (int i = 0; i < cells.length; i++) {
                structs.add(new Struct(schema));
                cells[i] = structs.get(i);
            }
        } else {
            in.unpackArrayHeader();
            for (int i = 0; i < cells.length; i++) {
                if (in.unpackBoolean()) {
                    Struct made = new Struct(schema);
                    structs.add(made);
                    cells[i] = made;
                }
            }
        }
        in.unpackArrayHeader();
        for (Field field : schema.fields()) {
            Object[] values = column(in, field.schema(), structs.size());
            for (int i = 0; i < values.length; i++) {
                if (values[i] != null) {
                    structs.get(i).put(field, values[i]);
                }
            }
        }
    }

    private ConnectHeaders[] headers(MessageUnpacker in, int count) throws IOException {
        ConnectHeaders[] all = new ConnectHeaders[count];
        if (in.tryUnpackNil()) {
            Arrays.setAll(all, row -> new ConnectHeaders());
            return all;
        }
        in.unpackArrayHeader();
        for (int row = 0; row < count; row++) {
            all[row] = new ConnectHeaders();
            int headers = in.unpackArrayHeader();
            for (int i = 0; i < headers; i++) {
                in.unpackArrayHeader();
                String name = in.unpackString();
                Schema schema = schemas.get(in);
                all[row].add(name, ValueReader.read(in, schema), schema);
            }
        }
        return all;
    }
}
