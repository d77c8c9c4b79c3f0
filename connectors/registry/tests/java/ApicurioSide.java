import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.utils.converter.AvroConverter;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Apicurio's own AvroConverter, with the registry that a request names: one JSON object a line, and one as answer.
 *
 * A request to write has an envelope of JsonConverter; the answer has the bytes and the headers, in hex. A request to read has
 * these; the answer has the envelope.
 */
public final class ApicurioSide {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer(JSON.readTree(line), answer);
            } catch (Exception e) {
                answer.put("error", e.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static void answer(JsonNode asked, ObjectNode answer) throws Exception {
        Map<String, Object> config = new HashMap<>();
        asked.get("config").fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
        var json = new JsonConverter();
        json.configure(Map.of("schemas.enable", "true"), false);
        String topic = asked.get("topic").asText();
        boolean isKey = asked.get("key").asBoolean();
        var headers = new RecordHeaders();
        var converter = new AvroConverter<Object>();
        converter.configure(config, isKey);
        if (asked.has("envelope")) {
            SchemaAndValue given = json.toConnectData("t", JSON.writeValueAsBytes(asked.get("envelope")));
            answer.put("data", HEX.formatHex(converter.fromConnectData(topic, headers, given.schema(), given.value())));
            var written = answer.putArray("headers");
            headers.forEach(each -> written.addArray().add(each.key()).add(HEX.formatHex(each.value())));
        } else {
            asked.get("headers").forEach(each -> headers.add(each.get(0).asText(), HEX.parseHex(each.get(1).asText())));
            SchemaAndValue read = converter.toConnectData(topic, headers, HEX.parseHex(asked.get("data").asText()));
            answer.set("envelope", JSON.readTree(json.fromConnectData("t", read.schema(), read.value())));
        }
        converter.close();
    }
}
