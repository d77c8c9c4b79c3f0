package dev.penstock.host;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.connect.errors.ConnectException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Member of the connector's consumer group, for sinks whose tasks discover each other as members of the group and commit
 * offsets there themselves.
 *
 * <p>It reads nothing: the parent reads, and determines the partitions. The member claims these, and the group's leader
 * assigns each member the partitions that it claims. Only for the thread of the task, except {@link #metadata}.
 */
final class GroupMember {
    private static final Logger log = LoggerFactory.getLogger(GroupMember.class);
    private static final String CLAIM = "penstock.claim";
    private static final Duration STEP = Duration.ofMillis(100);
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** Maximum wait for the other tasks of the connector: each task that joins later causes a rebalance. */
    private static final long OTHERS_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final Duration LEAVE = Duration.ofSeconds(1);

    private final String group;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Claim claim = new Claim();
    private final ConsumerRebalanceListener listener = new ConsumerRebalanceListener() {
        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            isJoining = true;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            isJoining = false;
            consumer.pause(assigned);
        }
    };
    private Set<String> topics = Set.of();
    private int opened = -1;
    /** Whether the group waits for this member, or this member for others. Offsets cannot be committed during that time. */
    private boolean isJoining;
    private long logged = System.nanoTime();
    private volatile ConsumerGroupMetadata metadata;
    private HostSinkContext context;

    /**
     * Creates a member, which joins when it claims partitions.
     *
     * @param group group of the connector
     * @param instance the static member (KIP-345): a process that joins with the same instance fences its predecessor
     * @param clients properties of Kafka's clients
     */
    GroupMember(String group, String instance, Map<String, String> clients) {
        this.group = group;
        this.metadata = new ConsumerGroupMetadata(group);
        Map<String, Object> config = new HashMap<>(clients);
        config.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        config.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, instance);
        config.put(ConsumerConfig.CLIENT_ID_CONFIG, instance);
        config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        config.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest"); // no effect, since all partitions are paused
        config.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, List.of(ClaimAssignor.class));
        config.put(CLAIM, claim);
        try {
            this.consumer = Threads.with(
                    GroupMember.class.getClassLoader(),
                    () -> new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
        } catch (Exception e) {
            throw refused(e);
        }
    }

    /**
     * Claims partitions, and waits until the group has assigned them, and all others to other members.
     *
     * @param partitions all partitions of the task
     * @return the offsets that the group has committed for them
     */
    Map<TopicPartition, OffsetAndMetadata> claim(Set<TopicPartition> partitions) {
        try {
            if (!partitions.equals(consumer.assignment())) {
                join(partitions);
            }
            awaitOthers();
            opened = metadata.generationId();
            return committed(partitions);
        } catch (RuntimeException e) {
            throw refused(e);
        }
    }

    private void join(Set<TopicPartition> partitions) {
        claim.of(partitions);
        Set<String> wanted = new HashSet<>();
        partitions.forEach(partition -> wanted.add(partition.topic()));
        if (wanted.isEmpty()) {
            consumer.unsubscribe();
        } else if (wanted.equals(topics)) {
            consumer.enforceRebalance("the task has other partitions");
        } else {
            consumer.subscribe(wanted, listener);
        }
        topics = wanted;
        int generation = metadata.generationId();
        while (!partitions.equals(consumer.assignment())) {
            await();
            if (metadata.generationId() != generation && !isJoining && !partitions.equals(consumer.assignment())) {
                // A static member that returns gets the assignment of its predecessor, without a rebalance.
                generation = metadata.generationId();
                claim.of(partitions);
                consumer.enforceRebalance("the task has other partitions than before");
            }
        }
    }

    private void awaitOthers() {
        int all = topics.stream().mapToInt(topic -> consumer.partitionsFor(topic).size()).sum();
        long end = System.nanoTime() + OTHERS_NANOS;
        while (isJoining || claim.ofGroup < all) {
            await();
            if (System.nanoTime() > end && !isJoining) {
                log.warn("Only {} of {} partitions are assigned in consumer group {}: not all tasks of the connector are running; "
                        + "this one starts without them", claim.ofGroup, all, group);
                return;
            }
        }
    }

    /** Waits briefly for the group. The parent kills this JVM if it takes too long. */
    private void await() {
        step(STEP);
        if (System.nanoTime() - logged > LOG_NANOS) {
            logged = System.nanoTime();
            log.info("Waiting for consumer group {} to assign partitions to its members", group);
        }
    }

    /**
     * Responds to the group's coordinator. Must be called often, between two calls of the task.
     *
     * @return whether the members of the group may have changed since the last claim
     */
    boolean attend() {
        try {
            step(Duration.ZERO);
            while (isJoining) {
                await();
            }
        } catch (RuntimeException e) {
            throw refused(e);
        }
        boolean changed = opened >= 0 && metadata.generationId() >= 0 && metadata.generationId() != opened;
        if (changed) {
            opened = metadata.generationId();
        }
        return changed;
    }

    private void step(Duration timeout) {
        if (!topics.isEmpty()) {
            consumer.poll(timeout); // returns no records, since all partitions are paused
            metadata = consumer.groupMetadata();
        }
    }

    private ConnectException refused(Exception cause) {
        return new ConnectException(
                "cannot be a member of consumer group " + group + ": " + cause.getClass().getSimpleName() + ": "
                        + cause.getMessage(),
                cause);
    }

    /** Leaves the group. */
    void close() {
        consumer.close(CloseOptions.timeout(LEAVE)
                .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }

    /** Sets the context of a task, which has its partitions and receives the positions that it sets. */
    void serve(HostSinkContext of) {
        context = of;
    }

    /** Returns the object that a task gets instead of the worker's consumer. */
    @SuppressWarnings("unchecked")
    Consumer<byte[], byte[]> asConsumer() {
        return (Consumer<byte[], byte[]>) Proxy.newProxyInstance(
                GroupMember.class.getClassLoader(), new Class<?>[] {Consumer.class}, this::consumerCall);
    }

    @SuppressWarnings("unchecked")
    private Object consumerCall(Object proxy, Method method, Object[] given) {
        switch (method.getName() + "/" + method.getParameterCount()) {
            case "groupMetadata/0":
                return metadata;
            case "assignment/0":
                return context.assignment();
            case "committed/1":
                return committed((Set<TopicPartition>) given[0]);
            case "seek/2":
                context.offset(
                        (TopicPartition) given[0],
                        given[1] instanceof OffsetAndMetadata to ? to.offset() : (Long) given[1]);
                return null;
            case "toString/0":
                return "consumer of group " + group;
            case "hashCode/0":
                return System.identityHashCode(proxy);
            case "equals/1":
                return proxy == given[0];
            default:
                throw new UnsupportedOperationException(
                        "cannot call " + method.getName() + "() of the worker's consumer: Penstock has none");
        }
    }

    private Map<TopicPartition, OffsetAndMetadata> committed(Set<TopicPartition> partitions) {
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>(consumer.committed(partitions));
        found.values().removeIf(Objects::isNull);
        return found;
    }

    /** Partitions that a member claims, in the form that the leader of the group reads. */
    static final class Claim {
        private byte[] content = {};
        /** Number of partitions that all members of the group claim. */
        private int ofGroup;

        void of(Collection<TopicPartition> partitions) {
            // The coordinator ignores a member that joins again with the same content.
            StringBuilder text = new StringBuilder(UUID.randomUUID().toString());
            for (TopicPartition each : partitions) {
                text.append('\n').append(each.partition()).append(' ').append(each.topic());
            }
            content = text.toString().getBytes(StandardCharsets.UTF_8);
        }

        static List<TopicPartition> read(ByteBuffer content) {
            List<TopicPartition> found = new ArrayList<>();
            for (String line : StandardCharsets.UTF_8.decode(content.duplicate()).toString().split("\n")) {
                int space = line.indexOf(' ');
                if (space > 0) {
                    found.add(new TopicPartition(line.substring(space + 1), Integer.parseInt(line.substring(0, space))));
                }
            }
            return found;
        }
    }

    /** Assigns to each member the partitions that it claims. */
    public static final class ClaimAssignor implements ConsumerPartitionAssignor, Configurable {
        private Claim claim = new Claim();

        @Override
        public void configure(Map<String, ?> configs) {
            claim = (Claim) configs.get(CLAIM);
        }

        @Override
        public ByteBuffer subscriptionUserData(Set<String> topics) {
            return ByteBuffer.wrap(claim.content);
        }

        @Override
        public GroupAssignment assign(Cluster metadata, GroupSubscription subscriptions) {
            Map<String, List<TopicPartition>> claims = new TreeMap<>();
            subscriptions.groupSubscription().forEach(
                    (member, subscription) -> claims.put(member, Claim.read(subscription.userData())));
            int all = claims.values().stream().mapToInt(List::size).sum();
            ByteBuffer content = ByteBuffer.allocate(Integer.BYTES).putInt(0, all);
            Map<String, Assignment> found = new TreeMap<>();
            claims.forEach((member, partitions) -> found.put(member, new Assignment(partitions, content.duplicate())));
            return new GroupAssignment(found);
        }

        @Override
        public void onAssignment(Assignment assignment, ConsumerGroupMetadata metadata) {
            claim.ofGroup = assignment.userData().getInt(assignment.userData().position());
        }

        @Override
        public String name() {
            return "penstock-claim";
        }
    }
}
