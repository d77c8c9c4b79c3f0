import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.connect.errors.ConnectException;

import java.util.regex.Pattern;

/** The form of what is expected of a case: an error with its phase, or a result. */
final class Answer {
    private static final JsonNodeFactory F = JsonNodeFactory.instance;
    private static final Pattern IDENTITY = Pattern.compile("@[0-9a-f]{5,8}\\b");

    private Answer() { }

    interface Work<T> {
        T run() throws Throwable;
    }

    /** Ends a case with the error of a phase. */
    static final class Failed extends Exception {
        private static final long serialVersionUID = 1;

        final transient ObjectNode answer;

        Failed(String phase, Throwable error) {
            super(error);
            answer = error(phase, error);
        }
    }

    static <T> T in(String phase, Work<T> work) throws Failed {
        try {
            return work.run();
        } catch (Throwable t) {
            throw new Failed(phase, t);
        }
    }

    static ObjectNode object() {
        return F.objectNode();
    }

    static ObjectNode error(String phase, Throwable thrown) {
        Throwable t = thrown;
        while (isWrapper(t)) t = t.getCause();
        ObjectNode e = object();
        e.put("phase", phase);
        e.put("class", t.getClass().getSimpleName());
        e.put("message", t.getMessage() == null ? null : IDENTITY.matcher(t.getMessage()).replaceAll("@HASH"));
        ObjectNode out = object();
        out.set("error", e);
        return out;
    }

    /** The runtime wraps what a transform's configure throws; the cases carry the original class. */
    private static boolean isWrapper(Throwable t) {
        return t.getClass() == ConnectException.class && t.getCause() != null
                && t.getCause().toString().equals(t.getMessage());
    }
}
