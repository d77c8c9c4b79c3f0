"""HoistField and InsertField: the rules that the conformance cases leave open, and that both forms agree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import ConfigError, Record, RecordBatch, Schema, Transform
from penstock.schema import INT32, OPTIONAL_STRING, STRING, struct
from penstock_plugins.transforms.filter import Filter
from penstock_plugins.transforms.hoist_field import HoistField
from penstock_plugins.transforms.insert_field import InsertField

from ..outcomes import configured, outcome

ROW = struct({"a": STRING, "n": Schema(INT32.type, optional=True, default=7)}, name="row", version=2)


def seen(batch: RecordBatch) -> list[Record]:
    return list(batch.records())


def both_forms(plugin: Transform, records: list[Record]) -> tuple[object, object]:
    """What each form makes of the records; the class of the error where one fails."""
    return (
        outcome(lambda: [plugin.apply(r) for r in records]),
        outcome(lambda: seen(plugin.apply_batch(RecordBatch.of(records)))),
    )


texts = st.text(max_size=5)
rows = st.fixed_dictionaries({"a": st.none() | texts, "n": st.none() | st.integers(-5, 5)})
sides = st.sampled_from(
    [
        (None, texts),
        (None, st.none()),
        (STRING, texts),
        (OPTIONAL_STRING, st.none() | texts),
        (STRING, st.none()),
        (None, st.dictionaries(texts, texts, max_size=2)),
        (ROW, rows),
        (ROW, st.none() | rows),
        (INT32, texts),
    ]
)


@st.composite
def some_records(draw: st.DrawFn) -> list[Record]:
    schema, values = draw(sides)
    mixed, sink = draw(st.booleans()), draw(st.booleans())
    made = []
    for _ in range(draw(st.integers(1, 4))):
        if mixed:
            schema, values = draw(sides)
        made.append(
            Record(
                topic=draw(st.sampled_from(["t", "u", None])),
                partition=draw(st.sampled_from([None, 3])),
                timestamp=draw(st.sampled_from([None, 5])),
                offset=4 if sink else None,
                key=draw(values),
                key_schema=schema,
                value=draw(values),
                value_schema=schema,
            )
        )
    return made


@settings(max_examples=150, deadline=None)
@given(some_records(), st.sampled_from(["key", "value"]))
def test_hoisting_a_batch_is_hoisting_each_record(records: list[Record], side: str) -> None:
    single, batch = both_forms(configured(HoistField(), side, field="m"), records)
    assert single == batch


@settings(max_examples=300, deadline=None)
@given(
    some_records(),
    st.sampled_from(["key", "value"]),
    st.dictionaries(
        st.sampled_from(["topic.field", "partition.field", "offset.field", "timestamp.field"]),
        st.sampled_from(["x", "y", "z!", "n", "w?"]),
        max_size=3,
    ),
    st.booleans(),
)
def test_inserting_into_a_batch_is_inserting_into_each_record(
    records: list[Record], side: str, fields: dict[str, str], replace: bool
) -> None:
    plugin = InsertField()
    plugin.side = side
    given_texts = fields | {"static.field": "s", "static.value": "v", "replace.null.with.default": str(replace)}
    plugin.configure(InsertField.Config.parse(given_texts))
    single, batch = both_forms(plugin, records)
    assert single == batch


def test_hoisting_shares_one_schema_among_all_batches() -> None:
    plugin = configured(HoistField(), field="m")
    batch = RecordBatch(length=1, topic="t", value=["a"], value_schema=STRING)
    first, second = plugin.apply_batch(batch), plugin.apply_batch(batch)
    assert first.value_schema is second.value_schema
    assert first.owned


def test_inserting_changes_the_dicts_of_an_owned_batch_in_place() -> None:
    rows = [{"a": "x"}, {"a": "y"}]
    batch = RecordBatch(length=2, topic="t", value=rows, value_schema=struct({"a": STRING}), owned=True)
    made = configured(InsertField(), static_field="s", static_value="v").apply_batch(batch)
    assert made.value is rows
    assert rows == [{"a": "x", "s": "v"}, {"a": "y", "s": "v"}]


def test_inserting_leaves_the_dicts_of_others_untouched() -> None:
    rows = [{"a": "x"}]
    batch = RecordBatch(length=1, topic="t", value=rows, value_schema=struct({"a": STRING}))
    made = configured(InsertField(), static_field="s", static_value="v").apply_batch(batch)
    assert rows == [{"a": "x"}]
    assert made.value == [{"a": "x", "s": "v"}]
    assert made.owned


def test_inserting_twice_into_the_same_dicts_changes_nothing_more() -> None:
    plugin = configured(InsertField(), static_field="s", static_value="v", topic_field="t")
    batch = RecordBatch(length=1, topic="t", value=[{"a": "x"}], value_schema=struct({"a": STRING}), owned=True)
    once = seen(plugin.apply_batch(batch))
    assert seen(plugin.apply_batch(batch)) == once
    assert [plugin.apply(r) for r in batch.records()] == once


def test_a_value_whose_field_is_not_named_is_refused() -> None:
    with pytest.raises(ConfigError):
        InsertField.Config.parse({"static.value": "x"})


def test_filter_leaves_nothing_of_a_batch() -> None:
    made = Filter().apply_batch(RecordBatch(length=2, topic="t", value=["a", "b"], offset=[1, 2]))
    assert len(made) == 0
    assert made.value == []
