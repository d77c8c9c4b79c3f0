package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.msgpack.core.MessagePacker;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the metrics of plugins when the parent is scraped: registered metrics (KIP-877), and JMX beans.
 *
 * <p>All of this runs code of plugins, so it runs in a separate thread for a limited time. A source that does not return is
 * skipped until it does.
 */
final class MetricsReader {
    /**
     * Value that was read.
     *
     * @param isOfTable whether it is from a row of a table; these are omitted first if there are too many values
     */
    record Reading(Channel.Content content, boolean isOfTable) {}

    /** Source of metrics: a plugin object or a bean. */
    record Source(Object key, String name, Threads.Work<List<Reading>> work) {
        List<Reading> read() {
            try {
                return work.run();
            } catch (Exception e) {
                throw new CompletionException(e);
            }
        }
    }

    private static final Logger log = LoggerFactory.getLogger(MetricsReader.class);
    private static final int MOST = 2_000;
    /** Maximum number of calls that have not returned; at this number, nothing more is read. */
    private static final int MOST_HELD = 4;
    private static final long ONE_MILLIS = 500;
    /** Time after which no further source is read. */
    private static final long ALL_MILLIS = 1_000;

    private final PluginRegistries registries;
    private final Map<Object, CompletableFuture<List<Reading>>> held = new HashMap<>();
    private final Set<String> warned = new HashSet<>();
    private ExecutorService worker = worker();

    MetricsReader(PluginRegistries registries) {
        this.registries = registries;
    }

    private static ExecutorService worker() {
        ThreadPoolExecutor made = new ThreadPoolExecutor(
                1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), Threads.daemons("penstock-metrics"));
        made.allowCoreThreadTimeOut(true); // no thread between two scrapes
        return made;
    }

    /** Returns the registered metrics, and the numbers in JMX beans. */
    synchronized Channel.Content read() throws InterruptedException {
        held.values().removeIf(CompletableFuture::isDone);
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ALL_MILLIS);
        List<Reading> ofPlugins = read(registries.sources(), end);
        List<Reading> ofBeans = bounded(read(Beans.sources(), end), MOST - ofPlugins.size());
        return out -> {
            out.packArrayHeader(2);
            pack(out, ofPlugins);
            pack(out, ofBeans);
        };
    }

    private List<Reading> read(List<Source> sources, long end) throws InterruptedException {
        List<Reading> found = new ArrayList<>();
        for (Source source : sources) {
            if (held.containsKey(source.key())) {
                continue;
            }
            if (held.size() == MOST_HELD || System.nanoTime() >= end) {
                warn("", "Reading the metrics of Java plugins takes too long: those of {} and others are missing", source.name());
                break;
            }
            found.addAll(read(source));
        }
        return bounded(found, MOST);
    }

    private List<Reading> read(Source source) throws InterruptedException {
        CompletableFuture<List<Reading>> reading = CompletableFuture.supplyAsync(source::read, worker);
        try {
            return reading.get(ONE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            warn(source.name(), "{} has not returned its metrics within {} ms: they are missing until it does", source.name(), ONE_MILLIS);
            held.put(source.key(), reading);
            worker.shutdown(); // its thread ends once the call returns
            worker = worker();
        } catch (ExecutionException e) {
            log.debug("Cannot read the metrics of {}", source.name(), e.getCause());
        }
        return List.of();
    }

    private List<Reading> bounded(List<Reading> found, int most) {
        if (found.size() <= most) {
            return found;
        }
        warn("", "Java plugins have more than {} metrics: the rest is omitted, entries of maps first", MOST);
        found.sort(Comparator.comparing(Reading::isOfTable)); // stable: the order is otherwise unchanged
        return found.subList(0, most);
    }

    /** Logs a warning once for each subject. */
    private void warn(String of, String text, Object... values) {
        if (warned.add(of + text)) {
            log.warn(text, values);
        }
    }

    /** Returns the number in a metric's value; null if it is not a number. */
    static Double number(Object value) {
        if (value instanceof Boolean flag) {
            return flag ? 1.0 : 0.0;
        }
        return value instanceof Number number && !Double.isNaN(number.doubleValue()) ? number.doubleValue() : null;
    }

    static void pack(MessagePacker out, Map<String, String> labels) throws IOException {
        out.packMapHeader(labels.size());
        for (Map.Entry<String, String> label : labels.entrySet()) {
            Channel.packText(out, label.getKey());
            Channel.packText(out, String.valueOf(label.getValue()));
        }
    }

    private static void pack(MessagePacker out, List<Reading> readings) throws IOException {
        out.packArrayHeader(readings.size());
        for (Reading reading : readings) {
            reading.content().write(out);
        }
    }
}
