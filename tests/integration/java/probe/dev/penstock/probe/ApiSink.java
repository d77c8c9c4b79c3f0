package dev.penstock.probe;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** Has and calls every method that a sink has in Kafka Connect's API, and reports what became of it. */
public class ApiSink extends SinkConnector {
    private Map<String, String> properties;

    @Override
    public void start(Map<String, String> given) {
        properties = given;
        new ApiReport(given).metrics("ConnectorContext", context().pluginMetrics());
        if (Files.exists(Path.of(given.get("raise")))) {
            context().raiseError(new ConnectException("raised by the probe"));
        }
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ApiTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return List.of(properties);
    }

    @Override
    public void stop() {}

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("report", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "The file.");
    }

    @Override
    public boolean alterOffsets(Map<String, String> given, Map<TopicPartition, Long> offsets) {
        new ApiReport(given).called("SinkConnector.alterOffsets(Map, Map)");
        return true;
    }

    @Override
    public String version() {
        return "1";
    }

    /** Its task, for a topic of ten records and one partition: each step follows from what the one before has brought. */
    public static class ApiTask extends SinkTask {
        private enum Step { BEGUN, REWOUND, PAUSED, CALLED_AGAIN, RESUMED, REQUESTED }

        private ApiReport report;
        private SinkTaskContext given;
        private TopicPartition partition;
        private Step step = Step.BEGUN;
        private long asked;

        @Override
        public String version() {
            return "1";
        }

        @Override
        public void initialize(SinkTaskContext context) {
            super.initialize(context);
            given = context;
        }

        @Override
        public void start(Map<String, String> found) {
            report = new ApiReport(found);
            report.note("SinkTask.initialize(SinkTaskContext)", given == context && given != null ? "called" : "fails");
            report.called("SinkTask.start(Map)");
            report.works("SinkTaskContext.configs()", context.configs().equals(found));
            report.metrics("SinkTaskContext", context.pluginMetrics());
        }

        @Override
        public void open(Collection<TopicPartition> partitions) {
            report.called("SinkTask.open(Collection)");
            partition = partitions.iterator().next();
            report.works("SinkTaskContext.assignment()", context.assignment().equals(Set.copyOf(partitions)));
            context.offset(Map.of(partition, 5L));
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            report.called("SinkTask.put(Collection)");
            if (records.isEmpty()) {
                again();
                return;
            }
            SinkRecord first = records.iterator().next();
            switch (step) {
                case BEGUN -> {
                    report.works("SinkTaskContext.offset(Map)", first.kafkaOffset() == 5);
                    context.offset(partition, 0);
                    step = Step.REWOUND;
                }
                case REWOUND -> {
                    report.works("SinkTaskContext.offset(TopicPartition, long)", first.kafkaOffset() == 0);
                    report(first);
                    context.pause(partition);
                    context.offset(partition, 0);
                    context.timeout(200);
                    asked = System.nanoTime();
                    step = Step.PAUSED;
                }
                case PAUSED, CALLED_AGAIN -> report.works("SinkTaskContext.pause(TopicPartition[])", false);
                case RESUMED -> {
                    report.works("SinkTaskContext.resume(TopicPartition[])", true);
                    step = Step.REQUESTED;
                    context.requestCommit();
                }
                default -> {}
            }
        }

        private void again() {
            if (step == Step.PAUSED) { // without the timeout it would have been a second
                report.works("SinkTaskContext.timeout(long)", System.nanoTime() - asked < 900_000_000);
                step = Step.CALLED_AGAIN;
            } else if (step == Step.CALLED_AGAIN) {
                report.works("SinkTaskContext.pause(TopicPartition[])", true);
                step = Step.RESUMED;
                context.resume(partition);
            }
        }

        private void report(SinkRecord record) {
            report.works("SinkTaskContext.errantRecordReporter()", context.errantRecordReporter() != null);
            try {
                context.errantRecordReporter().report(record, new DataException("bad record")).get();
                report.works("ErrantRecordReporter.report(SinkRecord, Throwable)", true);
            } catch (InterruptedException | ExecutionException e) {
                throw new ConnectException(e);
            }
        }

        @Override
        public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            report.called("SinkTask.preCommit(Map)");
            if (step == Step.REQUESTED) { // by default it comes a minute later
                report.works("SinkTaskContext.requestCommit()", true);
            }
            return super.preCommit(new HashMap<>(offsets));
        }

        @Override
        public void flush(Map<TopicPartition, OffsetAndMetadata> offsets) {
            report.called("SinkTask.flush(Map)");
        }

        @Override
        public void close(Collection<TopicPartition> partitions) {
            report.called("SinkTask.close(Collection)");
        }

        @Override
        public void stop() {
            report.called("SinkTask.stop()");
        }
    }
}
