package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;

/** Results for the records of a batch: a record, an error, or nothing for a record that was dropped. */
final class RowResults {
    /** Record that failed. */
    private record Failed(int row, Throwable error) {}

    private final int count;
    private final List<Integer> rows;
    private final List<ConnectRecord<?>> records;
    private final List<Failed> failed = new ArrayList<>();

    RowResults(int count) {
        this.count = count;
        this.rows = new ArrayList<>(count);
        this.records = new ArrayList<>(count);
    }

    /** Adds the result of a row. Rows must be added in order. */
    void add(int row, ConnectRecord<?> record) {
        rows.add(row);
        records.add(record);
    }

    void fail(int row, Throwable error) {
        failed.add(new Failed(row, error));
    }

    /** Returns the remaining rows (nil for all), their columns (nil if no row remains), and the rows that failed. */
    Channel.Content content(RecordEncoder encoder) throws IOException {
        byte[] columns = columns(encoder);
        return out -> {
            out.packArrayHeader(3);
            packRows(out);
            out.writePayload(columns);
            out.packArrayHeader(failed.size());
            for (Failed each : failed) {
                out.packArrayHeader(2);
                out.packInt(each.row());
                Errors.packOfRecord(out, each.error());
            }
        };
    }

    /** Returns the columns of the records. A record that cannot be encoded is moved to the failed rows. */
    private byte[] columns(RecordEncoder encoder) throws IOException {
        try {
            return encoded(encoder, records);
        } catch (RuntimeException e) {
            for (int i = records.size() - 1; i >= 0; i--) {
                try {
                    encoded(new RecordEncoder(), List.of(records.get(i)));
                } catch (RuntimeException ofRecord) {
                    fail(rows.remove(i), ofRecord);
                    records.remove(i);
                }
            }
            return encoded(encoder, records);
        }
    }

    private static byte[] encoded(RecordEncoder encoder, List<ConnectRecord<?>> records) throws IOException {
        try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
            if (records.isEmpty()) {
                out.packNil();
            } else {
                out.packArrayHeader(7);
                encoder.packWithSchemas(out, records);
            }
            return out.toByteArray();
        }
    }

    private void packRows(MessagePacker out) throws IOException {
        if (rows.size() == count) {
            out.packNil();
            return;
        }
        out.packArrayHeader(rows.size());
        for (int row : rows) {
            out.packInt(row);
        }
    }
}
