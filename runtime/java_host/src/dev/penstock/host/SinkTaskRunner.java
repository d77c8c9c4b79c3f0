package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.connect.sink.SinkTask;
import org.msgpack.core.MessagePacker;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sink task: all of its methods are called in one thread, as in Kafka Connect, each at the request of the parent. */
final class SinkTaskRunner implements TaskRunner {
    private static final Logger log = LoggerFactory.getLogger(SinkTaskRunner.class);

    private static final int ATTEND_MILLIS = 250;
    /** Time for a task that coordinates others to leave its own groups; otherwise their next members would wait for it. */
    private static final int COORDINATOR_MILLIS = 1_500;

    private final int epoch;
    private final SinkTask task;
    private final ClassLoader loader;
    private final Map<String, String> properties;
    private final PluginMetricsImpl metrics;
    private final HostSinkContext context;
    private final RecordDecoder decoder = new RecordDecoder();
    private final ScheduledExecutorService calls;
    /** Member of the connector's group, if the task needs one; otherwise null. */
    private final GroupMember member;
    private volatile Thread thread;
    private boolean stopCalled;
    /** Method of the task that its thread is executing, or executed last. */
    private volatile String inside = "start";

    SinkTaskRunner(
            int epoch,
            SinkTask task,
            ClassLoader loader,
            Map<String, String> properties,
            PluginMetricsImpl metrics,
            Channel channel,
            GroupMember member) {
        this.epoch = epoch;
        this.task = task;
        this.loader = loader;
        this.properties = properties;
        this.metrics = metrics;
        this.member = member;
        this.context = new HostSinkContext(epoch, properties, metrics, channel, member);
        this.calls = Executors.newSingleThreadScheduledExecutor(work -> {
            Thread made = new Thread(work, "penstock-task");
            made.setDaemon(true);
            made.setContextClassLoader(loader);
            thread = made;
            return made;
        });
    }

    @Override
    public int epoch() {
        return epoch;
    }

    /** Starts the task. If that fails, the task is stopped, as in Kafka Connect: another one may follow. */
    Channel.Content start() throws Exception {
        try {
            return call("start", () -> {
                task.initialize(context);
                task.start(properties);
                if (member != null) {
                    calls.scheduleWithFixedDelay(this::attend, ATTEND_MILLIS, ATTEND_MILLIS, TimeUnit.MILLISECONDS);
                }
                return Channel.NOTHING;
            });
        } catch (Throwable e) {
            beginStop();
            calls.awaitTermination(NOT_STARTED_MILLIS, TimeUnit.MILLISECONDS);
            throw e;
        }
    }

    /** Opens partitions, and returns the offsets that the group has, if the task commits them itself. */
    Channel.Content open(Collection<TopicPartition> partitions) throws Exception {
        return call("open", () -> {
            context.assigned(partitions);
            Map<TopicPartition, OffsetAndMetadata> committed = member == null ? new HashMap<>() : member.claim(context.assignment());
            committed.keySet().retainAll(Set.copyOf(partitions));
            task.open(partitions);
            return out -> pack(out, committed);
        });
    }

    private void attend() {
        try {
            if (member.attend()) {
                context.request("rebalanced", Channel.NOTHING);
            }
        } catch (RuntimeException e) {
            log.error("The task cannot remain in its consumer group", e);
            context.request("left", out -> Channel.packText(out, e.getMessage()));
            throw e; // it is not called again
        }
    }

    Channel.Content close(Collection<TopicPartition> partitions) throws Exception {
        return call("close", () -> {
            try {
                task.close(partitions);
            } finally {
                context.revoked(partitions);
            }
            if (member != null && !context.assignment().isEmpty()) {
                member.claim(context.assignment());
            }
            return Channel.NOTHING;
        });
    }

    Channel.Content put(byte[] records) throws Exception {
        return call("put", () -> {
            task.put(decoder.sinkRecords(records));
            return Channel.NOTHING;
        });
    }

    /** Returns the offsets that may be committed, given the offsets reached. */
    Channel.Content preCommit(Map<TopicPartition, Long> reached) throws Exception {
        return call("preCommit", () -> {
            Map<TopicPartition, OffsetAndMetadata> current = new HashMap<>();
            reached.forEach((partition, offset) -> current.put(partition, new OffsetAndMetadata(offset)));
            Map<TopicPartition, OffsetAndMetadata> allowed = task.preCommit(current);
            Map<TopicPartition, OffsetAndMetadata> found = allowed == null ? Map.of() : new HashMap<>(allowed);
            return out -> pack(out, found);
        });
    }

    private static void pack(MessagePacker out, Map<TopicPartition, OffsetAndMetadata> offsets) throws IOException {
        List<Map.Entry<TopicPartition, OffsetAndMetadata>> given = new ArrayList<>(offsets.entrySet());
        given.removeIf(entry -> entry.getValue() == null);
        out.packArrayHeader(given.size());
        for (Map.Entry<TopicPartition, OffsetAndMetadata> entry : given) {
            out.packArrayHeader(3);
            Channel.packText(out, entry.getKey().topic());
            out.packInt(entry.getKey().partition());
            out.packLong(entry.getValue().offset());
        }
    }

    /** Completes the report of a record: its dead letter is in Kafka, or cannot be written. */
    void reported(int number, String failure) {
        context.errantRecords().completed(number, failure);
    }

    @Override
    public String stop(int millis) throws InterruptedException {
        beginStop();
        if (calls.awaitTermination(millis / 3, TimeUnit.MILLISECONDS)) {
            return null;
        }
        Thread stopper = Threads.daemons("penstock-stop").newThread(this::callStop);
        stopper.setContextClassLoader(loader);
        stopper.start();
        if (calls.awaitTermination(millis / 3, TimeUnit.MILLISECONDS)) {
            return null;
        }
        Thread running = thread;
        if (running != null) {
            running.interrupt();
        }
        return calls.awaitTermination(millis / 3, TimeUnit.MILLISECONDS) ? null : inside;
    }

    private synchronized void beginStop() {
        if (!calls.isShutdown()) {
            calls.execute(this::callStop);
            calls.execute(() -> PluginRegistries.close(metrics));
            calls.shutdown();
        }
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
            if (member != null && Thread.currentThread() == thread) {
                member.close();
                Threads.awaitOf(loader, COORDINATOR_MILLIS);
            }
        } catch (Throwable e) {
            log.warn("The task's stop() has failed", e);
        }
    }

    private Channel.Content call(String method, Callable<Channel.Content> work) throws Exception {
        return Threads.result(calls.submit(() -> {
            inside = method;
            return work.call();
        }));
    }
}
