package dev.penstock.probe;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.source.SourceRecord;

/** Lists of records, each of one poll. */
final class Data {
    private static final Map<String, ?> PARTITION = Map.of("p", "0");
    private static final Map<String, ?> OFFSET = Map.of("n", 1L);

    private Data() {}

    static List<SourceRecord> named(String name, String topic, long count) {
        return switch (name) {
            case "logical" -> logical(topic);
            case "containers" -> containers(topic);
            case "mixed" -> mixed(topic);
            case "schemaless" -> schemaless(topic);
            case "numbers" -> numbers(topic);
            case "surrogates" -> surrogates(topic);
            case "absent" -> absent(topic);
            case "offsets" -> offsets(topic);
            case "version" -> List.of(record(topic, Schema.STRING_SCHEMA, new ProbeSource().version()));
            case "anywhere" -> List.of(new SourceRecord(null, null, topic, null, Schema.STRING_SCHEMA, "v"));
            case "slice" -> List.of(record(topic, Schema.BYTES_SCHEMA, ByteBuffer.wrap(new byte[] {9, 1, 2, 9}, 1, 2)));
            case "headers" -> headers(topic);
            case "schemas" -> schemas(topic, count);
            case "wide" -> wide(topic, count);
            case "large" -> large(topic, count);
            case "list" -> list(topic, count);
            case "builders" -> builders(topic);
            case "deep" -> List.of(record(topic, null, nested(count)));
            case "poison" -> poison(topic, count);
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static SourceRecord record(String topic, Schema schema, Object value) {
        return new SourceRecord(PARTITION, OFFSET, topic, null, schema, value);
    }

    private static List<SourceRecord> logical(String topic) {
        Schema schema = SchemaBuilder.struct()
                .name("logical")
                .field("decimal", Decimal.schema(2))
                .field("negative", Decimal.builder(-3).optional().build())
                .field("date", org.apache.kafka.connect.data.Date.SCHEMA)
                .field("time", Time.SCHEMA)
                .field("timestamp", Timestamp.SCHEMA)
                .field("bytes", Schema.BYTES_SCHEMA)
                .field("buffer", Schema.BYTES_SCHEMA)
                .field("float32", Schema.FLOAT32_SCHEMA)
                .field("float64", Schema.FLOAT64_SCHEMA)
                .field("int8", Schema.INT8_SCHEMA)
                .field("int16", Schema.INT16_SCHEMA)
                .field("absent", Schema.OPTIONAL_STRING_SCHEMA)
                .field("fallback", SchemaBuilder.int32().optional().defaultValue(7).build())
                .build();
        ByteBuffer buffer = ByteBuffer.wrap(new byte[] {1, 2});
        return List.of(record(topic, schema, new Struct(schema)
                .put("decimal", new BigDecimal("-123456789012345678901234567890.12"))
                .put("negative", new BigDecimal(new BigInteger("12"), -3))
                .put("date", new Date(86_400_000L * 19_000))
                .put("time", new Date(3_723_004L))
                .put("timestamp", new Date(-1L))
                .put("bytes", new byte[] {0, (byte) 255})
                .put("buffer", buffer)
                .put("float32", 0.1f)
                .put("float64", 1e300)
                .put("int8", (byte) -128)
                .put("int16", (short) 32767)));
    }

    private static List<SourceRecord> containers(String topic) {
        Schema inner = SchemaBuilder.struct().optional().field("x", Decimal.builder(1).build()).build();
        Schema schema = SchemaBuilder.struct()
                .field("inner", inner)
                .field("list", SchemaBuilder.array(inner).build())
                .field("nested", SchemaBuilder.array(SchemaBuilder.array(Schema.OPTIONAL_INT32_SCHEMA).build()).build())
                .field("byNumber", SchemaBuilder.map(Schema.INT32_SCHEMA, Schema.STRING_SCHEMA).build())
                .field("byText", SchemaBuilder.map(Schema.STRING_SCHEMA, inner).optional().build())
                .build();
        Struct one = new Struct(inner).put("x", new BigDecimal("1.5"));
        Map<Integer, String> byNumber = new LinkedHashMap<>();
        byNumber.put(2, "b");
        byNumber.put(1, "a");
        List<Object> list = new ArrayList<>(List.of(one));
        list.add(null);
        List<Integer> some = new ArrayList<>();
        some.add(1);
        some.add(null);
        Struct full = new Struct(schema)
                .put("inner", one)
                .put("list", list)
                .put("nested", List.of(some, List.of()))
                .put("byNumber", byNumber)
                .put("byText", Map.of("k", one));
        Struct bare = new Struct(schema)
                .put("list", List.of())
                .put("nested", List.of())
                .put("byNumber", Map.of());
        return List.of(record(topic, schema, full), record(topic, schema, bare));
    }

    private static List<SourceRecord> mixed(String topic) {
        Schema first = SchemaBuilder.struct().name("first").field("a", Schema.INT32_SCHEMA).build();
        Schema second = SchemaBuilder.struct().name("second").field("b", Schema.STRING_SCHEMA).build();
        List<SourceRecord> records = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            boolean even = i % 2 == 0;
            Schema schema = even ? first : second;
            Struct value = even ? new Struct(first).put("a", i) : new Struct(second).put("b", "n" + i);
            records.add(new SourceRecord(
                    PARTITION, OFFSET, topic + (even ? "" : "-odd"), null, Schema.INT64_SCHEMA, (long) i, schema, value));
        }
        return records;
    }

    private static List<SourceRecord> schemaless(String topic) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("int", 1);
        map.put("short", (short) 2);
        map.put("byte", (byte) 3);
        map.put("long", 4L);
        map.put("float", 0.1f);
        map.put("double", 0.1);
        map.put("bool", true);
        map.put("text", "t");
        map.put("none", null);
        map.put("list", List.of(1, "two", List.of()));
        map.put("bytes", new byte[] {1, 2});
        List<SourceRecord> records = new ArrayList<>();
        for (Object value : new Object[] {map, 1, (short) 2, (byte) 3, 0.1f, 0.1, "t", false, List.of(1L), new byte[] {7}}) {
            records.add(record(topic, null, value));
        }
        Map<Object, Object> byNumber = new LinkedHashMap<>();
        byNumber.put(5, "five");
        records.add(record(topic, null, byNumber));
        return records;
    }

    private static List<SourceRecord> numbers(String topic) {
        List<SourceRecord> records = new ArrayList<>();
        for (float number : new float[] {0.1f, 1e10f, 1.0e-5f, Float.MAX_VALUE, -0.0f, 16777216f, Float.NaN}) {
            records.add(record(topic, Schema.FLOAT32_SCHEMA, number));
        }
        for (double number : new double[] {0.1, 1e7, 1e21, 1e-5, Double.MIN_VALUE, Double.POSITIVE_INFINITY}) {
            records.add(record(topic, Schema.FLOAT64_SCHEMA, number));
        }
        for (long number : new long[] {Long.MIN_VALUE, Long.MAX_VALUE}) {
            records.add(record(topic, Schema.INT64_SCHEMA, number));
        }
        return records;
    }

    private static List<SourceRecord> surrogates(String topic) {
        return List.of(
                record(topic, Schema.STRING_SCHEMA, "a\ud83d\ude00b"),
                record(topic, Schema.STRING_SCHEMA, "nul\u0000\u2028\"\\/<é"),
                record(topic, Schema.STRING_SCHEMA, "a\ud83d"),
                record(topic, Schema.STRING_SCHEMA, "\ude00b"));
    }

    private static List<SourceRecord> absent(String topic) {
        return List.of(
                new SourceRecord(PARTITION, OFFSET, topic, 0, Schema.STRING_SCHEMA, "gone", null, null),
                new SourceRecord(PARTITION, OFFSET, topic, 0, null, null, Schema.OPTIONAL_STRING_SCHEMA, null),
                new SourceRecord(null, null, topic, 0, null, null, Schema.STRING_SCHEMA, "no partition"),
                new SourceRecord(PARTITION, null, topic, 0, null, null, Schema.STRING_SCHEMA, "no offset"),
                new SourceRecord(PARTITION, OFFSET, topic, 0, null, null, Schema.STRING_SCHEMA, "last"));
    }

    private static List<SourceRecord> offsets(String topic) {
        Map<String, Object> offset = new LinkedHashMap<>();
        offset.put("float", 0.1f);
        offset.put("double", 1e10);
        offset.put("int", 5);
        offset.put("n", 1L);
        offset.put("none", null);
        offset.put("text", "é");
        offset.put("bool", true);
        return List.of(new SourceRecord(PARTITION, offset, topic, null, Schema.STRING_SCHEMA, "v"));
    }

    private static List<SourceRecord> headers(String topic) {
        ConnectHeaders headers = new ConnectHeaders();
        headers.addString("text", "a");
        headers.addInt("int", 1);
        headers.addString("text", "b");
        headers.addBytes("bytes", new byte[] {1});
        headers.addDecimal("decimal", new BigDecimal("1.50"));
        headers.add("bare", 2.5f, null);
        SourceRecord with = new SourceRecord(
                PARTITION, OFFSET, topic, null, null, null, Schema.STRING_SCHEMA, "with", 1_234L, headers);
        return List.of(with, record(topic, Schema.STRING_SCHEMA, "without"));
    }

    private static List<SourceRecord> schemas(String topic, long count) {
        List<SourceRecord> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Schema schema = SchemaBuilder.struct().field("f" + i, Schema.INT32_SCHEMA).build();
            records.add(record(topic, schema, new Struct(schema).put("f" + i, i)));
        }
        return records;
    }

    private static List<SourceRecord> wide(String topic, long count) {
        SchemaBuilder builder = SchemaBuilder.struct();
        for (int column = 0; column < 50; column++) {
            builder.field("c" + column, column % 2 == 0 ? Schema.INT64_SCHEMA : Schema.STRING_SCHEMA);
        }
        Schema schema = builder.build();
        List<SourceRecord> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Struct row = new Struct(schema);
            for (int column = 0; column < 50; column++) {
                row.put("c" + column, column % 2 == 0 ? (Object) (long) i : "v" + i % 100);
            }
            records.add(record(topic, schema, row));
        }
        return records;
    }

    private static List<SourceRecord> large(String topic, long count) {
        return List.of(
                record(topic, Schema.STRING_SCHEMA, "small"),
                record(topic, Schema.STRING_SCHEMA, "x".repeat((int) count)),
                record(topic, Schema.STRING_SCHEMA, "small too"));
    }

    private static List<SourceRecord> list(String topic, long count) {
        List<SourceRecord> records = new ArrayList<>();
        for (long i = 0; i < count; i++) {
            records.add(new SourceRecord(PARTITION, Map.of("n", i + 1), topic, null, Schema.STRING_SCHEMA, "0:" + i));
        }
        return Collections.unmodifiableList(records);
    }

    /** One record, in the middle, has no field "a"; the others have. */
    private static List<SourceRecord> poison(String topic, long count) {
        List<SourceRecord> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add(record(topic, null, i == count / 2 ? "secret poison" : Map.of("a", i)));
        }
        return records;
    }

    /** Equal schemas, of which all but the first are not built. */
    private static List<SourceRecord> builders(String topic) {
        List<SourceRecord> records = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            SchemaBuilder builder = SchemaBuilder.struct().name("unbuilt").field("a", Schema.INT32_SCHEMA);
            Schema schema = i == 0 ? builder.build() : builder;
            records.add(record(topic, schema, new Struct(schema).put("a", i)));
        }
        return records;
    }

    private static List<?> nested(long depth) {
        List<?> value = List.of();
        for (long i = 0; i < depth; i++) {
            value = List.of(value);
        }
        return value;
    }
}
