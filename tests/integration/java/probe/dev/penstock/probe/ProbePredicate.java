package dev.penstock.probe;

import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Whether the value of a record, or with "version" its own version, contains a match of "pattern"; it fails with values that contain "poison". */
public class ProbePredicate<R extends ConnectRecord<R>> implements Predicate<R>, Versioned, Monitorable {
    private Pattern pattern;
    private boolean ofVersion;
    private Sensor tested;

    @Override
    public String version() {
        return new ProbeSource().version();
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
                .define("pattern", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "A pattern.")
                .define("version", ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.LOW, "Whether it looks at its version.");
    }

    @Override
    public boolean test(R record) {
        tested.record();
        String value = String.valueOf(record.value());
        if (value.contains("poison")) {
            throw new DataException("this record cannot be tested");
        }
        return pattern.matcher(ofVersion ? version() : value).find();
    }

    @Override
    public void configure(Map<String, ?> given) {
        pattern = Pattern.compile((String) given.get("pattern"));
        ofVersion = "true".equals(given.get("version"));
    }

    @Override
    public void withPluginMetrics(PluginMetrics metrics) {
        tested = ProbeMetrics.counter(metrics, "calls");
    }

    @Override
    public void close() {}
}
