"""Headers and timestamps of sink records are read when somebody asks, and are what they would be if read at once."""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from operator import methodcaller
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import DataError, Header, RecordBatch
from penstock import TopicPartition as Partition
from penstock import _returned as returned
from penstock._returned import ReturnedWrong
from penstock._unread import RawHeader, UnreadHeaders, UnreadTimestamps
from penstock_plugins.converters.simple_header import SimpleHeaderConverter
from penstock_plugins.converters.text import StringConverter
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.converters import Converters, convert_consumed
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator


class Counting(SimpleHeaderConverter):
    """Knows what it was asked."""

    reads_anything = True

    def __init__(self) -> None:
        self.asked: list[bytes | None] = []

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        self.asked.append(data)
        return super().to_connect(topic, name, data)


class AtOnce(Counting):
    """Might fail, for all that anybody knows."""

    reads_anything = False


def converted(converter: SimpleHeaderConverter, headers: Iterable[Iterable[RawHeader]] | None) -> RecordBatch:
    rows = None if headers is None else [list(h) for h in headers]
    count = 3 if rows is None else len(rows)
    consumed = Consumed(Partition("t", 0), list(range(count)), [b"v"] * count, None, rows, [None] * count)
    text = StringConverter()
    text.configure(text.Config.parse({}), is_key=False)
    operator = RetryWithToleranceOperator(ErrorPolicy())
    batch = convert_consumed(Converters(text, text, converter, ("k", "v", "h")), consumed, operator)
    assert not operator.failures
    return batch


ROWS: list[list[RawHeader]] = [[("trace", b"17"), ("kind", b"a b")], [], [("kind", None), ("kind", b"[1, 2]")]]


def test_nobody_reads_what_nobody_asks_for() -> None:
    converter = Counting()
    batch = converted(converter, ROWS)
    assert batch.has_header("kind") == [True, False, True]
    batch.without_headers({"trace"}).with_header(Header("new", 1)).take([0, 2]).replace(topic="u")
    RecordBatch.merged(batch.take([0]).replace(topic="u"), batch.take([1, 2]))
    assert converter.asked == []


def test_all_batches_that_share_headers_read_them_once() -> None:
    converter = Counting()
    batch = converted(converter, ROWS)
    other = batch.replace(topic="u")
    assert batch.headers == other.headers
    assert batch.take([0]).headers == batch.headers[:1]
    assert [record.headers for record in other.records()] == batch.headers
    assert converter.asked == [b"17", b"a b", None, b"[1, 2]"]


@pytest.mark.parametrize("rows", [None, [[], []]])
def test_records_without_headers_have_none(rows: list[list[RawHeader]] | None) -> None:
    batch = converted(Counting(), rows)
    assert batch.headers == ()
    assert batch.without_headers({"a"}).headers == ()
    assert not any(batch.column("headers"))


def test_where_the_last_header_goes_there_are_none() -> None:
    assert converted(Counting(), ROWS).without_headers({"trace", "kind"}).headers == ()
    assert converted(AtOnce(), ROWS).without_headers({"trace", "kind"}).headers == ()


_RAW = st.tuples(st.sampled_from("abc"), st.sampled_from([None, b"", b"1", b"x", b"{a: 1}"]))
_STEPS = st.lists(
    st.sampled_from(
        [
            methodcaller("without_headers", {"a"}),
            methodcaller("without_headers", {"b", "c"}),
            methodcaller("with_header", Header("b", "new")),
            lambda batch: batch.take(range(0, batch.length, 2)),
            lambda batch: RecordBatch.merged(
                batch.take(range(0, batch.length, 2)), batch.take(range(1, batch.length, 2)).replace(topic="u")
            ),
            lambda batch: batch.headers is not None and batch,  # asks
            lambda batch: RecordBatch.merged(
                batch.take(range(0, batch.length, 2)),
                RecordBatch.of(
                    batch.take(range(1, batch.length, 2)).records(), like=batch, positions=batch.positions[1::2]
                ),
            ),
            lambda batch: RecordBatch.merged(
                batch.take(range(0, batch.length, 2)), batch.take(range(1, batch.length, 2)).without_headers({"c"})
            ),
        ]
    ),
    max_size=5,
)


@settings(deadline=None)
@given(st.lists(st.lists(_RAW, max_size=3), min_size=1, max_size=6), _STEPS)
def test_they_are_what_they_would_be_if_they_were_read_together(rows: list[list[RawHeader]], steps: list) -> None:  # type: ignore[type-arg]
    later, now = converted(Counting(), rows), converted(AtOnce(), rows)
    assert isinstance(later.held_headers, UnreadHeaders)
    assert not isinstance(now.held_headers, UnreadHeaders)
    for step in steps:
        later, now = step(later), step(now)
    has = [[any(batch.column("headers")) and batch.has_header(n) for n in "abc"] for batch in (later, now)]
    assert has[0] == has[1]
    assert later.column("headers") == now.column("headers")
    assert [*later.positions] == [*now.positions]
    assert pickle.loads(pickle.dumps(later)).column("headers") == now.column("headers")


def test_a_converter_that_reads_in_another_way_than_its_base_has_to_say_that_it_cannot_fail() -> None:
    class Strict(SimpleHeaderConverter):
        def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
            raise DataError("not mine")

    class Same(SimpleHeaderConverter):
        pass

    assert (SimpleHeaderConverter.reads_anything, Same.reads_anything, Strict.reads_anything) == (True, True, False)


class Times(Sequence[int | None]):
    """Counts how often it is listed."""

    def __init__(self, *times: int | None) -> None:
        self._times = times
        self.listed = 0

    def __len__(self) -> int:
        return len(self._times)

    def __getitem__(self, at: Any) -> Any:
        return self._times[at]

    def __iter__(self) -> Iterator[int | None]:
        self.listed += 1
        return iter(self._times)


def timed(times: Times) -> RecordBatch:
    text = StringConverter()
    text.configure(text.Config.parse({}), is_key=False)
    consumed = Consumed(Partition("t", 0), [*range(len(times))], [b"v"] * len(times), None, None, times)
    operator = RetryWithToleranceOperator(ErrorPolicy())
    return convert_consumed(Converters(text, text, Counting(), ("k", "v", "h")), consumed, operator)


def test_nobody_lists_timestamps_that_nobody_asks_for() -> None:
    times = Times(5, None, 7)
    batch = timed(times)
    assert returned.batch(batch.replace(topic="u"), "apply_batch", before=batch).length == 3
    assert times.listed == 0


def test_all_batches_that_share_timestamps_list_them_once() -> None:
    times = Times(5, None, 7)
    batch = timed(times)
    other = batch.replace(topic="u")
    assert other.timestamp == batch.column("timestamp") == [5, None, 7]
    assert [record.timestamp for record in batch.take([0, 2]).records()] == [5, 7]
    assert RecordBatch.merged(batch.take([1]), batch.take([0, 2])).timestamp == [5, None, 7]
    assert times.listed == 1


def test_a_batch_with_fewer_values_than_timestamps_is_refused_although_nobody_has_asked_for_them() -> None:
    times = Times(5, None, 7)
    batch = timed(times)
    short = batch.replace(value=["a", "b"], length=2)
    with pytest.raises(ReturnedWrong, match="a batch of 2 records whose column timestamp has length 3"):
        returned.batch(short, "apply_batch", before=batch)
    assert times.listed == 0


def test_timestamps_that_nobody_has_asked_for_are_pickled_as_a_list() -> None:
    assert pickle.loads(pickle.dumps(timed(Times(5, None)))).held_timestamp == [5, None]


def test_timestamps_may_be_replaced() -> None:
    batch = timed(Times(5, None))
    assert isinstance(batch.held_timestamp, UnreadTimestamps)
    assert batch.replace(timestamp=9).timestamp == 9
    batch.timestamp = [1, 2]
    assert batch.replace(topic="u").timestamp == [1, 2]
