package dev.penstock.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.ConverterConfig;
import org.apache.kafka.connect.storage.ConverterType;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;
import org.msgpack.core.MessageUnpacker;

/**
 * Converters and header converters, which the parent calls with batches of values, each in only one thread at a time.
 * Values are encoded like those of records, and Kafka's headers like headers without a schema.
 */
final class ConverterCalls {
    /** Configured converter with the schemas that were exchanged for it. */
    private record Made(
            Object plugin, ClassLoader loader, PluginMetricsImpl metrics, RecordDecoder decoder, RecordEncoder encoder) {}

    private final Plugins plugins;
    private final PluginRegistries registries;
    private final AtomicInteger count = new AtomicInteger();
    private final Map<Integer, Made> converters = new ConcurrentHashMap<>();

    ConverterCalls(Plugins plugins, PluginRegistries registries) {
        this.plugins = plugins;
        this.registries = registries;
    }

    /**
     * Creates and configures a converter, and returns its number.
     *
     * @param type {@code key}, {@code value} or {@code header}
     */
    Channel.Content make(
            Plugins.Reference reference, String type, Map<String, String> properties, Map<String, String> tags) throws Exception {
        boolean ofHeaders = type.equals(ConverterType.HEADER.getName());
        Object plugin = ofHeaders
                ? plugins.make(reference, HeaderConverter.class)
                : plugins.make(reference, Converter.class);
        ClassLoader loader = plugins.loader(reference);
        PluginMetricsImpl metrics = Threads.with(loader, () -> {
            if (plugin instanceof HeaderConverter converter && ofHeaders) {
                Map<String, String> given = new HashMap<>(properties);
                given.put(ConverterConfig.TYPE_CONFIG, type);
                converter.configure(given);
            } else {
                ((Converter) plugin).configure(properties, type.equals(ConverterType.KEY.getName()));
            }
            return registries.give(plugin, tags);
        });
        int number = count.incrementAndGet();
        converters.put(number, new Made(plugin, loader, metrics, new RecordDecoder(), new RecordEncoder()));
        return out -> out.packInt(number);
    }

    /**
     * Converts the values of records to bytes. Returns bytes, nil or an error for each, and the headers of all records if
     * the converter has changed any, otherwise nil.
     */
    Channel.Content fromConnect(int number, byte[] records) throws Exception {
        Made made = made(number);
        Converter converter = (Converter) made.plugin();
        return Threads.with(made.loader(), () -> {
            List<Object> answers = new ArrayList<>();
            List<RecordHeaders> after = new ArrayList<>();
            boolean isChanged = false;
            for (ConnectRecord<?> record : made.decoder().records(records)) {
                RecordHeaders headers = kafkaHeaders(record);
                RecordHeaders before = new RecordHeaders(headers);
                try {
                    answers.add(converter.fromConnectData(record.topic(), headers, record.valueSchema(), record.value()));
                    isChanged = isChanged || !headers.equals(before);
                    after.add(headers);
                } catch (Exception e) {
                    answers.add(e);
                    after.add(before);
                }
            }
            boolean sendsHeaders = isChanged;
            return out -> {
                out.packArrayHeader(2);
                packAnswers(out, answers);
                if (sendsHeaders) {
                    packHeaders(out, after);
                } else {
                    out.packNil();
                }
            };
        });
    }

    private static RecordHeaders kafkaHeaders(ConnectRecord<?> record) {
        RecordHeaders headers = new RecordHeaders();
        if (!record.headers().isEmpty()) {
            record.headers().forEach(header -> headers.add(header.key(), (byte[]) header.value()));
        }
        return headers;
    }

    private static void packAnswers(MessagePacker out, List<Object> answers) throws IOException {
        out.packArrayHeader(answers.size());
        for (Object answer : answers) {
            if (answer instanceof Throwable error) {
                Errors.packOfRecord(out, error);
            } else {
                packBytes(out, (byte[]) answer);
            }
        }
    }

    private static void packBytes(MessagePacker out, byte[] content) throws IOException {
        if (content == null) {
            out.packNil();
        } else {
            out.packBinaryHeader(content.length);
            out.writePayload(content);
        }
    }

    private static void packHeaders(MessagePacker out, List<RecordHeaders> all) throws IOException {
        out.packArrayHeader(all.size());
        for (RecordHeaders headers : all) {
            Header[] each = headers.toArray();
            out.packArrayHeader(each.length);
            for (Header header : each) {
                out.packArrayHeader(2);
                Channel.packText(out, header.key());
                packBytes(out, header.value());
            }
        }
    }

    /**
     * Converts bytes to values. Returns rows, their columns and errors in the form of {@link RowResults}.
     *
     * @param message the topic, the bytes of each record, and the headers of each record or nil
     */
    Channel.Content toConnect(int number, byte[] message) throws Exception {
        Made made = made(number);
        Converter converter = (Converter) made.plugin();
        return Threads.with(made.loader(), () -> {
            try (MessageUnpacker in = MessagePack.newDefaultUnpacker(message)) {
                in.unpackArrayHeader();
                String topic = in.unpackString();
                List<byte[]> content = new ArrayList<>();
                int records = in.unpackArrayHeader();
                for (int i = 0; i < records; i++) {
                    content.add(unpackBytes(in));
                }
                boolean hasHeaders = !in.tryUnpackNil();
                if (hasHeaders) {
                    in.unpackArrayHeader();
                }
                RowResults results = new RowResults(records);
                for (int row = 0; row < records; row++) {
                    RecordHeaders headers = hasHeaders ? unpackHeaders(in) : new RecordHeaders();
                    try {
                        results.add(row, holding(converter.toConnectData(topic, headers, content.get(row))));
                    } catch (Exception e) {
                        results.fail(row, e);
                    }
                }
                return results.content(made.encoder());
            }
        });
    }

    private static byte[] unpackBytes(MessageUnpacker in) throws IOException {
        return in.tryUnpackNil() ? null : in.readPayload(in.unpackBinaryHeader());
    }

    private static RecordHeaders unpackHeaders(MessageUnpacker in) throws IOException {
        RecordHeaders headers = new RecordHeaders();
        int count = in.unpackArrayHeader();
        for (int i = 0; i < count; i++) {
            in.unpackArrayHeader();
            headers.add(in.unpackString(), unpackBytes(in));
        }
        return headers;
    }

    private static ConnectRecord<?> holding(SchemaAndValue value) {
        SchemaAndValue given = value == null ? SchemaAndValue.NULL : value;
        return new SourceRecord(Map.of(), Map.of(), null, null, given.schema(), given.value());
    }

    /** Converts the value of one record to the bytes of a header. */
    Channel.Content fromHeader(int number, String name, byte[] records) throws Exception {
        Made made = made(number);
        HeaderConverter converter = (HeaderConverter) made.plugin();
        return Threads.with(made.loader(), () -> {
            List<Object> answers = new ArrayList<>();
            for (ConnectRecord<?> record : made.decoder().records(records)) {
                try {
                    answers.add(converter.fromConnectHeader(record.topic(), name, record.valueSchema(), record.value()));
                } catch (Exception e) {
                    answers.add(e);
                }
            }
            return out -> packAnswers(out, answers);
        });
    }

    /** Converts the bytes of one header; returns the same form as {@link #toConnect}. */
    Channel.Content toHeader(int number, String topic, String name, byte[] content) throws Exception {
        Made made = made(number);
        HeaderConverter converter = (HeaderConverter) made.plugin();
        return Threads.with(made.loader(), () -> {
            RowResults results = new RowResults(1);
            try {
                results.add(0, holding(converter.toConnectHeader(topic, name, content)));
            } catch (Exception e) {
                results.fail(0, e);
            }
            return results.content(made.encoder());
        });
    }

    /** Closes a converter; its number becomes invalid. */
    Channel.Content close(int number) throws Exception {
        Made made = converters.remove(number);
        if (made != null) {
            try {
                Threads.with(made.loader(), () -> {
                    if (made.plugin() instanceof AutoCloseable closeable) { // older converters are not
                        closeable.close();
                    }
                    return null;
                });
            } finally {
                PluginRegistries.close(made.metrics());
            }
        }
        return Channel.NOTHING;
    }

    private Made made(int number) {
        Made made = converters.get(number);
        if (made == null) {
            throw new IllegalStateException("there is no converter " + number);
        }
        return made;
    }
}
