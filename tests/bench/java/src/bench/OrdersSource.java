package bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Makes records of ten fields as fast as it can: the first one at once, the others when a file is there. */
public final class OrdersSource extends SourceConnector {
    private Map<String, String> properties;

    @Override
    public void start(Map<String, String> properties) {
        this.properties = properties;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return OrdersTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return List.of(properties);
    }

    @Override
    public void stop() {}

    @Override
    public ConfigDef config() {
        return new ConfigDef()
                .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "Where to.")
                .define("count", ConfigDef.Type.LONG, ConfigDef.Importance.HIGH, "How many records follow the first.")
                .define("go", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "The file that they wait for.");
    }

    @Override
    public String version() {
        return "1.0.0";
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> properties) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    /** The only task. */
    public static final class OrdersTask extends SourceTask {
        private static final int BATCH = 2_000;
        private static final Map<String, String> PARTITION = Map.of("orders", "all");
        private static final Schema SCHEMA = SchemaBuilder.struct()
                .name("bench.Order")
                .field("id", Schema.INT64_SCHEMA)
                .field("customer", Schema.STRING_SCHEMA)
                .field("country", Schema.STRING_SCHEMA)
                .field("amount", Schema.FLOAT64_SCHEMA)
                .field("quantity", Schema.INT32_SCHEMA)
                .field("paid", Schema.BOOLEAN_SCHEMA)
                .field("created", Schema.INT64_SCHEMA)
                .field("note", Schema.OPTIONAL_STRING_SCHEMA)
                .field("channel", Schema.STRING_SCHEMA)
                .field("discount", Schema.OPTIONAL_FLOAT64_SCHEMA)
                .build();

        private String topic;
        private long count;
        private Path go;
        private long next;

        @Override
        public void start(Map<String, String> properties) {
            topic = properties.get("topic");
            count = Long.parseLong(properties.get("count"));
            go = Path.of(properties.get("go"));
            Map<String, Object> offset = context.offsetStorageReader().offset(PARTITION);
            next = offset == null ? 0 : (Long) offset.get("next");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            if (next > count || (next > 0 && !Files.exists(go))) {
                Thread.sleep(20);
                return null;
            }
            long end = next == 0 ? 1 : Math.min(count + 1, next + BATCH);
            List<SourceRecord> records = new ArrayList<>();
            for (; next < end; next++) {
                Struct value = new Struct(SCHEMA)
                        .put("id", next)
                        .put("customer", "customer-" + next * 7919 % 100_003)
                        .put("country", next % 3 == 0 ? "DE" : "NL")
                        .put("amount", next * 31 % 1_000_000 + 0.25)
                        .put("quantity", (int) (next % 100))
                        .put("paid", next % 2 == 0)
                        .put("created", 1_700_000_000_000L + next)
                        .put("note", next % 4 == 0 ? null : "the quick brown fox " + next % 1000)
                        .put("channel", "web")
                        .put("discount", next % 10 == 0 ? 0.5 : null);
                records.add(new SourceRecord(PARTITION, Map.of("next", next + 1), topic, SCHEMA, value));
            }
            return records;
        }

        @Override
        public void stop() {}

        @Override
        public String version() {
            return "1.0.0";
        }
    }
}
