"""TimestampConverter and TimestampRouter: the promises of every transform, and what the conformance cases leave open."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    ConfigError,
    ConnectError,
    DataError,
    Fields,
    Instant,
    Int32,
    Int64,
    Record,
    RecordBatch,
    Same,
    Schema,
    Transform,
    Type,
)
from penstock.schema import DATE, INT32, INT64, OPTIONAL_STRING, STRING, TIMESTAMP, struct
from penstock.testing import TransformSuite
from penstock_plugins.transforms import timestamp_converter
from penstock_plugins.transforms.timestamp_converter import TimestampConverter
from penstock_plugins.transforms.timestamp_router import TimestampRouter

AT: Final = 1463716800123  # Friday, 20 May 2016, 04:00
LEAST, GREATEST = -(2**63), 2**63 - 1
ROW: Final = struct(
    {"t": Schema(Type.INT64, optional=True, default=7), "label": OPTIONAL_STRING, "n": INT32}, name="Row", version=2
)
RECORDS: Final = [
    Record(topic="a", value={"t": AT, "label": "x", "n": 1}, value_schema=ROW, key=5, key_schema=INT64, timestamp=AT),
    Record(topic="a", value={"t": None, "label": None, "n": 2}, value_schema=ROW, key=6, key_schema=INT64, timestamp=0),
    Record(topic="a", value={"t": -1, "label": None, "n": None}, value_schema=ROW, timestamp=-1),
    Record(topic="b", value=None, value_schema=ROW.as_optional(), timestamp=AT),
    Record(topic="b", value={"t": Instant(AT)}, value_schema=struct({"t": DATE}), timestamp=AT),
    Record(topic="b", value={"t": Instant(AT)}, value_schema=struct({"u": TIMESTAMP}), key="k"),
    Record(topic="b", value={"t": 1.5}, value_schema=struct({"t": Schema(Type.FLOAT64)})),
    Record(topic="b", value={"t": "2016-05-20"}, key={"t": Int32(1)}),
    Record(topic="b", value={"t": "nothing"}, key=Instant(AT)),
    Record(topic="b", value={"t": None}),
    Record(topic="b", value={"u": Int64(5)}, timestamp=AT),
    Record(topic="b", value=5, timestamp=AT),
    Record(topic="b", value="2016-05-20", value_schema=STRING, timestamp=AT),
    Record(topic=None, value=None, timestamp=AT),
]


class TestTimestampConverterOfAField(TransformSuite):
    plugin = TimestampConverter
    properties = {"field": "t", "target.type": "string", "format": "yyyy-MM-dd"}  # noqa: RUF012
    records = RECORDS


class TestTimestampConverterOfWholeValues(TransformSuite):
    plugin = TimestampConverter
    properties = {"target.type": "Timestamp", "format": "yyyy-MM-dd"}  # noqa: RUF012
    records = RECORDS


class TestTimestampConverterOfKeys(TransformSuite):
    plugin = TimestampConverter
    fails_by = (ConnectError, TypeError)
    properties = {"target.type": "Date", "unix.precision": "seconds"}  # noqa: RUF012
    records = RECORDS
    side = "key"


class TestTimestampRouter(TransformSuite):
    plugin = TimestampRouter
    fails_by = (ConnectError, TypeError)
    properties = {"topic.format": "${topic}_${timestamp}"}  # noqa: RUF012
    records = RECORDS


def converter(side: str = "value", **texts: str) -> TimestampConverter:
    plugin = TimestampConverter()
    plugin.side = side
    names = {"target": "target.type", "precision": "unix.precision", "replace": "replace.null.with.default"}
    plugin.configure(TimestampConverter.Config.parse({names.get(n, n): t for n, t in texts.items()}))
    return plugin


def router(**texts: str) -> TimestampRouter:
    plugin = TimestampRouter()
    plugin.configure(TimestampRouter.Config.parse({f"{n}.format": t for n, t in texts.items()}))
    return plugin


def value_of(plugin: Transform, value: Any, schema: Schema | None = None) -> Any:
    made = plugin.apply(Record(topic="t", value=value, value_schema=schema))
    assert made is not None
    return made.value


def outcomes(plugin: Transform, records: list[Record]) -> list[object]:
    found: list[object] = []
    for record in records:
        try:
            found.append(plugin.apply(record))
        except Exception as e:  # noqa: BLE001 (an error is an outcome, too)
            found.append(type(e))
    return found


@pytest.mark.parametrize(
    ("precision", "unix", "millis", "back"),
    [
        ("seconds", -2, -2000, -2),
        ("seconds", GREATEST, GREATEST, GREATEST // 1000),
        ("seconds", LEAST, LEAST, -(2**63 // 1000)),
        ("milliseconds", LEAST, LEAST, LEAST),
        ("microseconds", -1999, -1, -1000),
        ("microseconds", 1999, 1, 1000),
        ("nanoseconds", -1_999_999, -1, -1_000_000),
        ("nanoseconds", GREATEST, 9223372036854, 9223372036854000000),
    ],
)
def test_units_go_through_millis_cut_toward_zero_and_held_at_the_bounds(
    precision: str, unix: int, millis: int, back: int
) -> None:
    assert value_of(converter(target="Timestamp", precision=precision), unix) == millis
    assert value_of(converter(target="unix", precision=precision), unix) == back
    batch = RecordBatch(length=3, topic="t", value=[unix, None, 0])
    assert converter(target="Timestamp", precision=precision).apply_batch(batch).value == [millis, None, 0]
    assert converter(target="unix", precision=precision).apply_batch(batch).value == [back, None, 0]


def test_the_first_day_of_64_bits_wraps() -> None:
    start = LEAST // 86_400_000 * 86_400_000 + 2**64
    assert value_of(converter(target="Date"), LEAST) == start
    assert converter(target="Date").apply_batch(RecordBatch(length=1, topic="t", value=[LEAST])).value == [start]


@pytest.mark.parametrize("value", [Int32(5), 1.5, True, b"", [], 2**63, {"a": 1}])
def test_other_classes_are_no_timestamps(value: object) -> None:
    with pytest.raises(DataError, match=r"does not support class .* objects as timestamps"):
        value_of(converter(target="unix"), value)


@pytest.mark.parametrize(
    ("schema", "value"), [(INT64, Instant(5)), (INT64, "5"), (STRING, 5), (DATE, 5), (TIMESTAMP, 5)]
)
def test_a_value_must_be_of_its_schema(schema: Schema, value: object) -> None:
    with pytest.raises(DataError, match="Expected"):
        value_of(converter(target="unix", format="yyyy"), value, schema)


def test_a_text_needs_a_format() -> None:
    with pytest.raises(TypeError, match="set 'format'"):
        value_of(converter(target="unix"), "2016")


def test_a_text_that_does_not_fit_is_an_error_that_does_not_show_it() -> None:
    with pytest.raises(DataError, match=r"does not match pattern \(yyyy\)") as raised:
        value_of(converter(target="unix", format="yyyy"), "secret")
    assert "secret" not in str(raised.value)


def test_the_default_of_a_struct_is_converted_once_and_that_of_the_field_is_lost() -> None:
    fields = {"t": Schema(Type.INT64, default=5), "n": INT32}
    old = Schema(Type.STRUCT, optional=True, fields=struct(fields).fields, default={"t": AT, "n": 1}, doc="d")
    plugin = converter(target="Timestamp", field="t")
    first = plugin.apply(Record(topic="t", value={"t": None, "n": 2}, value_schema=old))
    assert first.value == {"t": Instant(5), "n": 2}
    schema = first.value_schema
    assert schema is not None
    assert (schema.optional, schema.doc, schema.default) == (True, "d", {"t": Instant(AT), "n": 1})
    assert schema.fields[0].schema == TIMESTAMP
    assert plugin.apply(Record(topic="t", value=None, value_schema=old)).value_schema is schema


def test_without_replacement_a_null_in_a_required_field_fails() -> None:
    schema = struct({"t": Schema(Type.INT64, default=5)})
    with pytest.raises(DataError, match='null used for required field: "t"'):
        value_of(converter(target="Timestamp", field="t", replace="false"), {"t": None}, schema)


def test_fields_fail_in_their_order() -> None:
    schema = struct({"t": Schema(Type.BOOLEAN), "n": INT32})
    with pytest.raises(ConnectError, match="known timestamp type format"):
        value_of(converter(target="unix", field="t"), {"t": True, "n": None}, schema)


def test_columns_stay_columns_and_others_are_shared() -> None:
    label, stamps = ["x", "y"], [AT, None]
    fields = Fields({"t": stamps, "label": label, "n": Same(1)}, 2)
    made = converter(target="string", field="t", format="HH:mm", replace="false").apply_batch(
        RecordBatch(length=2, topic="t", value=fields, value_schema=ROW.as_optional())
    )
    assert made.value == [{"t": "04:00", "label": "x", "n": 1}, {"t": None, "label": "y", "n": 1}]
    kept = RecordBatch(
        length=2, topic="t", value=Fields({"t": [AT, 0], "label": label, "n": Same(1)}, 2), value_schema=ROW
    )
    found = converter(target="string", field="t", format="HH:mm").apply_batch(kept).fields
    assert found is not None
    assert found.columns["label"] is label
    assert found.columns["t"] == ["04:00", "00:00"]


ZONED: Final = [
    "2016-05-20 04:00 PST",
    "2016-05-20 04:00 CST",
    "2016-05-20 04:00 China Standard Time",
    "never",
    "",
    None,
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(ZONED) | st.just(Instant(AT)), max_size=6), st.booleans(), st.booleans())
def test_a_batch_leaves_the_zone_that_its_texts_name_as_each_record_would(
    values: list[Any], whole: bool, same: bool
) -> None:
    texts = {"target": "string", "format": "yyyy-MM-dd HH:mm z"} | ({} if whole else {"field": "t"})
    values = values[:1] * 3 if same else values
    records = [Record(topic="t", value=v if whole else {"t": v}) for v in values]
    batch = RecordBatch.of(records)
    if same and not whole and records:
        batch = batch.replace(value=Fields({"t": Same(values[0])}, 3))
    single, together = converter(**texts), converter(**texts)
    expected = outcomes(single, records)
    try:
        found: list[object] = list(together.apply_batch(batch).records())
    except DataError:
        found = outcomes(together, list(batch.records()))
    assert found == expected
    last = [Record(topic="t", value=Instant(AT) if whole else {"t": Instant(AT)})]
    assert outcomes(together, last) == outcomes(single, last)


def test_a_text_as_target_needs_a_format() -> None:
    with pytest.raises(ConfigError, match="requires format option"):
        converter(target="string")


def test_names_of_zones_are_refused_where_their_rules_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timestamp_converter, "rules_are_there", lambda: False)
    with pytest.raises(ConfigError, match="tzdata"):
        converter(target="unix", format="HH:mm z")
    assert value_of(converter(target="unix", format="HH:mmX"), "01:00+01") == 0


def test_a_router_puts_in_the_topic_first_and_then_the_timestamp() -> None:
    plugin = router(topic="${timestamp}/${topic}/${other}", timestamp="yyyy")
    assert plugin.apply(Record(topic="a${timestamp}$1\\", value=1, timestamp=AT)).topic == "2016/a2016$1\\/${other}"


def test_a_router_gives_a_batch_of_one_day_one_topic() -> None:
    batch = RecordBatch(length=3, topic="t", value=[1, 2, 3], timestamp=[AT, AT + 1, AT - 1])
    assert router().apply_batch(batch).topic == "t-20160520"
    assert router(timestamp="SSS").apply_batch(batch).topic == ["t-123", "t-124", "t-122"]


def test_a_wrong_timestamp_format_shows_with_the_first_timestamp() -> None:
    plugin = router(timestamp="yyyy-bb")
    with pytest.raises(DataError, match="Timestamp missing on record"):
        plugin.apply(Record(topic="t", value=1))
    with pytest.raises(ValueError, match=r"timestamp\.format: Illegal pattern character 'b'"):
        plugin.apply(Record(topic=None, value=1, timestamp=AT))


def test_a_router_needs_a_topic() -> None:
    with pytest.raises(TypeError, match="without a topic"):
        router(topic="fixed").apply(Record(topic=None, value=1, timestamp=AT))
