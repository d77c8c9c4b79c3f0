"""Print cases for AvroOracle.java, whose answers are java_cases.jsonl.

    python make_cases.py | java -cp 'LIBS/*' AvroOracle.java > ../java_cases.jsonl

LIBS is the folder that `apicurio_converter()` of tests/integration/java/plugins.py returns.
"""

import json
from typing import Any

NAMES = "org.apache.kafka.connect.data."


def field(name: str, kind: str, /, **more: Any) -> dict[str, Any]:
    return {"field": name, "type": kind, **more}


def struct(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields), **more}


DECIMAL = {"name": f"{NAMES}Decimal", "version": 1, "parameters": {"scale": "2"}}
PLAIN = struct(
    field("b", "boolean"), field("i8", "int8"), field("i16", "int16"), field("i32", "int32"), field("i64", "int64"),
    field("f", "float"), field("d", "double"), field("s", "string"), field("y", "bytes"), name="shop.Plain",
)  # fmt: skip
VALUE = {
    "b": True, "i8": -128, "i16": 300, "i32": -5, "i64": 2**40, "f": 1.5, "d": -2.25, "s": "é€😀", "y": "AAH/",
}  # fmt: skip
OPTIONAL = {**PLAIN, "fields": [{**f, "optional": True} for f in PLAIN["fields"]], "name": "shop.Optional"}
INNER = struct(field("x", "int64"), field("y", "string", optional=True), name="shop.Inner")
ROW = struct(
    field("id", "int32"), field("n", "string", optional=True), name="srv.inventory.customers.Value", optional=True
)
ENVELOPE = struct(
    {**ROW, "field": "before"},
    {**ROW, "field": "after"},
    struct(field("version", "string"), field("ts_ms", "int64"),
           field("snapshot", "string", optional=True, default="false", name="io.debezium.data.Enum", version=1,
                 parameters={"allowed": "true,last,false"}),
           name="io.debezium.connector.postgresql.Source", field="source"),
    field("op", "string"),
    field("ts", "int64", optional=True, name="io.debezium.time.MicroTimestamp", version=1),
    name="srv.inventory.customers.Envelope", version=2,
)  # fmt: skip
ENUM = {
    "type": "string", "name": "shop.Color",
    "parameters": {"io.confluent.connect.avro.Enum": "shop.Color", "io.confluent.connect.avro.Enum.RED": "RED",
                   "io.confluent.connect.avro.Enum.BLUE": "BLUE"},
}  # fmt: skip
UNION = struct(
    field("int", "int32", optional=True), field("string", "string", optional=True),
    {**INNER, "field": "Inner", "optional": True}, name="io.confluent.connect.avro.Union",
)  # fmt: skip

WRITTEN: list[tuple[str, dict[str, Any], Any]] = [
    ("plain", PLAIN, VALUE),
    ("optional set", OPTIONAL, VALUE),
    ("optional null", OPTIONAL, dict.fromkeys(VALUE)),
    ("primitive", {"type": "string"}, "text"),
    ("optional primitive", {"type": "int64", "optional": True}, 7),
    ("int8", {"type": "int8"}, 7),
    ("bytes", {"type": "bytes"}, "AAH/"),
    ("named int", {"type": "int32", "name": "shop.Count", "version": 3, "doc": "How many."}, 7),
    ("date", {"type": "int32", "name": f"{NAMES}Date", "version": 1}, 19000),
    ("time", {"type": "int32", "name": f"{NAMES}Time", "version": 1}, 86399999),
    ("timestamp", {"type": "int64", "name": f"{NAMES}Timestamp", "version": 1}, -1),
    ("decimal", {"type": "bytes", **DECIMAL}, "BNI="),
    ("negative decimal", {"type": "bytes", **DECIMAL}, "+y4="),
    ("decimal in struct", struct({**DECIMAL, "field": "p", "type": "bytes", "optional": True}, name="a.P"), {"p": "AIA="}),
    ("decimal precision",
     {"type": "bytes", **DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "10"}}, "AQ=="),
    ("decimal negative scale", {"type": "bytes", **DECIMAL, "parameters": {"scale": "-2"}}, "AQ=="),
    ("array", {"type": "array", "items": {"type": "int32", "optional": True}}, [1, None, -3]),
    ("empty array", {"type": "array", "items": {"type": "int32"}}, []),
    ("array of structs", {"type": "array", "items": INNER}, [{"x": 1, "y": "a"}, {"x": 2, "y": None}]),
    ("map", {"type": "map", "keys": {"type": "string"}, "values": {"type": "double"}}, {"k": 1.5}),
    ("map of ints", {"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}}, [[1, "a"]]),
    ("map of optional strings", {"type": "map", "keys": {"type": "string", "optional": True}, "values": {"type": "int8"}},
     {"k": 1}),
    ("named map of ints",
     {"type": "map", "name": "a.M", "keys": {"type": "int32"}, "values": {"type": "string"}}, [[1, "a"]]),
    ("unnamed struct", struct(field("x", "int32")), {"x": 1}),
    ("name without namespace", struct({**INNER, "field": "in"}, name="Top"), {"in": {"x": 1, "y": None}}),
    ("nested", struct({**INNER, "field": "one"}, {**INNER, "field": "two", "optional": True}, name="shop.Outer"),
     {"one": {"x": 1, "y": "a"}, "two": {"x": 2, "y": None}}),
    ("inner in another namespace",
     struct({**INNER, "name": "other.In", "field": "in"}, field("z", "int32"), name="shop.Out"),
     {"in": {"x": 1, "y": None}, "z": 4}),
    ("defaults", struct(field("a", "int32", default=5), field("b", "string", optional=True, default="x"),
                        field("c", "int32", optional=True), name="shop.D"), {"a": 1, "b": None, "c": None}),
    ("defaults of bytes and booleans", struct(field("a", "bytes", default="AP8="), field("b", "boolean", default=False),
                                              field("d", "double", default=1.5), name="shop.E"),
     {"a": "AA==", "b": True, "d": 2.5}),
    ("default of a date", struct(field("a", "int32", name=f"{NAMES}Date", version=1, default=3), name="shop.F"), {"a": 4}),
    ("default of a decimal", struct({**DECIMAL, "field": "a", "type": "bytes", "default": "BNI="}, name="shop.G"),
     {"a": "AQ=="}),
    ("docs", struct(field("a", "int32", doc="A field."), name="shop.Doc", doc="A struct.", version=4), {"a": 1}),
    ("parameters", struct(field("a", "int32", parameters={"x": "1", "avro.y": "2"}), name="shop.Par",
                          parameters={"p": "q"}), {"a": 1}),
    ("debezium", ENVELOPE, {"before": None, "after": {"id": 1, "n": "a"},
                            "source": {"version": "3", "ts_ms": 5, "snapshot": None}, "op": "c", "ts": 99}),
    ("enum", ENUM, "RED"),
    ("enum in struct", struct({**ENUM, "field": "c", "optional": True}, name="shop.HasColor"), {"c": "BLUE"}),
    ("union of string", struct({**UNION, "field": "u"}, name="shop.U"),
     {"u": {"int": None, "string": "x", "Inner": None}}),
    ("union of int", struct({**UNION, "field": "u", "optional": True}, name="shop.U"),
     {"u": {"int": 5, "string": None, "Inner": None}}),
    ("union of struct", struct({**UNION, "field": "u"}, name="shop.U"),
     {"u": {"int": None, "string": None, "Inner": {"x": 1, "y": None}}}),
    ("union null", struct({**UNION, "field": "u", "optional": True}, name="shop.U"), {"u": None}),
    ("without a schema", None, {"a": [1, 2.5, "x", None, True], "b": {"c": 1}}),  # type: ignore[list-item]
    ("a number without a schema", None, 5),  # type: ignore[list-item]
]  # fmt: skip


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": "shop", "fields": list(fields), **more}


def of(name: str, kind: Any, /, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


NAMED: dict[str, Any] = {
    "connect.version": 3, "connect.name": "my.Name", "connect.doc": "D", "connect.parameters": {"k": "v"},
}  # fmt: skip
COLOR = {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"], "doc": "Colors.", "default": "RED"}
FIXED = {"type": "fixed", "name": "Hash", "size": 2}
READ: list[tuple[str, Any, Any]] = [
    ("plain record", record(of("a", "int"), of("b", "string"), of("c", "bytes")), {"a": 1, "b": "x", "c": "\u0001\u00ff"}),
    ("nulls", record(of("a", ["null", "int"], default=None), of("b", ["string", "null"], default="x")),
     {"a": None, "b": {"string": "y"}}),
    ("docs and defaults", record(of("a", "int", doc="A field.", default=3), doc="A record."), {"a": 1}),
    ("enum", record(of("c", COLOR)), {"c": "BLUE"}),
    ("fixed", record(of("h", FIXED)), {"h": "\u0001\u0002"}),
    ("logical types", record(
        of("d", {"type": "int", "logicalType": "date"}), of("t", {"type": "int", "logicalType": "time-millis"}),
        of("ts", {"type": "long", "logicalType": "timestamp-millis"}),
        of("us", {"type": "long", "logicalType": "timestamp-micros"}), of("u", {"type": "string", "logicalType": "uuid"}),
        of("p", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2})),
     {"d": 5, "t": 7, "ts": 9, "us": 11, "u": "x", "p": "\u0004\u00d2"}),
    ("union of several", record(of("u", ["null", "int", "long", "string"])), {"u": {"long": 5}}),
    ("union of several, other branch", record(of("u", ["null", "int", "long", "string"])), {"u": {"string": "x"}}),
    ("union of several, null", record(of("u", ["null", "int", "long", "string"], default=None)), {"u": None}),
    ("union of records", record(of("u", [record(of("x", "int"), name="A"), record(of("x", "int"), name="B")])),
     {"u": {"shop.B": {"x": 4}}}),
    ("union of floats", record(of("u", ["float", "double"])), {"u": {"double": 1.5}}),
    ("arrays and maps", record(of("a", {"type": "array", "items": ["null", "int"]}),
                               of("m", {"type": "map", "values": {"type": "array", "items": "string"}})),
     {"a": [{"int": 1}, None], "m": {"k": ["x"]}}),
    ("nested record", record(of("r", record(of("x", "int"), name="In", namespace="other")), of("s", ["null", "other.In"])),
     {"r": {"x": 1}, "s": {"other.In": {"x": 2}}}),
    ("properties",
     record(of("a", {"type": "int", "connect.type": "int8"}), of("b", {"type": "string", "avro.java.string": "String"}),
            **NAMED),
     {"a": 1, "b": "x"}),
    ("primitive", "string", "x"),
    ("optional primitive", ["null", "int"], {"int": 4}),
    ("array", {"type": "array", "items": "int"}, [1, 2]),
    ("defaults of all kinds", record(
        of("y", "bytes", default="\u00ff"), of("b", "boolean", default=True), of("d", "double", default=1.5),
        of("a", {"type": "array", "items": "int"}, default=[1]), of("m", {"type": "map", "values": "int"}, default={"k": 1}),
        of("c", COLOR, default="BLUE")),
     {"y": "\u0001", "b": False, "d": 2.5, "a": [], "m": {}, "c": "RED"}),
]  # fmt: skip


def main() -> None:
    for enhanced in (False, True):
        for name, schema, value in WRITTEN:
            case = {"name": name, "enhanced": enhanced, "envelope": {"schema": schema, "payload": value}}
            print(json.dumps({"direction": "write", **case}))
        for name, avro, datum in READ:
            case = {"name": name, "enhanced": enhanced, "avro": json.dumps(avro), "datum": datum}
            print(json.dumps({"direction": "read", **case}))


if __name__ == "__main__":
    main()
