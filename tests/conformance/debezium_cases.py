"""Cases of Debezium's ExtractNewRecordState, answered by the real class: `python -m tests.conformance.debezium_cases`.

It writes `cases/debezium.json`. `delete.handling.mode` and `drop.tombstones` are answered by the last version that has them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tests.integration.java.plugins import debezium, debezium_with_old_modes, folder_of

from .oracle import Oracle

__all__ = ["CASES", "NAME", "OLD", "answered", "cases", "envelope", "event", "record", "row_schema"]

Json = Any

CASES: Final = Path(__file__).parent / "cases" / "debezium.json"
NAME: Final = "io.debezium.transforms.ExtractNewRecordState"
OLD: Final = frozenset({"drop.tombstones", "delete.handling.mode"})
_MODES: Final = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
_TEXT: Final = {"type": "string"}
_OPTIONAL: Final = {"type": "string", "optional": True}
_LONG: Final = {"type": "int64", "optional": True}
_KEY: Final = {"type": "struct", "name": "s.orders.Key", "fields": [{"name": "id", "schema": {"type": "int32"}}]}
_SOURCE: Final = {"db": _TEXT, "table": _TEXT, "ts_ms": {"type": "int64"}, "lsn": _LONG}
_TRANSACTION: Final = {"id": _TEXT, "total_order": {"type": "int64"}, "data_collection_order": {"type": "int64"}}
_FIELDS: Final = {
    "id": {"type": "int32"},
    "item": _OPTIONAL,
    "region": {"type": "string", "default": "north"},
    "note": {"type": "string", "optional": True, "default": "none"},
}
_LOGICAL: Final = {
    "price": {"type": "bytes", "optional": True, "name": "org.apache.kafka.connect.data.Decimal", "version": 1,
              "parameters": {"scale": "2"}},
    "day": {"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1},
    "snapshot": {"type": "string", "optional": True, "name": "io.debezium.data.Enum", "version": 1,
                 "parameters": {"allowed": "true,last,false"}, "default": "false"},
    "at": {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1, "doc": "a time"},
}  # fmt: skip


def _struct(fields: Mapping[str, Json], **attributes: Json) -> Json:
    return {"type": "struct", "fields": [{"name": n, "schema": s} for n, s in fields.items()], **attributes}


def row_schema(fields: Mapping[str, Json] = _FIELDS, **attributes: Json) -> Json:
    """The schema of `before` and `after`."""
    return _struct(fields, **{"name": "s.orders.Value", "optional": True, **attributes})


def envelope(row: Json | None = None, *, without: Sequence[str] = (), **changed: Json) -> Json:
    """The schema of a change event."""
    row = row_schema() if row is None else row
    fields = {
        "before": row,
        "after": row,
        "source": _struct(_SOURCE, name="io.debezium.connector.postgresql.Source"),
        "transaction": _struct(_TRANSACTION, name="event.block", version=1, optional=True),
        "op": _TEXT,
        "ts_ms": _LONG,
        **changed,
    }
    kept = {n: s for n, s in fields.items() if n not in without}
    return _struct(kept, name="s.orders.Envelope", version=2)


def record(schema: Json, value: Json, **changed: Json) -> Json:
    """A record; the value is a struct's if the schema is one."""
    plain: Json = {"topic": "s.orders", "partition": None, "headers": [], "timestamp": 7}
    key = {"schema": _KEY, "value": {"$struct": {"id": {"$int32": 1}}}}
    return {**plain, "key": key, "value": {"schema": schema, "value": value}, **changed}


def event(op: str, before: Json, after: Json, schema: Json | None = None, **changed: Json) -> Json:
    """The record of a change event."""
    schema = envelope() if schema is None else schema
    source = {"db": "shop", "table": "orders", "ts_ms": {"$int64": 5}, "lsn": {"$int64": 24}}
    values = {
        "before": before,
        "after": after,
        "source": {"$struct": source},
        "op": op,
        "ts_ms": {"$int64": 6},
        **changed.pop("values", {}),
    }
    known = {f["name"] for f in schema["fields"]}
    return record(schema, {"$struct": {n: v for n, v in values.items() if n in known}}, **changed)


def row(**fields: Json) -> Json:
    return {"$struct": {"id": {"$int32": 1}, "item": "pump", "region": "south", **fields}}


def _tombstone(**changed: Json) -> Json:
    return record(None, None, **changed)


def _stream(schema: Json | None = None, *, others: bool = False, **changed: Json) -> list[Json]:
    """One record of each kind; `others` for records that are no change events."""
    transaction = {"transaction": {"$struct": {
        "id": "571", "total_order": {"$int64": 1}, "data_collection_order": {"$int64": 2}
    }}}  # fmt: skip
    events = [
        event("c", None, row(item=None), schema, values=transaction, **changed),
        event("u", row(), row(item="valve", note="new"), schema, **changed),
        event("d", row(note="last"), None, schema, values=transaction, **changed),
        event("t", None, None, schema, **changed),
        _tombstone(**changed),
    ]
    if not others:
        return events
    return [
        event("r", None, row(), schema, **changed),
        *events,
        record({"type": "string"}, "text", **changed),
        record(_struct({"id": {"type": "int32"}}, name="s.Other"), {"$struct": {"id": {"$int32": 3}}}, **changed),
        record(None, {"before": None, "after": {"id": {"$int32": 1}}, "op": "c"}, **changed),
        record(_KEY, None, **changed),
    ]


def _header(name: str, *names: str) -> Json:
    return {"name": name, "schema": {"type": "array", "items": _TEXT}, "value": list(names)}


def cases() -> list[Json]:
    """All cases, without what is expected of them."""
    return [
        {
            "id": f"debezium-{number:03}",
            "area": "smt",
            "source": "ExtractNewRecordState",
            "note": note,
            **({"kind": "sink"} if number % 3 == 0 else {}),
            "config": {"transforms": "t", "transforms.t.type": NAME}
            | {n if n.startswith("predicates") else f"transforms.t.{n}": text for n, text in config.items()},
            "input": {"records": records},
        }
        for number, (note, config, records) in enumerate(_all(), 1)
    ]


_Case = tuple[str, dict[str, str], list[Json]]


def _all() -> Iterator[_Case]:
    yield from _of_deletes()
    yield from _of_references()
    yield from _of_routes()
    yield from _of_listed_fields()
    yield from _of_schemas()
    yield from _of_chains()
    yield from _of_configurations()
    yield from _of_changing_envelopes()


def _of_deletes() -> Iterator[_Case]:
    mode = "delete.tombstone.handling.mode"
    yield "no properties", {}, _stream(others=True)
    for name in _MODES:
        yield f"mode {name}", {mode: name}, _stream(others=True)
        yield f"mode {name}, with fields and headers", {mode: name, "add.fields": "op,source.ts_ms,table:t",
              "add.headers": "op,transaction.id,db:database"}, _stream()  # fmt: skip
        yield (
            f"mode {name}, with a key and headers of others",
            {mode: name, "add.headers": "op"},
            _stream(headers=[{"name": "__op", "schema": None, "value": True}], topic="other", partition=2),
        )
        yield f"mode {name}, nulls stay", {mode: name, "replace.null.with.default": "false"}, _stream()
        yield f"mode {name}, a row with required fields that are null", {mode: name}, [
            event("c", None, row(region=None)), event("d", row(region=None), None)
        ]  # fmt: skip
    yield "a mode in another case", {mode: " ReWrite "}, _stream()
    for old in ({}, {"drop.tombstones": "false"}, {"drop.tombstones": "true"}):
        for handling in ("drop", "none", "rewrite"):
            yield f"before 3.2: {handling}", {"delete.handling.mode": handling, **old}, _stream()
    yield (
        "before 3.2: tombstones stay",
        {"drop.tombstones": "false", "add.headers": "op", "add.fields": "op"},
        _stream(),
    )
    yield "before 3.2: the newer property counts", {"drop.tombstones": "false", mode: "drop"}, _stream()
    yield "before 3.2: the newer one, with both", {
        "drop.tombstones": "false", "delete.handling.mode": "none", mode: "rewrite"
    }, _stream()  # fmt: skip


def _of_references() -> Iterator[_Case]:
    everything = "op,ts_ms,ts_ns,db,table,lsn,snapshot,id,total_order,data_collection_order,source.table"
    for property_name in ("add.fields", "add.headers"):
        for text in (
            everything,
            "op",
            "source.lsn",
            "transaction.id,transaction.total_order",
            "op:operation, table : t , source.ts_ms:changed",
            "absent,source.absent,op.absent" if property_name == "add.headers" else "absent,source.absent",
            "op,op",
            "op:a,table:a",
            ",op,,table,",
            "op:,source.ts_ms.more",
            ":named",
            "source",
            "before",
            "after:row",
            "nowhere.field",
            "source.db.deeper:d",
            ".op",
            "op.",
        ):
            yield f"{property_name}={text}", {property_name: text}, _stream()
        for prefix in ("", "meta.", "__source_", "x:y"):
            config = {property_name: "op,source.db,lsn:position", f"{property_name}.prefix": prefix}
            yield f"{property_name} with the prefix {prefix!r}", config, _stream()
    yield "added fields that the row has", {"add.fields": "id:id", "add.fields.prefix": ""}, _stream()
    yield "an added field named __deleted", {
        "add.fields": "op:deleted", "delete.tombstone.handling.mode": "rewrite"
    }, _stream()  # fmt: skip
    words = {"type": "map", "keys": _TEXT, "values": _TEXT, "optional": True}
    numbers = {"type": "array", "items": _LONG, "optional": True}
    added = envelope(extra=_OPTIONAL, numbers=numbers, words=words, nothing=_struct({}))
    filled: Json = {"extra": "more", "numbers": [{"$int64": 1}, None], "words": {}, "nothing": None}
    for names in ("extra", "numbers", "words", "nothing", "source.extra,transaction.extra"):
        for property_name in ("add.fields", "add.headers"):
            yield (
                f"{property_name}={names}, which the envelope has",
                {property_name: names},
                [
                    event("c", None, row(), added, values=filled),
                    event("c", None, row(), added),
                    event("d", row(), None, added, values=filled),
                ],
            )
    yield "maps with entries", {"add.fields": "words"}, [event("c", None, row(), added, values={"words": {"a": "b"}})]
    for name in ("source", "transaction"):
        for property_name in ("add.fields", "add.headers"):
            yield (
                f"{property_name}, envelope without {name}",
                {property_name: "db,id"},
                _stream(envelope(without=[name])),
            )
    yield "source is a text", {"add.fields": "db"}, [event("c", None, row(), envelope(source=_OPTIONAL), values={
        "source": "x"
    })]  # fmt: skip


def _of_routes() -> Iterator[_Case]:
    for mode in _MODES:
        yield f"routes, mode {mode}", {
            "route.by.field": "item", "delete.tombstone.handling.mode": mode, "add.fields": "op"
        }, [*_stream(), event("c", None, row(item=" ")), event("d", row(item=""), None)]  # fmt: skip
    yield "routes by a field with a default", {
        "route.by.field": "note", "delete.tombstone.handling.mode": "rewrite"
    }, _stream()  # fmt: skip
    yield "routes by a field that is added", {
        "route.by.field": "__deleted", "delete.tombstone.handling.mode": "rewrite"
    }, _stream()  # fmt: skip
    yield "routes by a number", {"route.by.field": "id"}, _stream()
    yield "routes by a field that is absent", {"route.by.field": "absent"}, _stream()


def _of_listed_fields() -> Iterator[_Case]:
    wide = row_schema({**_FIELDS, "last": {"type": "boolean", "optional": True}})
    for mode in _MODES:
        for compatible in ("true", "false"):
            config = {
                "drop.fields.header.name": "drop",
                "drop.fields.keep.schema.compatible": compatible,
                "delete.tombstone.handling.mode": mode,
                "add.fields": "op,db",
            }
            yield (
                f"listed fields, mode {mode}",
                config,
                [
                    *_stream(headers=[_header("drop", "item", "id", "note", "__op", "absent")])[1:4],
                    *_stream(envelope(wide), headers=[_header("drop", "__deleted", "last")])[1:3],
                    event("c", None, row(), headers=[_header("drop")]),
                    event("c", None, row(), headers=[_header("other", "item"), _header("drop", "item", "item")]),
                ],
            )
    key = record(None, None)["key"]
    optional = {"schema": _struct({"id": {"type": "int32", "optional": True}, "x": _TEXT}), "value": {
        "$struct": {"id": {"$int32": 1}, "x": "y"}
    }}  # fmt: skip
    for compatible in ("true", "false"):
        config = {
            "drop.fields.header.name": "drop",
            "drop.fields.from.key": "true",
            "drop.fields.keep.schema.compatible": compatible,
        }
        yield (
            f"listed fields of the key, compatible {compatible}",
            config,
            [
                event(op, before, after, key=each, headers=[_header("drop", "id", "item")])
                for each in (
                    key,
                    optional,
                    {"schema": None, "value": None},
                    {"schema": None, "value": {"id": {"$int32": 1}, "x": "y"}},
                    {"schema": _TEXT, "value": "k"},
                )
                for op, before, after in (("c", None, row()), ("d", row(), None))
            ],
        )
    yield (
        "a header that is no list",
        {"drop.fields.header.name": "drop"},
        [
            event("c", None, row(), headers=[{"name": "drop", "schema": _TEXT, "value": "item"}]),
            event("c", None, row(), headers=[{"name": "drop", "schema": None, "value": None}]),
            event("c", None, row(), headers=[{"name": "drop", "schema": None, "value": ["item", {"$int64": 1}]}]),
            event("c", None, row(), headers=[_header("drop", "item,note")]),
            _tombstone(headers=[_header("drop", "item")]),
        ],
    )
    yield (
        "odd names in the list",
        {"drop.fields.header.name": "drop", "drop.fields.keep.schema.compatible": "false"},
        [
            event("c", None, row(), headers=[_header("drop", *names)])
            for names in (["item", ""], [""], ["", "item"], ["item,note"], [" item "])
        ],
    )
    yield "a header with a blank name", {"drop.fields.header.name": " "}, _stream(headers=[_header(" ", "item")])


def _of_schemas() -> Iterator[_Case]:
    rewrite = {"delete.tombstone.handling.mode": "rewrite", "add.fields": "op"}
    for name, schema in (
        ("no before", envelope(without=["before"])),
        ("no after", envelope(without=["after"])),
        ("no op", envelope(without=["op"])),
        ("op is a number", envelope(op=_LONG)),
        ("a row with a doc and parameters", envelope(row_schema(doc="rows", version=3, parameters={"a": "b"}))),
        ("a row that is required", envelope(row_schema(optional=False))),
    ):
        changed = {"op": {"$int64": 1}} if name == "op is a number" else {}
        events = [event("c", None, row(), schema), event("d", row(), None, schema), event("t", None, None, schema)]
        for each in events:
            if changed:
                each["value"]["value"]["$struct"].update(changed)
        yield f"envelope: {name}", {}, events
        yield f"envelope: {name}, rewritten", rewrite, events
    texts = envelope(_OPTIONAL)
    documents = [event("c", None, "{}", texts), event("d", "{}", None, texts), event("d", None, None, texts)]
    for mode in _MODES:
        yield f"rows that are texts, mode {mode}", {"delete.tombstone.handling.mode": mode}, documents
    default = row_schema(default=row())
    yield "a row with a default", rewrite, [
        event("c", None, row(item="x"), envelope(default)), event("c", None, None, envelope(default)),
    ]  # fmt: skip
    for schema in ({"type": "string", "name": "a.Envelope"}, {"type": "int64", "name": ".Envelope"}):
        value = "x" if schema["type"] == "string" else {"$int64": 1}
        yield f"an envelope that is a {schema['type']}", {}, [record(schema, value)]
        yield f"an envelope that is a {schema['type']}, with headers", {"add.headers": "op"}, [record(schema, value)]
    yield (
        "names of schemas",
        {},
        [
            {
                **event("c", None, row()),
                "value": {**event("c", None, row())["value"], "schema": {**envelope(), "name": name}},
            }
            for name in ("s.envelope", "Envelope", ".Envelope", "s.orders.Envelope2", "s.orders.Value", None)
        ],
    )
    logical = envelope(
        row_schema(_LOGICAL),
        noted=_LOGICAL["at"],
        priced=_LOGICAL["price"],
        day=_LOGICAL["day"],
        kind=_LOGICAL["snapshot"],
    )
    of_row: Json = {"price": {"$decimal": "9.50"}, "day": {"$date": 86400000}, "at": {"$int64": 1700000000000000}}
    noted: Json = {"noted": {"$int64": 1}, "priced": of_row["price"], "day": of_row["day"]}
    for mode in ("tombstone", "rewrite"):
        yield f"logical types, mode {mode}", {
            "delete.tombstone.handling.mode": mode, "add.fields": "noted,priced,day,kind",
            "add.headers": "noted,priced,day,kind",
        }, [
            event("c", None, {"$struct": of_row}, logical, values=noted),
            event("d", {"$struct": {**of_row, "price": None}}, None, logical, values=noted),
        ]  # fmt: skip
    empty = envelope(row_schema({}))
    yield (
        "rows without fields",
        {},
        [event("c", None, {"$struct": {}}, empty), event("d", {"$struct": {}}, None, empty)],
    )
    yield "rows without fields, with added ones", rewrite, [event("c", None, {"$struct": {}}, empty)]
    many = [row_schema({**_FIELDS, f"c{n}": _OPTIONAL}) for n in range(18)]
    yield "records of two schemas", rewrite, [r for each in many[:2] for r in _stream(envelope(each))]
    yield "records of eighteen schemas", rewrite, [event("c", None, row(), envelope(each)) for each in many]


def _of_chains() -> Iterator[_Case]:
    tombstones = {
        "predicates": "p",
        "predicates.p.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
        "predicate": "p",
    }
    yield "only tombstones", {**tombstones, "add.headers": "op"}, _stream()
    yield "all but tombstones", {**tombstones, "negate": "true", "add.headers": "op"}, _stream()
    yield "only one topic", {
        "predicates": "p",
        "predicates.p.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "predicates.p.pattern": "s\\..*",
        "predicate": "p",
    }, [*_stream(), *_stream(topic="other")]  # fmt: skip


def _of_configurations() -> Iterator[_Case]:
    for name, text in (
        ("delete.tombstone.handling.mode", "none"),
        ("delete.tombstone.handling.mode", ""),
        ("drop.fields.from.key", "yes"),
        ("drop.fields.keep.schema.compatible", "1"),
        ("add.fields", "a:b:c"),
        ("add.headers", "op,:"),
        ("add.headers", "."),
        ("drop.tombstones", "no"),
        ("delete.handling.mode", "tombstone"),
    ):
        yield f"{name}={text}", {name: text}, _stream()


def _of_changing_envelopes() -> Iterator[_Case]:
    """Debezium keeps which fields it adds for each schema of rows, although the schema of the source may change."""
    before, after = envelope(source=_struct({"db": _TEXT, "table": _TEXT}, name="Source")), envelope()
    yield (
        "a source that gets a field",
        {"add.fields": "lsn"},
        [
            event("c", None, row(), before, values={"source": {"$struct": {"db": "shop", "table": "orders"}}}),
            event("c", None, row(), after),
        ],
    )


def answered(made: Sequence[Json]) -> list[Json]:
    """The cases with what Debezium makes of them."""
    with ExitStack() as stack:
        new = stack.enter_context(Oracle(plugins=folder_of(debezium("postgres")) / "debezium-connector-postgres"))
        old = stack.enter_context(Oracle(plugins=debezium_with_old_modes()))
        return [{**case, "expected": (old if _is_old(case) else new).answer(case)} for case in made]


def _is_old(case: Json) -> bool:
    return any(f"transforms.t.{name}" in case["config"] for name in OLD)


def _main() -> None:
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in answered(cases()))
    CASES.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    _main()
