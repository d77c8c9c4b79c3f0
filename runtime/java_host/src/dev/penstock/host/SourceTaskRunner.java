package dev.penstock.host;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.source.TransactionContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import org.msgpack.value.ArrayValue;
import org.msgpack.value.Value;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Source task: started, polled and stopped in one thread, as in Kafka Connect; committed in another thread.
 *
 * <p>It polls only as often as the parent allows, so that memory stays bounded and a paused task is not polled.
 */
final class SourceTaskRunner implements TaskRunner {
    /** Records of one message that wait for their commit. */
    private record Sent(int sequence, List<SourceRecord> records) {}

    private static final Logger log = LoggerFactory.getLogger(SourceTaskRunner.class);

    /** Value for the timestamp and the sizes of records in Kafka, which the parent does not send. */
    private static final int UNKNOWN = -1;

    private final int epoch;
    private final SourceTask task;
    private final ClassLoader loader;
    private final Map<String, String> properties;
    private final PluginMetricsImpl metrics;
    private final Channel channel;
    /** Null if the task does not define transaction boundaries. */
    private final TransactionMarks marks;
    private final RecordEncoder encoder = new RecordEncoder();
    private final Semaphore polls = new Semaphore(0);
    private final CompletableFuture<Void> started = new CompletableFuture<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final ExecutorService commits = Executors.newSingleThreadExecutor(Threads.daemons("penstock-commit"));
    private final Deque<Sent> uncommitted = new ArrayDeque<>();
    private final boolean commitsRecords;
    private final Thread thread;
    private int sequence;
    /** Whether records were sent since the last transaction ended. */
    private boolean isOpen;
    private boolean stopCalled;
    private volatile boolean stopping;
    /** Method of the task that its thread is executing, or executed last. */
    private volatile String inside = "start";

    SourceTaskRunner(
            int epoch,
            SourceTask task,
            ClassLoader loader,
            Map<String, String> properties,
            PluginMetricsImpl metrics,
            Channel channel,
            TransactionMarks marks) {
        this.epoch = epoch;
        this.task = task;
        this.loader = loader;
        this.properties = properties;
        this.metrics = metrics;
        this.channel = channel;
        this.marks = marks;
        this.commitsRecords = overridesCommitRecord(task.getClass());
        this.thread = new Thread(this::run, "penstock-task");
        thread.setDaemon(true);
        thread.setContextClassLoader(loader);
    }

    /** Returns whether records must be kept until their commit, which most tasks do not need. */
    private static boolean overridesCommitRecord(Class<?> type) {
        for (Class<?> declaring = type; declaring != SourceTask.class && declaring != null; declaring = declaring.getSuperclass()) {
            for (Method method : declaring.getDeclaredMethods()) {
                if (method.getName().equals("commitRecord")) {
                    return true;
                }
            }
        }
        return false;
    }

    /**
     * Starts the task, and returns once its {@code start} has returned. If that fails, the task is stopped, as in Kafka
     * Connect: another one may follow.
     */
    void start() throws Exception {
        thread.start();
        try {
            started.get();
        } catch (ExecutionException e) {
            ended.await(NOT_STARTED_MILLIS, TimeUnit.MILLISECONDS);
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    /** Allows {@code more} further polls that return records. */
    void allow(int more) {
        polls.release(more);
    }

    /** Reads the positions of records in Kafka, by the number of their message and their row in it. */
    static Map<Integer, Map<Integer, RecordMetadata>> places(ArrayValue given) {
        Map<Integer, Map<Integer, RecordMetadata>> found = new HashMap<>();
        for (Value message : given) {
            Map<Integer, RecordMetadata> rows = new HashMap<>();
            for (Value place : message.asArrayValue().get(1).asArrayValue()) {
                ArrayValue of = place.asArrayValue();
                TopicPartition partition =
                        new TopicPartition(of.get(1).asStringValue().asString(), of.get(2).asIntegerValue().asInt());
                rows.put(
                        of.get(0).asIntegerValue().asInt(),
                        new RecordMetadata(partition, of.get(3).asIntegerValue().asLong(), 0, UNKNOWN, UNKNOWN, UNKNOWN));
            }
            found.put(message.asArrayValue().get(0).asIntegerValue().asInt(), rows);
        }
        return found;
    }

    /**
     * Commits all records up to a message, in order, in a different thread than {@code poll}, which may block.
     *
     * @param places positions of records in Kafka; a record without one is not in Kafka
     */
    void commit(int upTo, Map<Integer, Map<Integer, RecordMetadata>> places) {
        commits.execute(() -> {
            try {
                Thread.currentThread().setContextClassLoader(loader);
                for (Sent sent = oldest(upTo); sent != null; sent = oldest(upTo)) {
                    Map<Integer, RecordMetadata> rows = places.getOrDefault(sent.sequence(), Map.of());
                    for (int row = 0; row < sent.records().size(); row++) {
                        commitRecord(sent.records().get(row), rows.get(row));
                    }
                }
                task.commit();
            } catch (Throwable e) {
                log.error("The task's commit() has failed. Records and offsets are in Kafka; the external system was not notified.", e);
            }
        });
    }

    private void commitRecord(SourceRecord record, RecordMetadata metadata) {
        try {
            task.commitRecord(record, metadata);
        } catch (Throwable e) { // only logged, as in Kafka Connect: the record is in Kafka already
            log.error("The task's commitRecord() has failed for a record of topic {}", record.topic(), e);
        }
    }

    private Sent oldest(int upTo) {
        synchronized (uncommitted) {
            Sent first = uncommitted.peek();
            return first != null && first.sequence() <= upTo ? uncommitted.poll() : null;
        }
    }

    @Override
    public int epoch() {
        return epoch;
    }

    /**
     * Stops the task: waits for {@code poll}, then calls the task's {@code stop} concurrently, then interrupts the thread.
     *
     * @return null if it has ended, otherwise the method of the task that does not return
     */
    @Override
    public String stop(int millis) throws InterruptedException {
        stopping = true;
        polls.release();
        commits.shutdown();
        boolean committed = commits.awaitTermination(millis / 4, TimeUnit.MILLISECONDS);
        if (!committed) {
            log.warn("The task's commit() does not return");
        }
        if (ended.await(millis / 4, TimeUnit.MILLISECONDS)) {
            return null;
        }
        Thread stopper = Threads.daemons("penstock-stop").newThread(this::callStop);
        stopper.setContextClassLoader(loader);
        stopper.start();
        if (ended.await(millis / 4, TimeUnit.MILLISECONDS)) {
            return null;
        }
        thread.interrupt();
        return ended.await(millis / 4, TimeUnit.MILLISECONDS) ? null : inside;
    }

    private void run() {
        try {
            if (begin()) {
                poll();
            }
        } catch (Throwable e) {
            // The parent cannot be reached: this JVM ends when its input ends.
            log.debug("The task's thread ends", e);
        } finally {
            callStop();
            PluginRegistries.close(metrics);
            ended.countDown();
        }
    }

    private boolean begin() {
        try {
            task.initialize(new Context(properties, metrics, channel, marks));
            task.start(properties);
            started.complete(null);
            return true;
        } catch (Throwable e) {
            started.completeExceptionally(e instanceof Exception ? e : new RuntimeException(e));
            return false;
        }
    }

    private void poll() throws IOException, InterruptedException {
        while (true) {
            polls.acquire();
            List<SourceRecord> records = null;
            while (!stopping && (records == null || records.isEmpty())) {
                long begun = System.nanoTime();
                try {
                    inside = "poll";
                    records = task.poll();
                } catch (Throwable e) {
                    if (stopping) {
                        return;
                    }
                    fail(e);
                    if (Errors.kind(e).equals("retriable")) {
                        polls.acquire();
                        continue;
                    }
                    return;
                }
                if (records == null || records.isEmpty()) {
                    if (!isSent(List.of())) { // the task may still have ended a transaction
                        return;
                    }
                    if (System.nanoTime() - begun < 1_000_000) {
                        Thread.sleep(1); // a task that has no records and does not wait would keep a core busy
                    }
                }
            }
            if (stopping || !isSent(records)) {
                return;
            }
        }
    }

    /** Sends polled records; returns false if they cannot be sent: then the task has failed. */
    private boolean isSent(List<SourceRecord> records) throws IOException {
        try {
            send(records);
            return true;
        } catch (IOException e) {
            throw e;
        } catch (Throwable e) {
            fail(e);
            return false;
        }
    }

    /** Sends polled records in portions, and the ends of transactions. */
    private void send(List<SourceRecord> records) throws IOException {
        List<SourceRecord> polled = new ArrayList<>(records);
        int ended = 0;
        for (int i = 0; marks != null && i < polled.size(); i++) {
            TransactionMarks.End end = marks.after(polled.get(i));
            if (end != null) {
                send(polled, ended, i + 1);
                sendEnd(end, polled.subList(ended, i + 1));
                ended = i + 1;
            }
        }
        send(polled, ended, polled.size());
        TransactionMarks.End end = marks == null ? null : marks.afterPolled();
        if (end != null) {
            sendEnd(end, List.of());
        }
    }

    private void send(List<SourceRecord> polled, int begin, int end) throws IOException {
        int from = begin;
        while (from < end) {
            int to = Math.min(end, from + encoder.portion());
            List<SourceRecord> part = polled.subList(from, to);
            boolean isLast = to == polled.size();
            int number = ++sequence;
            if (commitsRecords) {
                synchronized (uncommitted) {
                    uncommitted.add(new Sent(number, part));
                }
            }
            try {
                channel.send(encoder.message(epoch, number, part, isLast ? polled : null));
            } catch (DataException e) {
                throw new DataException("cannot read records of topic " + part.get(0).topic() + " and those polled with them", e);
            }
            isOpen = true;
            from = to;
        }
    }

    /**
     * Sends the end of a transaction, unless nothing was sent since the last one.
     *
     * @param passed records whose offsets are valid then, unless the offsets were already sent with the records
     */
    private void sendEnd(TransactionMarks.End end, List<SourceRecord> passed) throws IOException {
        if (!isOpen) {
            return;
        }
        isOpen = false;
        channel.send(out -> {
            out.packArrayHeader(4);
            out.packString("boundary");
            out.packInt(epoch);
            out.packBoolean(end == TransactionMarks.End.COMMIT);
            RecordEncoder.packOffsets(out, passed);
        });
    }

    private void fail(Throwable error) throws IOException {
        channel.send(out -> {
            out.packArrayHeader(3);
            out.packString("failed");
            out.packInt(epoch);
            Errors.pack(out, error);
        });
    }

    private void callStop() {
        synchronized (this) {
            if (stopCalled) {
                return;
            }
            stopCalled = true;
        }
        try {
            if (Thread.currentThread() == thread) {
                inside = "stop";
            }
            task.stop();
        } catch (Throwable e) {
            log.warn("The task's stop() has failed", e);
        }
    }

    private static final class Context implements SourceTaskContext {
        private final Map<String, String> properties;
        private final OffsetStorageReader offsets;
        private final PluginMetrics metrics;
        private final TransactionMarks marks;

        Context(Map<String, String> properties, PluginMetrics metrics, Channel channel, TransactionMarks marks) {
            this.properties = properties;
            this.metrics = metrics;
            this.marks = marks;
            this.offsets = new Offsets(channel);
        }

        @Override
        public Map<String, String> configs() {
            return properties;
        }

        @Override
        public OffsetStorageReader offsetStorageReader() {
            return offsets;
        }

        @Override
        public TransactionContext transactionContext() {
            return marks;
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return metrics;
        }
    }
}
