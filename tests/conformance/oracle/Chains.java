import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.runtime.ConnectMetrics;
import org.apache.kafka.connect.runtime.ConnectorConfig;
import org.apache.kafka.connect.runtime.TransformationStage;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.util.ConnectorTaskId;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Cases of transforms and predicates, by the runtime's own classes: ConnectorConfig validates the properties and builds
 * the stages as a worker does for a task, then every record runs through them.
 */
final class Chains {
    private final Plugins plugins;
    private final ConnectMetrics metrics;
    private int serial = 0;

    /** Stands in for the connector that the properties would name. */
    public static class Source extends SourceConnector {
        @Override public void start(Map<String, String> props) { }
        @Override public Class<? extends Task> taskClass() { return null; }
        @Override public List<Map<String, String>> taskConfigs(int maxTasks) { return List.of(); }
        @Override public void stop() { }
        @Override public ConfigDef config() { return new ConfigDef(); }
        @Override public String version() { return "1"; }
    }

    /** The same for sink records. */
    public static class Sink extends SinkConnector {
        @Override public void start(Map<String, String> props) { }
        @Override public Class<? extends Task> taskClass() { return null; }
        @Override public List<Map<String, String>> taskConfigs(int maxTasks) { return List.of(); }
        @Override public void stop() { }
        @Override public ConfigDef config() { return new ConfigDef(); }
        @Override public String version() { return "1"; }
    }

    Chains() {
        Map<String, String> worker = new HashMap<>();
        worker.put("bootstrap.servers", "localhost:9092");
        worker.put("key.converter", "org.apache.kafka.connect.json.JsonConverter");
        worker.put("value.converter", "org.apache.kafka.connect.json.JsonConverter");
        worker.put("offset.storage.file.filename", "unused");
        worker.put("plugin.discovery", "service_load");
        plugins = new Plugins(worker);
        plugins.compareAndSwapWithDelegatingLoader();
        metrics = new ConnectMetrics("oracle", new StandaloneConfig(worker), Time.SYSTEM, "none");
    }

    ObjectNode expected(JsonNode c) throws Answer.Failed {
        return c.path("kind").asText("source").equals("sink") ? run(c, Codec::sinkRecord, Sink.class)
                : run(c, Codec::sourceRecord, Source.class);
    }

    private <R extends ConnectRecord<R>> ObjectNode run(JsonNode c, Function<JsonNode, R> read, Class<?> connector)
            throws Answer.Failed {
        JsonNode input = c.get("input");
        boolean several = input.has("records");
        List<R> records = new ArrayList<>();
        if (several) input.get("records").forEach(r -> records.add(read.apply(r)));
        else records.add(read.apply(input.get("record")));
        List<TransformationStage<R>> stages = Answer.in("config", () -> stages(c.get("config"), connector));
        try {
            if (!several) return apply(stages, records.get(0));
            ObjectNode out = Answer.object();
            ArrayNode results = out.putArray("results");
            for (R r : records) results.add(apply(stages, r));
            return out;
        } finally {
            stages.forEach(TransformationStage::close);
        }
    }

    private <R extends ConnectRecord<R>> List<TransformationStage<R>> stages(JsonNode config, Class<?> connector) {
        Map<String, String> props = new HashMap<>();
        config.properties().forEach(e -> props.put(e.getKey(), e.getValue().isNull() ? null : e.getValue().asText()));
        props.putIfAbsent("name", "oracle");
        props.putIfAbsent("connector.class", connector.getName());
        return new ConnectorConfig(plugins, props)
                .transformationStages(plugins, new ConnectorTaskId("oracle-" + serial++, 0), metrics);
    }

    private static <R extends ConnectRecord<R>> ObjectNode apply(List<TransformationStage<R>> stages, R given) {
        R record = given;
        try {
            for (TransformationStage<R> stage : stages) {
                record = stage.apply(record);
                if (record == null) break;
            }
        } catch (Exception e) {
            return Answer.error("apply", e);
        }
        ObjectNode out = Answer.object();
        out.set("record", record == null ? JsonNodeFactory.instance.nullNode() : Codec.record(record));
        return out;
    }
}
