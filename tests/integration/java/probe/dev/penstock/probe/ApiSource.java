package dev.penstock.probe;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectorContext;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.source.TransactionContext;

/** Has and calls every method that a source has in Kafka Connect's API, and reports what became of it. */
public class ApiSource extends SourceConnector {
    static final Map<String, ?> PARTITION = Map.of("p", 0);

    private Map<String, String> properties;
    private ApiReport report;
    private boolean hasContext;
    private volatile int splits;

    @Override
    public void initialize(ConnectorContext context) {
        super.initialize(context);
        hasContext = true;
    }

    @Override
    public void initialize(ConnectorContext context, List<Map<String, String>> tasks) {
        throw new IllegalStateException("no runtime calls this");
    }

    @Override
    public void start(Map<String, String> given) {
        properties = given;
        report = new ApiReport(given);
        report.note("Connector.initialize(ConnectorContext)", hasContext ? "called" : "not called");
        report.called("Connector.start(Map)");
        report.metrics("ConnectorContext", context().pluginMetrics());
        // Nothing is committed when it is planned, and when its first task starts.
        report.works("SourceConnectorContext.offsetStorageReader()", context().offsetStorageReader().offset(PARTITION) == null);
        Thread thread = new Thread(this::ask, "probe-api");
        thread.setDaemon(true);
        thread.start();
    }

    /** Asks for new tasks, and raises an error, once a file says so. */
    private void ask() {
        try {
            while (!Files.exists(Path.of(properties.get("ask")))) {
                Thread.sleep(50);
            }
            splits++;
            context().requestTaskReconfiguration();
            report.works("ConnectorContext.requestTaskReconfiguration()", true);
            while (!Files.exists(Path.of(properties.get("raise")))) {
                Thread.sleep(50);
            }
            context().raiseError(new ConnectException("raised by the probe"));
            report.works("ConnectorContext.raiseError(Exception)", true);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void reconfigure(Map<String, String> given) {
        report.called("Connector.reconfigure(Map)");
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ApiTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        report.called("Connector.taskClass()"); // or there would be no task
        report.called("Connector.taskConfigs(int)");
        Map<String, String> task = new HashMap<>(properties);
        task.put("split", String.valueOf(splits));
        return List.of(task);
    }

    @Override
    public void stop() {
        report.called("Connector.stop()");
    }

    @Override
    public Config validate(Map<String, String> given) {
        new ApiReport(given).called("Connector.validate(Map)");
        new ApiReport(given).called("Connector.config()"); // by super.validate, and for the properties that there are
        return super.validate(given);
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("report", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "The file.");
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> given) {
        new ApiReport(given).called("SourceConnector.exactlyOnceSupport(Map)");
        return ExactlyOnceSupport.SUPPORTED;
    }

    @Override
    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> given) {
        new ApiReport(given).called("SourceConnector.canDefineTransactionBoundaries(Map)");
        return ConnectorTransactionBoundaries.SUPPORTED;
    }

    @Override
    public boolean alterOffsets(Map<String, String> given, Map<Map<String, ?>, Map<String, ?>> offsets) {
        new ApiReport(given).called("SourceConnector.alterOffsets(Map, Map)");
        return true;
    }

    @Override
    public String version() {
        return "1";
    }

    /** Its task: a record for each way to end a transaction; it reads the offset of each from the context. */
    public static class ApiTask extends SourceTask {
        private Map<String, String> properties;
        private ApiReport report;
        private SourceTaskContext given;
        private static final List<String> ENDS = List.of(
                "commitTransaction(SourceRecord)", "abortTransaction(SourceRecord)", "commitTransaction()", "abortTransaction()");

        private int sent;
        private int looked;

        @Override
        public String version() {
            if (report != null) {
                report.called("Task.version()");
            }
            return "1";
        }

        @Override
        public void initialize(SourceTaskContext context) {
            super.initialize(context);
            given = context;
        }

        @Override
        public void start(Map<String, String> found) {
            properties = found;
            report = new ApiReport(found);
            report.note("SourceTask.initialize(SourceTaskContext)", given == context && given != null ? "called" : "fails");
            report.called("SourceTask.start(Map)");
            report.called("Task.start(Map)");
            report.works("SourceTaskContext.configs()", context.configs().equals(found));
            report.works("SourceTaskContext.offsetStorageReader()", context.offsetStorageReader() != null);
            report.metrics("SourceTaskContext", context.pluginMetrics());
            report.note("SourceTaskContext.transactionContext()", context.transactionContext() == null ? "null" : "works");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            report.called("SourceTask.poll()");
            if (sent == looked && sent < ENDS.size()) {
                sent++;
                SourceRecord record = new SourceRecord(
                        PARTITION, Map.of("n", sent), properties.get("topic"), null, Schema.STRING_SCHEMA, "0:" + sent);
                end(ENDS.get(sent - 1), record);
                return List.of(record);
            }
            Map<String, Object> offset = context.offsetStorageReader().offset(PARTITION);
            if (offset != null && sent > looked && offset.equals(Map.of("n", (long) sent))) {
                report.works("TransactionContext." + ENDS.get(looked), true);
                looked++;
                report.works("OffsetStorageReader.offset(Map)", true);
                report.works(
                        "OffsetStorageReader.offsets(Collection)",
                        context.offsetStorageReader().offsets(List.of(PARTITION)).equals(Map.of(PARTITION, offset)));
            }
            Thread.sleep(50);
            return null;
        }

        private void end(String method, SourceRecord record) {
            TransactionContext transaction = context.transactionContext();
            switch (method) {
                case "commitTransaction(SourceRecord)" -> transaction.commitTransaction(record);
                case "abortTransaction(SourceRecord)" -> transaction.abortTransaction(record);
                case "commitTransaction()" -> transaction.commitTransaction();
                default -> transaction.abortTransaction();
            }
        }

        @Override
        public void commit() {
            report.called("SourceTask.commit()");
        }

        @Override
        public void commitRecord(SourceRecord record, RecordMetadata metadata) {
            if (metadata != null) { // else its transaction was aborted
                report.called("SourceTask.commitRecord(SourceRecord, RecordMetadata)");
            }
        }

        @Override
        public void stop() {
            report.called("SourceTask.stop()");
            report.called("Task.stop()");
        }
    }
}
