"""A backlog of one table is cut into ranges, each of which is read once."""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest

from penstock import ConnectError, InputPartition, Limits, Offsets, SourcePartition
from penstock.offsets import updated
from penstock.testing._making import make, parsed
from penstock_sql.ranges import first_round, removed, round_of
from penstock_sql.source import SqlSource

TABLE = SourcePartition({"protocol": "1", "table": "public.orders"})
BY_ID = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "shop.", "poll.interval.ms": "0"}
BY_TIME = {"mode": "timestamp", "timestamp.column.name": "at", "topic.prefix": "shop.", "poll.interval.ms": "0"}
MANY = Limits(8_000, 1 << 30)


def places(*numbers: int) -> list[Any]:
    return [{"incrementing": number} for number in numbers]


def test_a_range_that_was_committed_tells_which_others_are_left() -> None:
    offsets = {TABLE: {"incrementing": 0}}
    planned = first_round({"incrementing": 0}, places(5, 9, 12)).read(TABLE, range(3))
    assert len(planned) == 3
    for count in (1, 2, 3):
        for done in itertools.combinations(planned, count):
            found = round_of(TABLE, {**offsets, **{p: planned[p] for p in done}})
            assert found is not None
            assert set(found.read(TABLE, [*found.left])) == set(planned) - set(done)
            assert found.end == {"incrementing": 12}


def test_the_last_round_says_where_the_table_stands() -> None:
    first = first_round(None, places(5, 9, 12))
    second = first.next(places(20, 30))
    found = round_of(TABLE, {**first.read(TABLE, range(3)), **second.read(TABLE, [0])})
    assert found is not None
    assert (found.number, found.end) == (2, {"incrementing": 30})
    assert found.left == {1: tuple(places(20, 30))}


def test_what_is_left_of_a_round_is_cut_where_a_batch_may_have_less() -> None:
    first = first_round(None, places(5, 9, 12))
    found = round_of(TABLE, first.read(TABLE, [1]))
    assert found is not None
    cut = found.cut(places(2)[0])
    assert cut.ranges == ((None, *places(2)), tuple(places(2, 5)), tuple(places(9, 12)))
    found = round_of(TABLE, {**first.read(TABLE, [1]), **cut.read(TABLE, [0])})
    assert found is not None
    assert found.left == {1: tuple(places(2, 5)), 2: tuple(places(9, 12))}
    assert found.end == {"incrementing": 12}


def test_ranges_count_no_more_once_the_offset_of_their_table_was_altered() -> None:
    ranges = first_round(None, places(5, 9)).read(TABLE, [0, 1])
    assert round_of(TABLE, {**ranges, TABLE: {"incrementing": 2}}) is None
    assert removed(TABLE, {**ranges, TABLE: {"incrementing": 2}}) == dict.fromkeys(ranges)


def test_tables_have_their_own_ranges() -> None:
    other = SourcePartition({"protocol": "1", "table": "public.others"})
    assert round_of(other, first_round(None, places(5, 9)).read(TABLE, [0, 1])) is None


@contextmanager
def life(properties: Mapping[str, str], offsets: Offsets) -> Iterator[Any]:
    source = make(SqlSource).source(parsed(SqlSource, properties))
    try:
        source.start(offsets)
        yield source
    finally:
        source.stop()


def rows(properties: Mapping[str, str], part: InputPartition) -> list[int]:
    with closing(make(SqlSource).reader(parsed(SqlSource, properties))) as reader:
        portions: Any = reader.read(part)
        return [record.value["id"] for batch in portions for record in batch.records()]


def plan(source: Any, offsets: Offsets, limits: Limits = MANY) -> Sequence[InputPartition]:
    end = source.latest_offsets(offsets, limits)
    return list(source.partitions(offsets, end)) if end else []


@pytest.mark.parametrize("mode", [BY_ID, BY_TIME])
@pytest.mark.parametrize("seed", range(4))
def test_each_row_is_read_once_whatever_part_of_a_batch_is_lost(
    database: Any, mode: Mapping[str, str], seed: int
) -> None:
    """Rows that come meanwhile included; a part that is lost has committed neither records nor offset."""
    dice = random.Random(seed)
    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL)")
    add = "INSERT INTO orders (at) SELECT clock_timestamp() - interval '{} h' FROM generate_series(1, {})"
    database.run(add.format(9, 20_000))
    properties = {**database.properties, **mode, "backlog.ranges": "4"}
    offsets: Offsets = {}
    read: list[int] = []
    most, empty = 0, 0
    for step in itertools.count():
        with life(properties, offsets) as source:
            for _ in range(dice.randrange(1, 4)):
                limits = Limits(dice.choice([1_000, 8_000, 8_000, 30_000]), 1 << 30)
                parts = plan(source, offsets, limits)
                most = max(most, len(parts))
                empty = 0 if parts else empty + 1
                kept = [part for part in parts if dice.random() < 0.6]
                sizes = []
                for part in kept:
                    found = rows(properties, part)
                    sizes.append(len(found))
                    read += found
                    offsets = updated(offsets, part.offsets)
                assert sum(sizes) <= limits.records
                if len(kept) < len(parts):
                    break  # the task begins anew
        if step in (2, 4):
            database.run(add.format(8 - step, 9_000))
        if step > 5 and empty:
            break
    assert most == 4
    assert sorted(read) == list(range(1, 38_001))
    assert list(offsets) == [TABLE], "ranges are removed in the end"


def test_few_rows_are_read_in_one_piece(database: Any) -> None:
    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY)")
    database.run("INSERT INTO orders SELECT FROM generate_series(1, 20000)")
    with life({**database.properties, **BY_ID, "backlog.ranges": "4"}, {}) as source:
        (part,) = plan(source, {}, Limits(2_000, 1 << 30))
        assert list(part.offsets) == [TABLE]
    with life({**database.properties, **BY_ID}, {}) as source:
        assert len(plan(source, {})) == 1, "unless they are asked for"


def test_ranges_of_the_same_moment_are_one(database: Any) -> None:
    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL)")
    database.run("INSERT INTO orders (at) SELECT timestamptz '2026-01-01' FROM generate_series(1, 9000)")
    properties = {**database.properties, **BY_TIME, "backlog.ranges": "4"}
    with life(properties, {}) as source:
        (part,) = plan(source, {})
        assert len(rows(properties, part)) == 9_000


def test_the_offset_of_a_range_is_removed_but_never_set(database: Any) -> None:
    connector = make(SqlSource)
    config = parsed(SqlSource, {**database.properties, **BY_ID})
    (partition, offset), *_ = first_round(None, places(5, 9)).read(TABLE, [0, 1]).items()
    assert connector.alter_offsets(config, {partition: None, TABLE: {"incrementing": 7}})
    with pytest.raises(ConnectError, match="Only the connector sets the offset of a range"):
        connector.alter_offsets(config, {partition: offset})


def test_a_broken_offset_of_a_range_is_told() -> None:
    partition = SourcePartition({**TABLE, "range": 0})
    with pytest.raises(ConnectError, match="is no offset of a range, which only the connector sets: remove it"):
        round_of(TABLE, {partition: {"incrementing": 5}})
