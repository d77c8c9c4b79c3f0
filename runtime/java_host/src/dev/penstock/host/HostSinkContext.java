package dev.penstock.host;

import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.IllegalWorkerStateException;
import org.apache.kafka.connect.runtime.WorkerSinkTaskContext;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.msgpack.core.MessagePacker;

/** Context of a sink task: sends its requests to the parent, which acts on them between two batches. Thread-safe. */
final class HostSinkContext extends WorkerSinkTaskContext {
    private final int epoch;
    private final Map<String, String> properties;
    private final Channel channel;
    private final ErrantRecords errantRecords;
    private final boolean reports;
    private final Set<TopicPartition> assignment = ConcurrentHashMap.newKeySet();
    private final PluginMetrics metrics;

    /**
     * Creates the context of a task.
     *
     * @param member member of the connector's group, whose consumer replaces that of Kafka Connect's worker; or null
     */
    HostSinkContext(int epoch, Map<String, String> properties, PluginMetrics metrics, Channel channel, GroupMember member) {
        super(member == null ? null : member.asConsumer(), null, null);
        if (member != null) {
            member.serve(this);
        }
        this.epoch = epoch;
        this.properties = properties;
        this.metrics = metrics;
        this.channel = channel;
        this.errantRecords = new ErrantRecords(this, "all".equals(properties.get("errors.tolerance")));
        // As in Kafka Connect, a task gets a reporter only if its reports have an effect.
        this.reports = !properties.getOrDefault("errors.deadletterqueue.topic.name", "").isBlank()
                || Boolean.parseBoolean(properties.getOrDefault("errors.log.enable", "false").strip());
    }

    void assigned(Collection<TopicPartition> partitions) {
        assignment.addAll(partitions);
    }

    void revoked(Collection<TopicPartition> partitions) {
        assignment.removeAll(Set.copyOf(partitions));
    }

    ErrantRecords errantRecords() {
        return errantRecords;
    }

    /**
     * Sends a request to the parent.
     *
     * @param what name of the request
     * @param arguments arguments, written as one value
     */
    void request(String what, Channel.Content arguments) {
        try {
            channel.send(out -> {
                out.packArrayHeader(4);
                out.packString("request");
                out.packInt(epoch);
                out.packString(what);
                arguments.write(out);
            });
        } catch (IOException e) {
            throw new ConnectException("cannot reach the process that runs this task", e);
        }
    }

    @Override
    public Map<String, String> configs() {
        return properties;
    }

    @Override
    public void offset(Map<TopicPartition, Long> offsets) {
        Map<TopicPartition, Long> given = new HashMap<>(offsets);
        given.values().removeIf(Objects::isNull); // as in Kafka Connect
        request("seek", out -> {
            out.packArrayHeader(given.size());
            for (Map.Entry<TopicPartition, Long> entry : given.entrySet()) {
                out.packArrayHeader(3);
                pack(out, entry.getKey());
                out.packLong(entry.getValue());
            }
        });
    }

    @Override
    public void offset(TopicPartition partition, long offset) {
        offset(Map.of(partition, offset));
    }

    @Override
    public void timeout(long millis) {
        request("timeout", out -> out.packLong(millis));
    }

    @Override
    public Set<TopicPartition> assignment() {
        return new HashSet<>(assignment);
    }

    @Override
    public void pause(TopicPartition... partitions) {
        requestForPartitions("pause", partitions);
    }

    @Override
    public void resume(TopicPartition... partitions) {
        requestForPartitions("resume", partitions);
    }

    private void requestForPartitions(String what, TopicPartition... partitions) {
        List<TopicPartition> given = List.of(partitions);
        if (!assignment.containsAll(given)) {
            throw new IllegalWorkerStateException(
                    "SinkTasks may not " + what + " partitions that are not currently assigned to them.");
        }
        request(what, out -> {
            out.packArrayHeader(given.size());
            for (TopicPartition partition : given) {
                out.packArrayHeader(2);
                pack(out, partition);
            }
        });
    }

    private static void pack(MessagePacker out, TopicPartition partition) throws IOException {
        Channel.packText(out, partition.topic());
        out.packInt(partition.partition());
    }

    @Override
    public void requestCommit() {
        request("commit", Channel.NOTHING);
    }

    @Override
    public ErrantRecordReporter errantRecordReporter() {
        return reports ? errantRecords : null;
    }

    @Override
    public PluginMetrics pluginMetrics() {
        return metrics;
    }
}
