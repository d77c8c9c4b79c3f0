package dev.penstock.host;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;

/** Reporter of records that failed in a sink task (KIP-610): the parent writes their dead letters. Thread-safe. */
final class ErrantRecords implements ErrantRecordReporter {
    private final HostSinkContext context;
    private final boolean tolerates;
    private final AtomicInteger reported = new AtomicInteger();
    private final Map<Integer, CompletableFuture<Void>> incomplete = new ConcurrentHashMap<>();

    /** @param tolerates whether the task continues without such records ({@code errors.tolerance=all}) */
    ErrantRecords(HostSinkContext context, boolean tolerates) {
        this.context = context;
        this.tolerates = tolerates;
    }

    /** The future completes once the dead letter is in Kafka. It is the record as read from Kafka, without later changes. */
    @Override
    public Future<Void> report(SinkRecord record, Throwable error) {
        int number = reported.incrementAndGet();
        CompletableFuture<Void> letter = new CompletableFuture<>();
        incomplete.put(number, letter);
        context.request("report", out -> {
            out.packArrayHeader(5);
            out.packInt(number);
            Channel.packTextOrNil(out, record.originalTopic());
            out.packInt(record.originalKafkaPartition() == null ? -1 : record.originalKafkaPartition());
            out.packLong(record.originalKafkaOffset());
            Errors.packThrown(out, error);
        });
        if (!tolerates) {
            throw new ConnectException("Tolerance exceeded in error handler", error);
        }
        return letter;
    }

    void completed(int number, String failure) {
        CompletableFuture<Void> letter = incomplete.remove(number);
        if (letter != null && failure == null) {
            letter.complete(null);
        } else if (letter != null) {
            letter.completeExceptionally(new ConnectException(failure));
        }
    }
}
