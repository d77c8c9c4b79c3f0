package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;

/** Transforms and predicates, which the parent calls with many records at once. It calls each in one thread at a time. */
final class ChainSteps {
    /** A configured transform or predicate, with the schemas that were exchanged for it. */
    private record Step(Object plugin, ClassLoader loader, RecordDecoder decoder, RecordEncoder encoder) {}

    /** A record that failed. */
    private record Failed(int row, Throwable error) {}

    private final Plugins plugins;
    private final AtomicInteger made = new AtomicInteger();
    private final Map<Integer, Step> steps = new ConcurrentHashMap<>();

    ChainSteps(Plugins plugins) {
        this.plugins = plugins;
    }

    /** Makes and configures a plugin, and answers with its number. */
    Channel.Content make(Plugins.Reference reference, Map<String, String> properties) throws Exception {
        Configurable plugin = plugins.make(reference, Configurable.class);
        ClassLoader loader = plugins.loader(reference);
        Threads.with(loader, () -> {
            plugin.configure(properties);
            if (plugin instanceof Monitorable monitorable) {
                monitorable.withPluginMetrics(ConnectorCalls.metrics());
            }
            return null;
        });
        int number = made.incrementAndGet();
        steps.put(number, new Step(plugin, loader, new RecordDecoder(), new RecordEncoder()));
        return out -> out.packInt(number);
    }

    /**
     * Transforms records. Answers with the rows that are left (nothing: all), with their columns (nothing: none is left),
     * and with the rows that failed. A transform may change a record in place, so all columns come back.
     */
    Channel.Content apply(int number, byte[] records) throws Exception {
        Step step = step(number);
        return Threads.with(step.loader(), () -> apply(step, step.decoder().records(records)));
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // a transform that does not take such records fails with each
    private static Channel.Content apply(Step step, List<ConnectRecord<?>> given) throws IOException {
        Transformation transform = (Transformation) step.plugin();
        List<Integer> rows = new ArrayList<>(given.size());
        List<ConnectRecord<?>> results = new ArrayList<>(given.size());
        List<Failed> failed = new ArrayList<>();
        for (int row = 0; row < given.size(); row++) {
            try {
                ConnectRecord<?> result = transform.apply(given.get(row));
                if (result != null) {
                    rows.add(row);
                    results.add(result);
                }
            } catch (Exception e) {
                failed.add(new Failed(row, e));
            }
        }
        byte[] columns = columns(step, rows, results, failed);
        boolean areAll = rows.size() == given.size();
        return out -> {
            out.packArrayHeader(3);
            packRows(out, areAll ? null : rows);
            out.writePayload(columns);
            out.packArrayHeader(failed.size());
            for (Failed each : failed) {
                out.packArrayHeader(2);
                out.packInt(each.row());
                Errors.packOfRecord(out, each.error());
            }
        };
    }

    /** The columns of records. One that cannot be encoded is moved from the results to the failed rows. */
    private static byte[] columns(Step step, List<Integer> rows, List<ConnectRecord<?>> results, List<Failed> failed)
            throws IOException {
        try {
            return encoded(step.encoder(), results);
        } catch (RuntimeException e) {
            for (int i = results.size() - 1; i >= 0; i--) {
                try {
                    encoded(new RecordEncoder(), List.of(results.get(i)));
                } catch (RuntimeException ofRecord) {
                    failed.add(new Failed(rows.remove(i), ofRecord));
                    results.remove(i);
                }
            }
            return encoded(step.encoder(), results);
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

    private static void packRows(MessagePacker out, List<Integer> rows) throws IOException {
        if (rows == null) {
            out.packNil();
            return;
        }
        out.packArrayHeader(rows.size());
        for (int row : rows) {
            out.packInt(row);
        }
    }

    /** Tests records with a predicate. Answers with true, false or an error for each. */
    @SuppressWarnings({"unchecked", "rawtypes"}) // as for apply
    Channel.Content test(int number, byte[] records) throws Exception {
        Step step = step(number);
        Predicate predicate = (Predicate) step.plugin();
        return Threads.with(step.loader(), () -> {
            List<ConnectRecord<?>> given = step.decoder().records(records);
            List<Object> answers = new ArrayList<>(given.size());
            for (ConnectRecord<?> record : given) {
                try {
                    answers.add(predicate.test(record));
                } catch (Exception e) {
                    answers.add(e);
                }
            }
            return out -> packAnswers(out, answers);
        });
    }

    private static void packAnswers(MessagePacker out, List<Object> answers) throws IOException {
        out.packArrayHeader(answers.size());
        for (Object answer : answers) {
            if (answer instanceof Throwable error) {
                Errors.packOfRecord(out, error);
            } else {
                out.packBoolean((Boolean) answer);
            }
        }
    }

    /** Closes a plugin; its number is not valid after that. */
    Channel.Content close(int number) throws Exception {
        Step step = steps.remove(number);
        if (step != null && step.plugin() instanceof AutoCloseable plugin) {
            Threads.with(step.loader(), () -> {
                plugin.close();
                return null;
            });
        }
        return Channel.NOTHING;
    }

    private Step step(int number) {
        Step step = steps.get(number);
        if (step == null) {
            throw new IllegalStateException("there is no step " + number);
        }
        return step;
    }
}
