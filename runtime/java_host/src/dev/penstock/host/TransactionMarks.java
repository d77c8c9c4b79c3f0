package dev.penstock.host;

import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.TransactionContext;

/**
 * Marks where a task's transactions end (KIP-618).
 *
 * <p>As in Kafka Connect, a task that requests both commit and abort at the same point fails, even if it catches exceptions:
 * the exception is thrown when the mark is taken, not when it is set.
 */
final class TransactionMarks implements TransactionContext {
    /** End of a transaction. */
    enum End {
        COMMIT,
        ABORT
    }

    private final Set<SourceRecord> commits = new HashSet<>();
    private final Set<SourceRecord> aborts = new HashSet<>();
    private boolean commitsPolled;
    private boolean abortsPolled;

    @Override
    public synchronized void commitTransaction() {
        commitsPolled = true;
    }

    @Override
    public synchronized void commitTransaction(SourceRecord record) {
        commits.add(checked(record));
    }

    @Override
    public synchronized void abortTransaction() {
        abortsPolled = true;
    }

    @Override
    public synchronized void abortTransaction(SourceRecord record) {
        aborts.add(checked(record));
    }

    private static SourceRecord checked(SourceRecord record) {
        return Objects.requireNonNull(record, "Source record used to define transaction boundaries may not be null");
    }

    /** Removes and returns the mark of a record; null if it has none. */
    synchronized End after(SourceRecord record) {
        if (commits.isEmpty() && aborts.isEmpty()) { // most records have no mark, and hashing a record is expensive
            return null;
        }
        boolean commit = commits.remove(record);
        boolean abort = aborts.remove(record);
        if (commit && abort) {
            throw new IllegalStateException("Connector requested both commit and abort of same record against topic/partition "
                    + record.topic() + "/" + record.kafkaPartition());
        }
        return end(commit, abort);
    }

    /** Removes and returns the mark of all polled records; null if they have none. */
    synchronized End afterPolled() {
        if (commitsPolled && abortsPolled) {
            throw new IllegalStateException("Connector requested both commit and abort of same transaction");
        }
        End end = end(commitsPolled, abortsPolled);
        commitsPolled = false;
        abortsPolled = false;
        return end;
    }

    private static End end(boolean commit, boolean abort) {
        return commit ? End.COMMIT : abort ? End.ABORT : null;
    }
}
