import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Answers cases for as long as its input lasts: one case per line in, what is expected of it per line out, in order.
 * A case that cannot be read has the answer {"bad": why}.
 */
public final class Oracle {
    private Oracle() { }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // whatever else prints
        ObjectMapper mapper = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
        Chains chains = new Chains();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            answers.print(mapper.writeValueAsString(answer(mapper, chains, line)) + '\n');
            if (!in.ready()) answers.flush();
        }
        answers.flush();
    }

    private static ObjectNode answer(ObjectMapper mapper, Chains chains, String line) {
        try {
            JsonNode c = mapper.readTree(line);
            return Converters.isCase(c) ? Converters.expected(c) : chains.expected(c);
        } catch (Answer.Failed e) {
            return e.answer;
        } catch (Exception | StackOverflowError e) {
            return Answer.object().put("bad", e.toString());
        }
    }
}
