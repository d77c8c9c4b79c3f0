package dev.penstock.probe;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;

/** A sink whose behaviour is chosen by properties. */
public class ProbeSink extends SinkConnector {
    private Map<String, String> properties;

    @Override
    public String version() {
        return "1.0.0";
    }

    @Override
    public void start(Map<String, String> given) {
        properties = given;
        if (context() == null) {
            throw new IllegalStateException("no context");
        }
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ProbeSinkTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        List<Map<String, String>> configs = new ArrayList<>();
        for (int i = 0; i < maxTasks; i++) {
            configs.add(properties);
        }
        return configs;
    }

    @Override
    public void stop() {}

    @Override
    public ConfigDef config() {
        return new ConfigDef()
                .define("out", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "The file that gets the records.");
    }

    @Override
    public Config validate(Map<String, String> given) {
        new Actions(given).at("validate");
        return super.validate(given);
    }

    @Override
    public boolean alterOffsets(Map<String, String> given, Map<TopicPartition, Long> offsets) {
        new Actions(given).at("alterOffsets");
        return true;
    }
}
