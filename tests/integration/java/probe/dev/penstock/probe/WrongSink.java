package dev.penstock.probe;

import org.apache.kafka.connect.connector.Task;

/** A sink whose task is that of a source. */
public class WrongSink extends ProbeSink {
    @Override
    public Class<? extends Task> taskClass() {
        return ProbeTask.class;
    }
}
