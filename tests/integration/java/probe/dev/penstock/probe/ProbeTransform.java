package dev.penstock.probe;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** A transform, which Penstock finds and does not run. */
public class ProbeTransform implements Transformation<SourceRecord> {
    @Override
    public SourceRecord apply(SourceRecord record) {
        return record;
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void close() {}

    @Override
    public void configure(Map<String, ?> given) {}
}
