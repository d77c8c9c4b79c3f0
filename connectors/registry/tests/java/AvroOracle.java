import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Prints what Java's AvroData and Avro make of each case, one JSON object a line.
 *
 * A case to write has an envelope of JsonConverter; the answer has the Avro schema and the bytes in hex. A case to read has
 * an Avro schema and a value in Avro's JSON; the answer has the bytes and the envelope. Either may fail: "error".
 */
public final class AvroOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            var one = (ObjectNode) JSON.readTree(line);
            try {
                answer(one);
            } catch (Exception e) {
                one.put("error", e.toString());
            }
            System.out.println(JSON.writeValueAsString(one));
        }
    }

    private static void answer(ObjectNode one) throws Exception {
        var config = new AvroDataConfig(Map.of(AvroDataConfig.ENHANCED_AVRO_SCHEMA_SUPPORT_CONFIG, one.path("enhanced").asBoolean()));
        var data = new AvroData(config);
        var json = new JsonConverter();
        json.configure(Map.of("schemas.enable", "true"), false);
        if (one.has("envelope")) {
            SchemaAndValue given = json.toConnectData("t", JSON.writeValueAsBytes(one.get("envelope")));
            Schema avro = data.fromConnectSchema(given.schema());
            Object value = data.fromConnectData(given.schema(), given.value());
            if (value instanceof io.apicurio.registry.serde.avro.NonRecordContainer container) {
                value = container.getValue();
            }
            one.put("avro", avro.toString());
            one.put("hex", hex(avro, value));
        } else {
            Schema avro = new Schema.Parser().parse(one.get("avro").asText());
            var decoder = DecoderFactory.get().jsonDecoder(avro, JSON.writeValueAsString(one.get("datum")));
            Object value = new GenericDatumReader<>(avro).read(null, decoder);
            one.put("hex", hex(avro, value));
            SchemaAndValue read = data.toConnectData(avro, value);
            one.set("envelope", JSON.readTree(json.fromConnectData("t", read.schema(), read.value())));
        }
    }

    private static String hex(Schema schema, Object value) throws Exception {
        var bytes = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
        new GenericDatumWriter<>(schema).write(value, encoder);
        encoder.flush();
        return HexFormat.of().formatHex(bytes.toByteArray());
    }
}
