package dev.penstock.host;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.errors.RetriableException;
import org.msgpack.core.MessagePacker;

/** Exceptions as messages: a kind that determines the reaction, the messages of the causes, and the stack trace for the log. */
final class Errors {
    private static final int MOST_CAUSES = 8;

    private Errors() {}

    static void pack(MessagePacker out, Throwable thrown) throws IOException {
        Throwable error = thrown instanceof InvocationTargetException && thrown.getCause() != null ? thrown.getCause() : thrown;
        List<String> causes = new ArrayList<>();
        for (Throwable cause = error; cause != null && causes.size() < MOST_CAUSES; cause = cause.getCause()) {
            String message = cause.getMessage();
            causes.add(cause.getClass().getSimpleName() + (message == null || message.isBlank() ? "" : ": " + message.strip()));
        }
        out.packArrayHeader(3);
        out.packString(kind(error));
        out.packArrayHeader(causes.size());
        for (String cause : causes) {
            Channel.packText(out, cause);
        }
        Channel.packText(out, trace(error));
    }

    /** Packs the parts of an exception that go into a dead letter: its class, its message and the stack trace. */
    static void packThrown(MessagePacker out, Throwable error) throws IOException {
        out.packArrayHeader(3);
        Channel.packTextOrNil(out, error == null ? null : error.getClass().getName());
        Channel.packTextOrNil(out, error == null ? null : error.getMessage());
        Channel.packTextOrNil(out, error == null ? null : trace(error));
    }

    /**
     * Packs why a record failed: whether it may be retried, and the parts of the exception that go into a dead letter. Kafka
     * Connect retries a record only for Connect's RetriableException.
     */
    static void packOfRecord(MessagePacker out, Throwable error) throws IOException {
        out.packArrayHeader(2);
        out.packString(error instanceof org.apache.kafka.connect.errors.RetriableException ? "retriable" : "fatal");
        packThrown(out, error);
    }

    private static String trace(Throwable error) {
        StringWriter trace = new StringWriter();
        error.printStackTrace(new PrintWriter(trace));
        return trace.toString();
    }

    /** Returns the kind. Both of Kafka's retriable exceptions count, as in Kafka Connect's source tasks. */
    static String kind(Throwable error) {
        if (error instanceof org.apache.kafka.connect.errors.RetriableException || error instanceof RetriableException) {
            return "retriable";
        }
        if (error instanceof RecordDecoder.UnreadableException) {
            return "data";
        }
        return error instanceof UnsupportedOperationException ? "unsupported" : "fatal";
    }
}
