package dev.penstock.host;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.msgpack.value.ArrayValue;
import org.msgpack.value.MapValue;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** The arguments of a request. */
final class Arguments {
    private final Map<Value, Value> given;

    Arguments(MapValue given) {
        this.given = given.map();
    }

    private Value get(String name) {
        Value value = given.get(ValueFactory.newString(name));
        if (value == null) {
            throw new IllegalArgumentException("the request has no argument " + name);
        }
        return value;
    }

    int number(String name) {
        return get(name).asIntegerValue().asInt();
    }

    boolean flag(String name) {
        return get(name).asBooleanValue().getBoolean();
    }

    String text(String name) {
        return get(name).asStringValue().asString();
    }

    String textOrNull(String name) {
        return get(name).isNilValue() ? null : text(name);
    }

    /** The location of a plugin and the name of its class. */
    Plugins.Reference plugin() {
        return new Plugins.Reference(text("location"), text("class"));
    }

    Map<String, String> properties() {
        return map("properties");
    }

    /** The tags of a plugin's metrics. */
    Map<String, String> tags() {
        return map("tags");
    }

    /** Properties of a task's own Kafka clients. */
    Map<String, String> clients() {
        return map("clients");
    }

    private Map<String, String> map(String name) {
        Map<String, String> found = new HashMap<>();
        get(name).asMapValue().map().forEach((key, value) ->
                found.put(key.asStringValue().asString(), value.isNilValue() ? null : value.asStringValue().asString()));
        return found;
    }

    Set<String> texts(String name) {
        Set<String> found = new LinkedHashSet<>();
        for (Value each : get(name).asArrayValue()) {
            found.add(each.asStringValue().asString());
        }
        return found;
    }

    byte[] bytes(String name) {
        return get(name).asBinaryValue().asByteArray();
    }

    byte[] bytesOrNull(String name) {
        return get(name).isNilValue() ? null : bytes(name);
    }

    /** Kafka partitions. */
    List<TopicPartition> partitions() {
        List<TopicPartition> found = new ArrayList<>();
        for (Value each : get("partitions").asArrayValue()) {
            found.add(partition(each.asArrayValue()));
        }
        return found;
    }

    /** Kafka partitions with their offsets; null for no offset. */
    Map<TopicPartition, Long> positions() {
        Map<TopicPartition, Long> found = new LinkedHashMap<>();
        for (Value each : get("positions").asArrayValue()) {
            Value offset = each.asArrayValue().get(2);
            found.put(partition(each.asArrayValue()), offset.isNilValue() ? null : offset.asIntegerValue().asLong());
        }
        return found;
    }

    private static TopicPartition partition(ArrayValue of) {
        return new TopicPartition(of.get(0).asStringValue().asString(), of.get(1).asIntegerValue().asInt());
    }

    /** Source partitions with their new offsets; null removes an offset. */
    Map<Map<String, ?>, Map<String, ?>> offsets() {
        Map<Map<String, ?>, Map<String, ?>> found = new LinkedHashMap<>();
        for (Value pair : get("offsets").asArrayValue()) {
            found.put(Offsets.map(pair.asArrayValue().get(0)), Offsets.map(pair.asArrayValue().get(1)));
        }
        return found;
    }
}
