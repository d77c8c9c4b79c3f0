"""A backlog of a PySpark data source is read in parts, each row once."""

import random
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock import ConnectError, InputPartition, Limits, Offset, Offsets, SourcePartition
from penstock.offsets import updated
from penstock_plugins.connectors.spark.cuts import cut
from penstock_plugins.connectors.spark.rounds import Round, RoundProgress, is_backlog, progress
from penstock_plugins.connectors.spark.source import SparkDataSource, SparkSource, SparkSourceConfig, SparkSourceReader
from penstock_runtime.pipeline.batch_sizing import AdaptiveBatchSize
from penstock_runtime.spark.backlog import is_sources_backlog

SMALL, MANY = Limits(2_000, 256 << 10), Limits(128_000, 16 << 20)

SOURCES = """
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    called, shuffled, width = [], [False], [5]

    class Span(InputPartition):
        def __init__(self, start, end):
            self.start, self.end = start, end

    class Spans(DataSource):
        '''A hundred rows with each batch, in five partitions.'''
        def schema(self):
            return "n bigint not null"
        def streamReader(self, schema):
            return self.Reader()
        class Reader(DataSourceStreamReader):
            def initialOffset(self):
                return {"row": 0}
            def latestOffset(self, start, limit):
                return {"row": min(1000, start["row"] + 100)}
            def partitions(self, start, end):
                called.append(("partitions", start["row"]))
                a, b, n = start["row"], end["row"], width[0]
                cuts = [a + (b - a) * i // n for i in range(n + 1)]
                spans = [Span({"row": c}, {"row": d}) for c, d in zip(cuts, cuts[1:])]
                return spans[::-1] if shuffled[0] else spans
            def read(self, partition):
                for n in range(partition.start["row"], partition.end["row"]):
                    yield (n,)
            def commit(self, end):
                called.append(("commit", end["row"]))
            def stop(self):
                pass

    class Moving(Spans):
        '''It begins elsewhere each time.'''
        class Reader(Spans.Reader):
            def initialOffset(self):
                called.append("initial")
                return {"row": 10 * len(called)}
"""
SOURCE = SourcePartition({"source": "backlogs:Spans"})


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "backlogs.py").write_text(textwrap.dedent(SOURCES))
    monkeypatch.syspath_prepend(tmp_path)
    import backlogs  # type: ignore[import-not-found]

    yield backlogs
    del sys.modules["backlogs"]


def config(name: str = "Spans") -> SparkSourceConfig:
    return SparkSourceConfig.parse({"data.source": f"backlogs:{name}", "topic": "t"})


def life(offsets: Offsets, name: str = "Spans") -> SparkSource:
    source = SparkSource(config(name))
    source.start(offsets)
    return source


def plan(source: SparkSource, offsets: Offsets, limits: Limits = MANY) -> Sequence[InputPartition]:
    end: Any = source.latest_offsets(offsets, limits)
    return source.partitions(offsets, end) if end else []


def rows(parts: Sequence[InputPartition]) -> list[int]:
    """As another process reads them."""
    reader = SparkSourceReader(config())
    sent = [InputPartition(msgspec.msgpack.decode(msgspec.msgpack.encode(part.data))) for part in parts]
    return [value["n"] for part in sent for batch in reader.read(part) for value in batch.column("value")]


def committed(offsets: Offsets, parts: Sequence[InputPartition]) -> dict[SourcePartition, Offset]:
    for part in parts:
        offsets = updated(offsets, part.offsets)
    return dict(offsets)


def begun(*done: int) -> dict[SourcePartition, Offset]:
    """A round of five parts from 100 to 200, of which some are read."""
    offsets = {SOURCE: {"row": 100}}
    return committed(offsets, [plan(life(offsets), offsets)[number] for number in done])


def test_limits_are_a_backlog_from_where_sparks_workers_take_over() -> None:
    for most in (Limits(500_000, 64 << 20), Limits(40, 64 << 20), Limits(500_000, 1 << 20), Limits(40, 1 << 20)):
        size = AdaptiveBatchSize(most, seconds=5.0)
        for _ in range(10):
            assert is_backlog(size.limits) == is_sources_backlog(size, ())
            size.done(size.limits.records, size.limits.bytes, 0.1)


def test_a_part_that_was_read_shows_which_others_are_left() -> None:
    of = Round({"row": 1}, {"row": 9}, 4, "d")
    offsets = {SOURCE: {"row": 1}, **of.read(SOURCE, [2, 0])}
    at = progress(SOURCE, {"row": 1}, offsets)
    assert (at.round, at.left) == (of, (1, 3))
    assert set(at.closed()) == set(of.read(SOURCE, [0, 2]))


def test_parts_count_only_for_the_offset_at_which_they_begin() -> None:
    offsets = Round({"row": 1}, {"row": 9}, 4, "d").read(SOURCE, [0])
    for elsewhere in ({"row": 2}, None):
        assert progress(SOURCE, elsewhere, offsets) == RoundProgress(tuple(offsets))
    assert progress(SourcePartition({"source": "other"}), {"row": 1}, offsets) == RoundProgress()


def test_rounds_of_two_processes_that_write_at_the_same_time_are_not_taken_for_one() -> None:
    one, other = Round({"row": 1}, {"row": 9}, 3, "d"), Round({"row": 1}, {"row": 7}, 3, "e")
    at = progress(SOURCE, {"row": 1}, {**one.read(SOURCE, [0]), **other.read(SOURCE, [1, 2])})
    assert (at.round, at.left) == (other, (0,))


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, {"parts": "4"}),
        (0, {"start": "[1]"}),
        (0, {"end": "{"}),
        (0, {"more": 1}),
        (4, {}),
        (-1, {}),
        ("0", {}),
        (True, {}),
    ],
)
def test_what_is_no_offset_of_a_part_is_reported_wherever_it_is_met(number: Any, change: Any) -> None:
    offset = {**Round({"row": 1}, {"row": 9}, 4, "d").offset, **change}
    offsets = {SourcePartition({**SOURCE, "part": number}): offset}
    with pytest.raises(ConnectError, match="is not in the form that this connector writes; remove the offsets of"):
        life(offsets).latest_offsets(offsets, MANY)
    with pytest.raises(ConnectError, match="is not in the form that"):
        SparkDataSource().alter_offsets(config(), offsets)


def test_offsets_of_parts_may_be_put_back_and_removed() -> None:
    offsets = begun(0, 3)
    assert len(offsets) == 3
    for given in (offsets, dict.fromkeys(offsets)):
        assert SparkDataSource().alter_offsets(config(), given) is False
    with pytest.raises(ConnectError, match=r"only the partition .*backlogs:Spans.* and, during a backlog, those of"):
        SparkDataSource().alter_offsets(config(), {SourcePartition({"source": "x", "part": 0}): {"row": 1}})


def test_a_trickle_is_one_part_and_a_backlog_one_for_each_partition(sources: Any) -> None:
    offsets = {SOURCE: {"row": 100}}
    (whole,) = plan(life(offsets), offsets, SMALL)
    assert rows([whole]) == list(range(100, 200))
    assert whole.offsets == {SOURCE: {"row": 200}}
    parts = plan(life(offsets), offsets)
    assert sorted(rows([part])[0] for part in parts) == [100, 120, 140, 160, 180]
    assert sources.called == [("partitions", 100)] * 2, "each plan asks once"


def test_a_backlog_of_one_partition_has_no_parts(sources: Any) -> None:
    sources.width[0] = 1
    offsets = {SOURCE: {"row": 100}}
    (whole,) = plan(life(offsets), offsets)
    assert rows([whole]) == list(range(100, 200))
    assert whole.offsets == {SOURCE: {"row": 200}}
    assert sources.called == [("partitions", 100)]


def test_many_partitions_share_a_bounded_number_of_parts_each_in_the_order_of_the_reader(sources: Any) -> None:
    sources.width[0] = 100
    offsets = {SOURCE: {"row": 100}}
    parts = plan(life(offsets), offsets)
    assert len(parts) == 32
    assert sorted(rows(parts)) == list(range(100, 200))
    for part in parts:
        assert rows([part]) == sorted(rows([part]))


def test_after_a_crash_the_parts_that_are_left_are_read_one_by_one_until_there_is_a_backlog_again() -> None:
    offsets = begun(0, 3)
    source = life(offsets)
    assert len(plan(source, offsets)) == 3
    (first,) = plan(source, offsets, SMALL)
    left = plan(source, committed(offsets, [first]))
    assert len(left) == 2
    read = [p for p in plan(life({SOURCE: {"row": 100}}), {SOURCE: {"row": 100}}) if p.offsets.keys() & offsets.keys()]
    assert sorted(rows([*read, first, *left])) == list(range(100, 200))


def test_the_offset_moves_on_and_the_parts_go_in_one_batch_of_the_driver_once_all_are_read(sources: Any) -> None:
    offsets = begun(0, 1, 2, 3, 4)
    source = life(offsets)
    source.commit(offsets)
    (closing,) = plan(source, offsets)
    assert closing.local
    assert rows([closing]) == []
    offsets = committed(offsets, [closing])
    assert offsets == {SOURCE: {"row": 200}}
    source.commit(offsets)
    source.commit(offsets)
    assert [c for c in sources.called if c[0] == "commit"] == [("commit", 200)]


def test_an_offset_that_was_altered_amid_a_round_counts_and_the_parts_go_first() -> None:
    for altered, first in (({"row": 500}, 500), (None, 0)):
        offsets = updated(begun(0, 3), {SOURCE: altered})
        source = life(offsets)
        (clearing,) = plan(source, offsets)
        offsets = committed(offsets, [clearing])
        assert offsets == ({} if altered is None else {SOURCE: altered})
        assert min(rows(plan(source, offsets))) == first


def test_parts_whose_offsets_were_removed_are_read_again() -> None:
    assert len(plan(life({}), updated(begun(0, 3), dict.fromkeys(begun(3).keys() - {SOURCE})))) == 4


def test_a_round_begins_only_at_an_offset_that_is_committed(sources: Any) -> None:
    """Before the first one, the next life may begin elsewhere."""
    (whole,) = plan(life({}, "Moving"), {})
    assert whole.offsets == {SourcePartition({"source": "backlogs:Moving"}): {"row": 110}}


@pytest.mark.parametrize("now", [4, 6])
def test_a_reader_that_gives_other_partitions_for_the_same_offsets_fails_before_anything_is_read(
    sources: Any, now: int
) -> None:
    offsets = begun(0, 3)
    sources.width[0] = now
    source = life(offsets)
    with pytest.raises(ConnectError) as failure:
        plan(source, offsets)
    assert "2 of 5 parts of the rows from {'row': 100} to {'row': 200} are in Kafka" in str(failure.value)
    sources.width[0] = 5
    assert len(plan(source, offsets)) == 3


def test_the_order_in_which_partitions_are_named_does_not_count(sources: Any) -> None:
    offsets = begun(0, 3)
    before = rows(plan(life(offsets), offsets))
    sources.shuffled[0] = True
    assert sorted(rows(plan(life(offsets), offsets))) == sorted(before)


class Held:
    """A partition of a reader, as far as it can be pickled."""

    def __init__(self, *values: Any) -> None:
        self.values = values


def test_a_digest_depends_on_values_and_not_on_which_of_them_are_one_object() -> None:
    name = "a long enough name"
    same, other = [Held(name, name)], [Held(name, "".join(list(name)))]
    assert cut(same).digest == cut(other).digest
    assert cut(same).digest != cut([Held(name, "another name")]).digest
    holding = Held([])
    holding.values[0].append(holding)
    assert len(cut([holding, Held(1)]).parts) == 2, "one that holds itself"


@pytest.mark.parametrize("seed", range(20))
def test_each_row_is_read_once_if_any_parts_of_batches_are_lost(seed: int) -> None:
    """A part that is lost has committed neither records nor offset."""
    dice = random.Random(seed)
    offsets: Offsets = {}
    read: list[int] = []
    for _ in range(400):
        source = life(offsets)
        for _ in range(dice.randrange(1, 4)):
            parts = plan(source, offsets, dice.choice([SMALL, MANY, MANY]))
            if not parts:
                assert sorted(read) == list(range(1000))
                assert offsets == {SOURCE: {"row": 1000}}
                return
            kept = [part for part in parts if dice.random() < 0.7]
            read += rows(kept)
            offsets = committed(offsets, kept)
            source.commit(offsets)
    raise AssertionError("it never ends")
