package dev.penstock.probe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * Numbered records ({@code 0:<n>}), from the committed offset on; with "data", one poll of a data set.
 *
 * <p>Transactions end at records ("commit.at", "abort.at": their numbers, or {@code *n} for each n-th), after polls that
 * reach a number ("commit.polled", "abort.polled"), and after a poll without records ("commit.idle").
 */
public class ProbeTask extends SourceTask {
    private Map<String, String> properties;
    private Actions actions;
    private Map<String, ?> partition;
    private long next;
    private Sensor polls;

    @Override
    public String version() {
        return "1";
    }

    @Override
    public void start(Map<String, String> given) {
        properties = given;
        actions = new Actions(given);
        polls = ProbeMetrics.counter(context.pluginMetrics(), "calls");
        partition = Map.of("p", given.getOrDefault("number", "0"));
        Map<String, Object> offset = context.offsetStorageReader().offset(partition);
        next = offset == null ? 0 : (Long) offset.get("n");
        tell("start " + next);
        actions.at("start");
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        tell("poll");
        polls.record();
        long pause = number("pause", 0);
        if (pause > 0) {
            Thread.sleep(pause);
        }
        if (next >= number("at", 0)) {
            actions.at("poll");
        }
        String data = properties.get("data");
        if (data != null) {
            if (next >= number("polls", 1)) {
                Thread.sleep(100);
                return null;
            }
            next++;
            return Data.named(data, properties.get("topic"), number("count", 1));
        }
        long end = Math.min(next + number("batch", 100), number("total", Long.MAX_VALUE));
        if (next >= end) {
            if (properties.get("commit.idle") != null) {
                context.transactionContext().commitTransaction();
            }
            if (properties.get("idle") == null) {
                Thread.sleep(50);
            }
            return "empty".equals(properties.get("idle")) ? List.of() : null;
        }
        List<SourceRecord> records = new ArrayList<>();
        for (; next < end; next++) {
            records.add(new SourceRecord(
                    partition,
                    Map.of("n", next + 1),
                    properties.get("topic"),
                    null,
                    Schema.STRING_SCHEMA,
                    partition.get("p") + ":" + next));
            SourceRecord record = records.get(records.size() - 1);
            if (isNamed("commit.at", next)) {
                context.transactionContext().commitTransaction(record);
            }
            if (isNamed("abort.at", next)) {
                context.transactionContext().abortTransaction(record);
            }
        }
        if (isNamed("commit.polled", next)) {
            context.transactionContext().commitTransaction();
        }
        if (isNamed("abort.polled", next)) {
            context.transactionContext().abortTransaction();
        }
        return records;
    }

    /** Whether a property names a number: in a list, or {@code *n} for the last of each n. */
    private boolean isNamed(String name, long number) {
        String text = properties.get(name);
        if (text == null) {
            return false;
        }
        return text.startsWith("*")
                ? (number + 1) % Long.parseLong(text.substring(1)) == 0
                : List.of(text.split(",")).contains(String.valueOf(number));
    }

    @Override
    public void commit() {
        tell("commit");
        if (actions != null) {
            actions.at("commit");
        }
    }

    @Override
    public void stop() {
        tell("stop");
        if (actions != null) {
            actions.at("stop");
        }
        if (properties != null && properties.containsKey("stop.action")) {
            tell("stopped");
        }
    }

    private long number(String name, long otherwise) {
        String text = properties.get(name);
        return text == null ? otherwise : Long.parseLong(text);
    }

    private void tell(String line) {
        String journal = properties == null ? null : properties.get("journal");
        if (journal == null) {
            return;
        }
        try {
            Files.writeString(
                    Path.of(journal), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
