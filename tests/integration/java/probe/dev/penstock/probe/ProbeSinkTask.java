package dev.penstock.probe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/**
 * Appends each record to the file "out" as a line, and each call to the file "journal". A value with "bad" in it is reported,
 * as "report" says: "now", "wait" for the dead letter within put, or "later", once put has returned.
 */
public class ProbeSinkTask extends SinkTask {
    private Map<String, String> properties;
    private Actions actions;
    private ErrantRecordReporter reporter;
    private JsonConverter json;
    private final List<SinkRecord> late = new ArrayList<>();
    private final TreeSet<String> asked = new TreeSet<>();
    private long received;
    private Sensor puts;

    @Override
    public String version() {
        return "1";
    }

    @Override
    public void start(Map<String, String> given) {
        properties = given;
        actions = new Actions(given);
        puts = ProbeMetrics.counter(context.pluginMetrics(), "calls");
        tell("start " + (context.configs().equals(given) ? "" : "with other properties"));
        actions.at("start");
        reporter = context.errantRecordReporter();
        if ("json".equals(given.get("form"))) {
            json = new JsonConverter();
            json.configure(Map.of("schemas.enable", given.getOrDefault("schemas", "true")), false);
        }
    }

    @Override
    public void open(Collection<TopicPartition> partitions) {
        tell("open " + new TreeSet<>(names(partitions)) + " of " + names(context.assignment()));
        actions.at("open");
        String begin = properties.get("begin");
        if (begin != null) {
            partitions.forEach(partition -> context.offset(partition, Long.parseLong(begin)));
        }
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        tell("close " + names(partitions));
        actions.at("close");
        if (properties.get("close.offset") != null) { // as Apache Iceberg's sink does
            partitions.forEach(partition -> context.offset(partition, number("close.offset", 0)));
        }
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        puts.record();
        if (records.isEmpty()) {
            tell("put nothing");
            actions.at("idle");
            if (properties.get("resume") != null && Files.exists(Path.of(properties.get("resume")))) {
                context.resume(context.assignment().toArray(new TopicPartition[0]));
            }
            return;
        }
        tell("put " + records.size());
        received += records.size();
        if (received >= number("at", 0)) {
            if (properties.get("timeout") != null) {
                context.timeout(number("timeout", 0));
            }
            actions.at("put");
        }
        StringBuilder lines = new StringBuilder();
        for (SinkRecord record : records) {
            if (record.value() instanceof String text && text.contains("bad")) {
                report(record);
                continue;
            }
            lines.append(line(record)).append('\n');
        }
        append("out", lines.toString());
        ask(records);
    }

    /** Asks the context for what properties say, once each. */
    private void ask(Collection<SinkRecord> records) {
        SinkRecord last = List.copyOf(records).get(records.size() - 1);
        TopicPartition partition = new TopicPartition(last.originalTopic(), last.originalKafkaPartition());
        if (isDue("rewind")) {
            context.offset(partition, number("rewind", 0));
        }
        if (isDue("pause")) {
            context.pause(partition);
        }
        if (properties.get("request") != null) {
            context.requestCommit();
        }
    }

    private boolean isDue(String name) {
        return properties.get(name) != null && received >= number("at", 0) && asked.add(name);
    }

    private void report(SinkRecord record) {
        if (reporter == null) {
            throw new DataException("no reporter for offset " + record.kafkaOffset());
        }
        switch (properties.getOrDefault("report", "now")) {
            case "now" -> reporter.report(record, new DataException("bad record"));
            case "swallow" -> {
                try {
                    reporter.report(record, new DataException("bad record"));
                } catch (ConnectException e) {
                    tell("swallowed " + e.getMessage());
                }
            }
            case "wait" -> await(record);
            default -> {
                late.add(record);
                Thread thread = new Thread(() -> {
                    try {
                        Thread.sleep(number("report.after", 300));
                        await(record);
                    } catch (InterruptedException e) {
                        tell("interrupted");
                    }
                });
                thread.start();
            }
        }
    }

    private void await(SinkRecord record) {
        Future<Void> letter = reporter.report(record, new DataException("bad record"));
        try {
            letter.get();
            tell("letter " + record.kafkaOffset());
            synchronized (late) {
                late.remove(record);
            }
        } catch (InterruptedException | ExecutionException e) {
            tell("no letter " + e);
        }
    }

    @Override
    public void flush(Map<TopicPartition, OffsetAndMetadata> offsets) {
        tell("flush " + text(offsets));
        actions.at("flush");
    }

    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (received >= number("at", 0)) {
            actions.at("preCommit");
        }
        String commits = properties.getOrDefault("commits", "default");
        Map<TopicPartition, OffsetAndMetadata> allowed = new HashMap<>(offsets);
        switch (commits) {
            case "default" -> allowed = super.preCommit(offsets);
            case "null" -> allowed = null;
            case "nothing" -> allowed = Map.of();
            case "beyond" -> allowed.replaceAll((partition, offset) -> new OffsetAndMetadata(offset.offset() + 1));
            case "reported" -> {
                synchronized (late) {
                    for (SinkRecord record : late) {
                        allowed.merge(
                                new TopicPartition(record.originalTopic(), record.originalKafkaPartition()),
                                new OffsetAndMetadata(record.originalKafkaOffset()),
                                (one, other) -> one.offset() < other.offset() ? one : other);
                    }
                }
            }
            default -> allowed.replaceAll((partition, offset) ->
                    new OffsetAndMetadata(Math.max(0, Math.min(offset.offset(), Long.parseLong(commits)))));
        }
        tell("preCommit " + text(offsets) + " allows " + (allowed == null ? "null" : text(allowed)));
        return allowed;
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

    private String line(SinkRecord record) {
        if (json != null) {
            byte[] content = json.fromConnectData("t", record.valueSchema(), record.value());
            return content == null ? "null" : HexFormat.of().formatHex(content);
        }
        if (!"full".equals(properties.get("form"))) {
            return String.valueOf(record.value());
        }
        StringBuilder headers = new StringBuilder();
        for (Header header : record.headers()) {
            headers.append(' ').append(header.key()).append('=').append(shown(header.schema(), header.value()));
        }
        return String.join(
                "|",
                record.topic(),
                String.valueOf(record.kafkaPartition()),
                String.valueOf(record.kafkaOffset()),
                record.originalTopic(),
                String.valueOf(record.originalKafkaPartition()),
                String.valueOf(record.originalKafkaOffset()),
                String.valueOf(record.timestamp()),
                record.timestampType().toString(),
                shown(record.keySchema(), record.key()),
                shown(record.valueSchema(), record.value()),
                headers.toString().strip(),
                record instanceof InternalSinkRecord internal ? internal.context().original().topic() : "no internal record");
    }

    private static String shown(Schema schema, Object value) {
        String text = value instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : String.valueOf(value);
        String type = value == null ? "null" : value.getClass().getSimpleName();
        return (schema == null ? "-" : schema.type().getName()) + ":" + type + ":" + text;
    }

    private static List<String> names(Collection<TopicPartition> partitions) {
        return partitions.stream().map(p -> String.valueOf(p.partition())).sorted().toList();
    }

    private static String text(Map<TopicPartition, OffsetAndMetadata> offsets) {
        Map<Integer, Long> found = new TreeMap<>();
        offsets.forEach((partition, offset) -> found.put(partition.partition(), offset.offset()));
        return found.toString();
    }

    private long number(String name, long otherwise) {
        String text = properties.get(name);
        return text == null ? otherwise : Long.parseLong(text);
    }

    private void tell(String line) {
        append("journal", line + "\n");
    }

    private synchronized void append(String file, String text) {
        String name = properties == null ? null : properties.get(file);
        if (name == null) {
            return;
        }
        try {
            Files.writeString(Path.of(name), text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
