"""Made-up records: typed, the same ones each time, at the rate that was asked for."""

import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from penstock import ConfigError, ConnectError, Instant, Limits, Offsets, Schema, SourcePartition, Type
from penstock_plugins.connectors.datagen.shapes import SHAPES
from penstock_plugins.connectors.datagen.source import Datagen, DatagenConfig, DatagenReader, DatagenSource

PLENTY = Limits(1_000_000, 1 << 30)


def config(**texts: str) -> DatagenConfig:
    return DatagenConfig.parse({"topic": "t", "rate": "0", **{k.replace("_", "."): v for k, v in texts.items()}})


def run(
    texts: DatagenConfig, start: Offsets | None = None, limits: Limits = PLENTY, batches: int = 1000
) -> tuple[dict[SourcePartition, list[Any]], Offsets]:
    source, reader = DatagenSource(texts), DatagenReader(texts)
    at = dict(start or {})
    source.start(at)
    rows: dict[SourcePartition, list[Any]] = {}
    for _ in range(batches):
        end = source.latest_offsets(at, limits)
        for part in source.partitions(at, end):
            (partition,) = part.offsets
            rows.setdefault(partition, []).extend(r for b in reader.read(part) for r in b.records())
        if not end:
            break
        at |= end
    return rows, at


def fits(schema: Schema, value: Any) -> bool:
    if value is None:
        return schema.optional
    match schema.type:
        case Type.STRUCT:
            return list(value) == [f.name for f in schema.fields] and all(
                fits(f.schema, value[f.name]) for f in schema.fields
            )
        case Type.ARRAY:
            assert schema.items is not None
            return isinstance(value, list) and all(fits(schema.items, v) for v in value)
        case Type.BYTES:
            return isinstance(value, Decimal) and value.as_tuple().exponent == -2
        case Type.INT64 if schema.name is not None:
            return type(value) is Instant
        case Type.INT64 | Type.INT32:
            return type(value) is int
        case Type.FLOAT64:
            return type(value) is float
        case Type.BOOLEAN:
            return type(value) is bool
        case _:
            return type(value) is str


@pytest.mark.parametrize("shape", SHAPES)
def test_every_value_fits_its_schema(shape: str) -> None:
    rows, _ = run(config(schema_type=shape, count="5000"))
    ((_, records),) = rows.items()
    assert len(records) == 5000
    assert all(r.value_schema == SHAPES[shape].schema and fits(r.value_schema, r.value) for r in records)
    optional = [f.name for f in SHAPES[shape].schema.fields if f.schema.optional]
    assert all(len({r.value[name] is None for r in records}) == 2 for name in optional)


def test_what_a_seed_gives_does_not_change_between_versions() -> None:
    rows, _ = run(config(count="1", key_field="order_id"))
    ((partition, (record,)),) = rows.items()
    assert dict(partition) == {"datagen": "orders", "partition": 0}
    assert record.key == 0
    assert record.value == {
        "order_id": 0,
        "ordered_at": Instant(1735689600901),
        "customer_id": 7936,
        "quantity": 2,
        "price": Decimal("7.28"),
        "discount": None,
        "paid": True,
        "tags": ["new"],
        "city": "Łódź",
    }


def test_a_run_that_resumes_makes_the_same_records() -> None:
    texts = config(count="9000", partitions="2", seed="7")
    whole, _ = run(texts)
    chance = random.Random(1)
    pieces: dict[SourcePartition, list[Any]] = {}
    at: Offsets = {}
    for _ in range(1000):
        more, at = run(texts, at, Limits(chance.randrange(1, 3000), 1 << 30), batches=1)
        for partition, rows in more.items():
            pieces.setdefault(partition, []).extend(rows)
        if not more:
            break
    assert pieces == whole


def test_partitions_and_seeds_make_different_records() -> None:
    rows, _ = run(config(count="10", partitions="2"))
    others, _ = run(config(count="5", seed="1"))
    values = [[{**r.value, "order_id": 0} for r in found] for found in (*rows.values(), *others.values())]
    assert all(values[i] != values[j] for i in range(3) for j in range(i))


def test_the_count_is_spread_over_all_partitions_of_all_tasks() -> None:
    connector = Datagen()
    texts = {"topic": "t", "rate": "0", "count": "11", "partitions": "5"}
    tasks = connector.task_configs(DatagenConfig.parse(texts), texts, 2)
    assert [t["task.partitions"] for t in tasks] == ["0,2,4", "1,3"]
    made = [{dict(p)["partition"]: len(r) for p, r in run(DatagenConfig.parse(t))[0].items()} for t in tasks]
    assert made == [{0: 3, 2: 2, 4: 2}, {1: 2, 3: 2}]


def test_there_are_no_more_tasks_than_partitions() -> None:
    texts = {"topic": "t", "partitions": "2"}
    assert len(Datagen().task_configs(DatagenConfig.parse(texts), texts, 8)) == 2


def test_the_rate_is_that_of_the_task_whatever_its_partitions() -> None:
    now = 100.0
    source = DatagenSource(config(rate="10", partitions="3"), lambda: now)
    at: Mapping[SourcePartition, Any] = {SourcePartition({"datagen": "orders", "partition": 1}): {"count": 50}}
    source.start(at)
    assert not source.latest_offsets(at, PLENTY)
    now += 1.05
    end = {**at, **source.latest_offsets(at, PLENTY)}
    assert sorted(o["count"] for o in end.values()) == [3, 4, 53]
    assert not source.latest_offsets(end, PLENTY)
    assert source.latest_offsets(at, PLENTY) == end
    now += 0.1
    assert len(source.latest_offsets(end, PLENTY)) == 1


def test_what_a_twentieth_of_a_second_makes_due_comes_together() -> None:
    now = 100.0
    source = DatagenSource(config(rate="1000"), lambda: now)
    source.start({})
    now += 0.048
    assert not source.latest_offsets({}, PLENTY)
    now += 0.048
    assert [o["count"] for o in source.latest_offsets({}, PLENTY).values()] == [50]


def test_limits_hold_for_the_task_as_a_whole() -> None:
    source = DatagenSource(config(partitions="4"))
    source.start({})
    assert [o["count"] for o in source.latest_offsets({}, Limits(1000, 1 << 30)).values()] == [250] * 4


def test_times_come_from_the_configuration_and_rise() -> None:
    rows, _ = run(config(count="100", epoch_ms="1000", step_ms="10"))
    times = [r.value["ordered_at"] for records in rows.values() for r in records]
    assert times == sorted(times)
    assert (times[0] // 10, times[-1] // 10) == (100, 199)


def test_a_record_that_a_transform_changed_comes_unchanged_when_read_again() -> None:
    texts = config(count="5000")
    source, reader = DatagenSource(texts), DatagenReader(texts)
    source.start({})
    (part,) = source.partitions({}, source.latest_offsets({}, PLENTY))
    first = [dict(row) for b in reader.read(part) for row in b.column("value")]
    for batch in reader.read(part):
        if batch.owned:
            for row in batch.column("value"):
                row.clear()
    assert [row for b in reader.read(part) for row in b.column("value")] == first


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({"key_field": "order"}, "key.field: orders has no field order"),
        ({"key_field": "order_i"}, "Did you mean order_id?"),
        ({"schema_type": "x"}, "String must be one of: orders, customers, clickstream"),
        ({"rate": "-1"}, "rate"),
        ({"count": "-1"}, "Value must be at least 0"),
        ({"partitions": "0"}, "Value must be at least 1"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(texts: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**texts)
    assert says in str(caught.value)


def test_wrong_offsets_are_refused() -> None:
    connector, texts = Datagen(), config()
    good = SourcePartition({"datagen": "orders", "partition": 0})
    assert connector.alter_offsets(texts, {good: {"count": 3}, SourcePartition({}): None})
    with pytest.raises(ConnectError, match="'datagen' and 'partition'"):
        connector.alter_offsets(texts, {SourcePartition({"x": 1}): {"count": 3}})
    for unknown in (
        SourcePartition({"datagen": "orders", "partition": 1}),
        SourcePartition({"datagen": "customers", "partition": 0}),
    ):
        with pytest.raises(ConnectError, match="this connector generates orders in partitions 0 to 0"):
            connector.alter_offsets(texts, {unknown: {"count": 3}})
        assert connector.alter_offsets(texts, {unknown: None})
    with pytest.raises(ConnectError, match="must be a non-negative integer"):
        connector.alter_offsets(texts, {good: {"count": "3"}})
