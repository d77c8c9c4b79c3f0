"""Debezium's ExtractNewRecordState: what its conformance cases leave open, and that its forms agree."""

from typing import Any

import pytest

from penstock import ConfigError, Fields, Header, Record, RecordBatch, Schema
from penstock.schema import INT32, INT64, OPTIONAL_STRING, STRING, array_of, struct
from penstock.testing import TransformSuite
from penstock_plugins.transforms.debezium.extract_new_record_state import ExtractNewRecordState

ROW = struct({"id": INT32, "item": OPTIONAL_STRING}, name="shop.orders.Value", optional=True)
SOURCE = struct({"table": STRING, "ts_ms": INT64}, name="Source")


def envelope(row: Schema = ROW) -> Schema:
    return struct({"before": row, "after": row, "source": SOURCE, "op": STRING}, name="shop.orders.Envelope")


ENVELOPE = envelope()


def event(op: str, before: Any, after: Any, schema: Schema = ENVELOPE, **changed: Any) -> Record:
    value = {"before": before, "after": after, "source": {"table": "orders", "ts_ms": 5}, "op": op}
    return Record(topic="orders", value=value, value_schema=schema, **changed)


def row(number: int, item: str | None = "pump") -> dict[str, Any]:
    return {"id": number, "item": item}


LISTED = (Header("drop", ["item"], array_of(STRING)),)
RECORDS = [
    event("c", None, row(1), key={"id": 1, "item": "k"}, key_schema=ROW),
    event("u", row(1), row(1, None), headers=LISTED),
    event("d", row(1), None, headers=LISTED, key={"id": 1, "item": "k"}, key_schema=ROW),
    event("t", None, None),
    Record(topic="orders", value=None, key="k", key_schema=STRING),
    Record(topic="other", value={"after": row(1)}),
    Record(topic="other", value="text", value_schema=STRING),
    event("c", None, {**row(2), "__deleted": "x"}, envelope(struct({"id": INT32, "__deleted": STRING}))),
    event("c", None, row(3), envelope(struct({"id": INT32, "item": STRING}, name="Other"))),
]


class TestExtractNewRecordState(TransformSuite):
    plugin = ExtractNewRecordState
    properties = {"add.fields": "op,source.ts_ms", "add.headers": "table"}  # noqa: RUF012
    records = RECORDS


class TestRewritingExtractNewRecordState(TransformSuite):
    plugin = ExtractNewRecordState
    records = RECORDS
    properties = {  # noqa: RUF012
        "delete.tombstone.handling.mode": "rewrite-with-tombstone",
        "add.fields": "op",
        "add.headers": "op",
        "route.by.field": "item",
    }


class TestExtractNewRecordStateWithListedFields(TransformSuite):
    plugin = ExtractNewRecordState
    records = RECORDS
    properties = {"drop.fields.header.name": "drop", "drop.fields.from.key": "true", "add.fields": "op"}  # noqa: RUF012


def configured(**properties: str) -> ExtractNewRecordState:
    made = ExtractNewRecordState()
    made.configure(made.Config.parse({name.replace("_", "."): text for name, text in properties.items()}))
    return made


def test_rows_of_a_batch_stay_columns_for_the_stages_behind() -> None:
    batch = RecordBatch.of([event("c", None, row(n)) for n in range(3)])
    made = configured(add_fields="op,table:t").apply_batch(batch)
    assert isinstance(made.fields, Fields)
    assert made.value == [{"id": n, "item": "pump", "__op": "c", "__t": "orders"} for n in range(3)]


@pytest.mark.parametrize("tables", [3, 40])
def test_records_of_many_tables_keep_their_order(tables: int) -> None:
    shapes = [envelope(struct({"id": INT32, f"c{n}": OPTIONAL_STRING}, optional=True)) for n in range(tables)]
    records = [
        record
        for n in range(2 * tables)
        for record in (
            event("c", None, {"id": n, f"c{n % tables}": None}, shapes[n % tables]),
            event("d", {"id": n, f"c{n % tables}": None}, None, shapes[n % tables]),
            Record(topic="orders", value=None),
        )
    ]
    made = configured(delete_tombstone_handling_mode="rewrite").apply_batch(RecordBatch.of(records))
    assert [r.value["id"] for r in made.records()] == [n for n in range(2 * tables) for _ in "cd"]
    assert list(made.positions) == [p for p in range(6 * tables) if p % 3 != 2]


def test_properties_of_earlier_versions_count_unless_the_newer_one_is_set() -> None:
    tombstone, gone = Record(topic="t", value=None), event("d", row(1), None)
    old = {"drop_tombstones": "false", "delete_handling_mode": "rewrite"}
    assert configured().apply(tombstone) is None
    assert configured(drop_tombstones="false").apply(tombstone) is tombstone
    assert configured(drop_tombstones="false").apply(gone) is None
    assert configured(**old).apply(tombstone) is tombstone
    deleted = configured(**old).apply(gone)
    assert deleted is not None
    assert deleted.value == {"id": 1, "item": "pump", "__deleted": "true"}
    assert configured(**old, delete_tombstone_handling_mode="drop").apply(tombstone) is None


@pytest.mark.parametrize("text", ["op:a:b", ":", "op,."])
def test_a_list_of_fields_that_cannot_be_read_is_an_error_of_its_property(text: str) -> None:
    for name in ("add.fields", "add.headers"):
        with pytest.raises(ConfigError, match="Unexpected field name") as refused:
            ExtractNewRecordState.Config.parse({name: text}, "transforms.unwrap.")
        assert [p.property for p in refused.value.problems] == [f"transforms.unwrap.{name}"]
