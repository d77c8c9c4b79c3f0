package dev.penstock.probe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.SourceRecord;

/** A probe whose tasks note in the file "notes" where each record is in Kafka: {@code value topic-partition offset}. */
public class NotifiedSource extends ProbeSource {
    @Override
    public Class<? extends Task> taskClass() {
        return NotifiedTask.class;
    }

    /** Its task. */
    public static class NotifiedTask extends ProbeTask {
        private Path notes;

        @Override
        public void start(Map<String, String> given) {
            super.start(given);
            notes = Path.of(given.get("notes"));
        }

        @Override
        public void commitRecord(SourceRecord record, RecordMetadata metadata) {
            String place = metadata == null
                    ? "nowhere"
                    : metadata.topic() + "-" + metadata.partition() + " " + metadata.offset() + (metadata.hasOffset() ? "" : "?");
            try {
                Files.writeString(
                        notes, record.value() + " " + place + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
