package dev.penstock.host;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
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
            throw new IllegalArgumentException("the request lacks " + name);
        }
        return value;
    }

    int number(String name) {
        return get(name).asIntegerValue().asInt();
    }

    String text(String name) {
        return get(name).asStringValue().asString();
    }

    /** The location of a plugin and the name of its class. */
    Plugins.Reference plugin() {
        return new Plugins.Reference(text("location"), text("class"));
    }

    Map<String, String> properties() {
        Map<String, String> found = new HashMap<>();
        get("properties").asMapValue().map().forEach((name, value) ->
                found.put(name.asStringValue().asString(), value.isNilValue() ? null : value.asStringValue().asString()));
        return found;
    }

    /** Source partitions with their new offsets; null removes one. */
    Map<Map<String, ?>, Map<String, ?>> offsets() {
        Map<Map<String, ?>, Map<String, ?>> found = new LinkedHashMap<>();
        for (Value pair : get("offsets").asArrayValue()) {
            found.put(Offsets.map(pair.asArrayValue().get(0)), Offsets.map(pair.asArrayValue().get(1)));
        }
        return found;
    }
}
