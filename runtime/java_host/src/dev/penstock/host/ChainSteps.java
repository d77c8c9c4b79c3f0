package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;
import org.msgpack.core.MessagePacker;

/** Transforms and predicates, which the parent calls with batches of records, each in only one thread at a time. */
final class ChainSteps {
    /** A configured transform or predicate, with the schemas that were exchanged for it. */
    private record Step(
            Object plugin, ClassLoader loader, PluginMetricsImpl metrics, RecordDecoder decoder, RecordEncoder encoder) {}

    private final Plugins plugins;
    private final PluginRegistries registries;
    private final AtomicInteger made = new AtomicInteger();
    private final Map<Integer, Step> steps = new ConcurrentHashMap<>();

    ChainSteps(Plugins plugins, PluginRegistries registries) {
        this.plugins = plugins;
        this.registries = registries;
    }

    /** Creates and configures a plugin, and returns its number. */
    Channel.Content make(Plugins.Reference reference, Map<String, String> properties, Map<String, String> tags)
            throws Exception {
        Configurable plugin = plugins.make(reference, Configurable.class);
        ClassLoader loader = plugins.loader(reference);
        PluginMetricsImpl metrics = Threads.with(loader, () -> {
            plugin.configure(properties);
            return registries.give(plugin, tags);
        });
        int number = made.incrementAndGet();
        steps.put(number, new Step(plugin, loader, metrics, new RecordDecoder(), new RecordEncoder()));
        return out -> out.packInt(number);
    }

    /**
     * Transforms records. Returns the remaining rows (nil for all), their columns (nil if no row remains), and the rows that
     * failed. A transform may change a record in place, so all columns are returned.
     */
    Channel.Content apply(int number, byte[] records) throws Exception {
        Step step = step(number);
        return Threads.with(step.loader(), () -> apply(step, step.decoder().records(records)));
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // a transform that does not accept such records fails for each of them
    private static Channel.Content apply(Step step, List<ConnectRecord<?>> given) throws IOException {
        Transformation transform = (Transformation) step.plugin();
        RowResults results = new RowResults(given.size());
        for (int row = 0; row < given.size(); row++) {
            try {
                ConnectRecord<?> result = transform.apply(given.get(row));
                if (result != null) {
                    results.add(row, result);
                }
            } catch (Exception e) {
                results.fail(row, e);
            }
        }
        return results.content(step.encoder());
    }

    /** Tests records with a predicate. Returns true, false or an error for each. */
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

    /** Closes a plugin; its number becomes invalid. */
    Channel.Content close(int number) throws Exception {
        Step step = steps.remove(number);
        if (step != null) {
            try {
                Threads.with(step.loader(), () -> {
                    ((AutoCloseable) step.plugin()).close();
                    return null;
                });
            } finally {
                PluginRegistries.close(step.metrics());
            }
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
