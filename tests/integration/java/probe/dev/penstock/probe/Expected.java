package dev.penstock.probe;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

/** Prints what Kafka Connect's own converters make of a data set: topic, key, value and headers, one record a line. */
public final class Expected {
    private Expected() {}

    public static void main(String[] arguments) {
        JsonConverter keys = new JsonConverter();
        keys.configure(Map.of("schemas.enable", arguments[3]), true);
        JsonConverter values = new JsonConverter();
        values.configure(Map.of("schemas.enable", arguments[3]), false);
        SimpleHeaderConverter headers = new SimpleHeaderConverter();
        for (SourceRecord record : Data.named(arguments[0], arguments[1], Long.parseLong(arguments[2]))) {
            StringBuilder line = new StringBuilder(record.topic());
            line.append('\t').append(hex(() -> keys.fromConnectData(record.topic(), record.keySchema(), record.key())));
            line.append('\t').append(hex(() -> values.fromConnectData(record.topic(), record.valueSchema(), record.value())));
            for (Header header : record.headers()) {
                line.append('\t').append(header.key()).append('=').append(hex(() ->
                        headers.fromConnectHeader(record.topic(), header.key(), header.schema(), header.value())));
            }
            System.out.println(line);
        }
    }

    private interface Work {
        byte[] run();
    }

    private static String hex(Work work) {
        try {
            byte[] bytes = work.run();
            return bytes == null ? "null" : HexFormat.of().formatHex(bytes);
        } catch (RuntimeException e) {
            Throwable last = e;
            while (last.getCause() != null) {
                last = last.getCause();
            }
            return "error " + last.getMessage().replaceAll("\\s+", " ");
        }
    }
}
