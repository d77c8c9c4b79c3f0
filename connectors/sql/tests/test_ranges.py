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
from penstock_sql.names import TableName
from penstock_sql.source import SqlSource
from penstock_sql.source.range_offsets import TableProgress, progress_of_tables
from penstock_sql.source.streams import partition_of

TABLE = SourcePartition({"protocol": "1", "table": "public.orders"})
BY_ID = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "shop.", "poll.interval.ms": "0"}
BY_TIME = {"mode": "timestamp", "timestamp.column.name": "at", "topic.prefix": "shop.", "poll.interval.ms": "0"}
MANY = Limits(8_000, 1 << 30)


BY = "order"


def places(*numbers: int) -> list[Any]:
    return [{"incrementing": number} for number in numbers]


def progress(offsets: Offsets, by: str = BY) -> TableProgress:
    return progress_of_tables([TABLE], offsets, by)[TABLE]


def read_of(at: TableProgress, *ends: int) -> Any:
    """What is committed when all ranges that end there are read."""
    return at.divided(places(*ends), BY)


def some(planned: Any, *numbers: int) -> Any:
    return {p: o for p, o in planned.items() if p["range"] in numbers}


def left(at: TableProgress) -> Mapping[int, Any]:
    assert at.round is not None
    return at.round.left


def test_a_range_that_was_committed_shows_which_others_are_left() -> None:
    offsets = {TABLE: {"incrementing": 0}}
    planned = read_of(progress(offsets), 5, 9, 12)
    assert len(planned) == 3
    for count in (1, 2, 3):
        for done in itertools.combinations(range(3), count):
            at = progress({**offsets, **some(planned, *done)})
            assert set(left(at)) == {0, 1, 2} - set(done)
            assert at.position == {"incrementing": 12}


def test_the_last_round_has_the_position_of_the_table() -> None:
    first = read_of(progress({}), 5, 9, 12)
    second = read_of(progress(first), 20, 30)
    at = progress({**first, **some(second, 0)})
    assert at.position == {"incrementing": 30}
    assert left(at) == {1: tuple(places(20, 30))}


def test_what_is_left_of_a_round_is_cut_where_a_batch_may_have_less() -> None:
    first = some(read_of(progress({}), 5, 9, 12), 1)
    of = progress(first).round
    assert of is not None
    cut = of.cut(places(2)[0])
    assert cut.ranges == ((None, *places(2)), tuple(places(2, 5)), tuple(places(9, 12)))
    at = progress({**first, **cut.read(TABLE, [0])})
    assert left(at) == {1: tuple(places(2, 5)), 2: tuple(places(9, 12))}
    assert at.position == {"incrementing": 12}


def test_ranges_are_invalid_after_the_tables_offset_or_order_was_altered() -> None:
    ranges = read_of(progress({}), 5, 9)
    for at in (progress({**ranges, TABLE: {"incrementing": 2}}), progress(ranges, "another order")):
        assert at.round is None
        assert at.whole(None) == dict.fromkeys(ranges)


def test_tables_have_their_own_ranges() -> None:
    other = SourcePartition({"protocol": "1", "table": "public.others"})
    assert progress_of_tables([other], read_of(progress({}), 5, 9), BY)[other].round is None


def test_concurrent_rounds_of_two_processes_are_not_merged() -> None:
    first, second = read_of(progress({}), 5_000, 9_000, 12_000), read_of(progress({}), 10, 20, 30)
    at = progress({**some(first, 0), **some(second, 1)})
    assert left(at) in (
        {0: (None, *places(10)), 2: tuple(places(20, 30))},
        {1: tuple(places(5_000, 9_000)), 2: tuple(places(9_000, 12_000))},
    )


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
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_each_row_is_read_once_if_any_part_of_a_batch_is_lost(
    database: Any, mode: Mapping[str, str], seed: int
) -> None:
    """Rows that come meanwhile included; a part that is lost has committed neither records nor offset."""
    dice = random.Random(seed)
    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL)")
    # Each row has a moment of its own: a batch may not end within one, so equal ones would exceed its limit.
    add = "INSERT INTO orders (at) SELECT now() - interval '{} h' + n * interval '1 ms' FROM generate_series(1, {}) n"
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


def deliver(properties: Mapping[str, str], offsets: Offsets) -> list[int]:
    """Everything, from offsets on."""
    found: list[int] = []
    with life(properties, offsets) as source:
        while parts := plan(source, offsets):
            for part in parts:
                found += rows(properties, part)
                offsets = updated(offsets, part.offsets)
    assert list(offsets) == [TABLE], "ranges are removed in the end"
    return found


@pytest.mark.parametrize("mode", ["timestamp+incrementing", "incrementing", "bulk"])
def test_another_mode_in_the_middle_of_a_round_loses_no_row(database: Any, mode: str) -> None:
    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL)")
    database.run(
        "INSERT INTO orders (at) SELECT timestamptz '2026-01-01' + n / 1000 * interval '1 s' FROM generate_series(0, 7999) n"
    )
    before = {**database.properties, **BY_TIME, "backlog.ranges": "4"}
    with life(before, {}) as source:
        part = plan(source, {})[1]
    now = {**before, "mode": mode, "incrementing.column.name": "id", "poll.interval.ms": "60000"}
    if mode == "bulk":
        del now["backlog.ranges"]
    assert {*rows(before, part), *deliver(now, updated({}, part.offsets))} == set(range(1, 8_001))


def test_ranges_of_a_table_of_confluents_name_are_no_tables() -> None:
    theirs = SourcePartition({"protocol": "1", "table": "shop.public.orders"})
    ranges = {SourcePartition({**theirs, "range": 0}): {"round": 1}}
    assert partition_of(TableName("public", "orders"), {**ranges, theirs: {"incrementing": 5}}) == theirs


def test_rows_without_a_number_are_passed_over_and_no_other_comes_twice(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT, at TIMESTAMPTZ NOT NULL DEFAULT '2026-01-01')")
    database.run("INSERT INTO orders SELECT n FROM generate_series(1, 5000) n")
    database.run("INSERT INTO orders SELECT NULL FROM generate_series(1, 3000)")
    properties = {
        **database.properties, **BY_TIME, "mode": "timestamp+incrementing", "incrementing.column.name": "id",
        "validate.non.null": "false", "backlog.ranges": "4",
    }  # fmt: skip
    assert sorted(deliver(properties, {TABLE: {"timestamp": 0, "incrementing": 0}})) == list(range(1, 5_001))


def test_a_table_whose_offset_was_altered_back_and_forth_begins_there(database: Any) -> None:
    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY)")
    database.run("INSERT INTO orders SELECT FROM generate_series(1, 9000)")
    properties = {**database.properties, **BY_ID, "backlog.ranges": "4"}
    offsets: Offsets = {TABLE: {"incrementing": 5}}
    with life(properties, offsets) as source:
        offsets = updated(offsets, plan(source, offsets)[0].offsets)
    offsets = updated(offsets, {TABLE: {"incrementing": 1_000_000}})
    with life(properties, offsets) as source:
        (part,) = plan(source, offsets)
        assert rows(properties, part) == []
        offsets = updated(offsets, part.offsets)
    assert len(deliver(properties, updated(offsets, {TABLE: {"incrementing": 5}}))) == 8_995


def test_no_range_has_few_rows(database: Any) -> None:
    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY)")
    database.run("INSERT INTO orders SELECT FROM generate_series(1, 9000)")
    with life({**database.properties, **BY_ID, "backlog.ranges": "64"}, {}) as source:
        assert len(plan(source, {}, Limits(100_000, 1 << 30))) == 4


def test_the_offset_of_a_range_is_removed_but_never_set(database: Any) -> None:
    connector = make(SqlSource)
    config = parsed(SqlSource, {**database.properties, **BY_ID})
    (partition, offset), *_ = read_of(progress({}), 5, 9).items()
    assert connector.alter_offsets(config, {partition: None, TABLE: {"incrementing": 7}})
    with pytest.raises(ConnectError, match="only the connector sets it"):
        connector.alter_offsets(config, {partition: offset})


def test_a_broken_offset_of_a_range_is_reported() -> None:
    partition = SourcePartition({**TABLE, "range": 0})
    with pytest.raises(
        ConnectError, match="is not an offset of a range, which only the connector sets; remove those of all"
    ):
        progress({partition: {"incrementing": 5}})
