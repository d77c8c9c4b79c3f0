"""A range of offsets is read exactly, with any gaps between records and any records after it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pytest

from penstock import Limits, RetriableError
from penstock import TopicPartition as Partition
from penstock_runtime.kafka.consumers import Consumed, RecordConsumer
from penstock_runtime.sink.offset_ranges import RangeReader, gathered, puts

T = Partition("t", 0)
End = dict[Partition, int]
Answer = Consumed | int | tuple[Consumed, int]


def records(*offsets: int) -> Consumed:
    return Consumed(T, list(offsets), [b"%d" % o for o in offsets], None, None, [None] * len(offsets))


class Answers:
    """A consumer that gives what a test lists: records, the offset of an end, or both; nothing more after that."""

    trouble = None

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.assigned: list[Mapping[Partition, int | None]] = []

    def assign(self, positions: Mapping[Partition, int | None]) -> None:
        self.assigned.append(positions)

    def consume(self, most: int, timeout: float) -> tuple[list[Consumed], End]:
        if not self._answers:
            raise AssertionError("asked for more than there is")
        answer = self._answers.pop(0)
        if isinstance(answer, int):
            return [], {T: answer}
        return ([answer[0]], {T: answer[1]}) if isinstance(answer, tuple) else ([answer], {})


def reader(*answers: Answer) -> tuple[RangeReader, Answers]:
    consumer = Answers(*answers)
    return RangeReader(cast("RecordConsumer", consumer), most=100), consumer


def read(of: RangeReader, start: int, end: int) -> list[int]:
    return [o for portion in of.read(T, start, end) for o in portion.offset]


@pytest.mark.parametrize(
    ("answers", "start", "end", "offsets"),
    [
        pytest.param([records(5, 6, 7)], 5, 8, [5, 6, 7], id="just the range"),
        pytest.param([records(5, 6), records(7)], 5, 8, [5, 6, 7], id="in portions"),
        pytest.param([records(5, 6, 7, 8, 9)], 5, 8, [5, 6, 7], id="what lies beyond is left"),
        pytest.param([records(5, 9)], 5, 8, [5], id="a gap up to the end"),
        pytest.param([records(9, 10)], 5, 8, [], id="nothing but a gap"),
        pytest.param([records(5, 6), 8], 5, 8, [5, 6], id="a marker of a transaction at the end"),
        pytest.param([6, records(6), 8], 5, 8, [6], id="an end before the range's is none"),
        pytest.param([8], 5, 8, [], id="nothing but markers"),
    ],
)
def test_reads_exactly_the_records_of_a_range(answers: Sequence[Any], start: int, end: int, offsets: list[int]) -> None:
    of, _ = reader(*answers)
    assert read(of, start, end) == offsets


def test_next_range_begins_with_prefetched_records_without_a_second_fetch() -> None:
    of, consumer = reader(records(0, 1, 2, 3, 4), records(5))
    assert read(of, 0, 2) == [0, 1]
    assert read(of, 2, 4) == [2, 3]
    assert read(of, 4, 6) == [4, 5]
    assert consumer.assigned == [{T: 0}]


def test_end_reported_in_the_previous_range_counts_for_prefetched_records() -> None:
    of, _ = reader((records(0, 1, 2, 3), 5))  # the marker of a transaction is at 4
    assert read(of, 0, 2) == [0, 1]
    assert read(of, 2, 5) == [2, 3]


def test_another_range_begins_with_a_seek() -> None:
    of, consumer = reader(records(0, 1, 2), records(10))
    assert read(of, 0, 2) == [0, 1]
    assert read(of, 10, 11) == [10]
    assert consumer.assigned == [{T: 0}, {T: 10}]


def test_recreated_topic_is_detected() -> None:
    of, _ = reader(records(0, 1))
    with pytest.raises(
        RetriableError, match="t-0: its offsets have moved back, possibly because the topic was recreated"
    ):
        read(of, 5, 8)


class Silence:
    """A consumer to which nothing comes; each time that it is asked a second passes."""

    def __init__(self, trouble: str | None) -> None:
        self.trouble = trouble
        self.seconds = 0.0

    def assign(self, positions: Mapping[Partition, int | None]) -> None:
        pass

    def consume(self, most: int, timeout: float) -> tuple[list[Consumed], End]:
        self.seconds += timeout
        return [], {}


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("Connection refused", "cannot read t-0 at offset 5: no records arrived for 10 s: Connection refused"),
        (None, "cannot read t-0 at offset 5: no records arrived for 60 s"),
    ],
)
def test_silence_ends_the_batch_after_10_s_without_brokers_and_otherwise_after_60_s(
    trouble: str | None, message: str
) -> None:
    consumer = Silence(trouble)
    of = RangeReader(cast("RecordConsumer", consumer), most=100, clock=lambda: consumer.seconds)
    with pytest.raises(RetriableError) as caught:
        read(of, 5, 8)
    assert str(caught.value) == message


def sized(*sizes: int, first: int = 0) -> Consumed:
    offsets = list(range(first, first + len(sizes)))
    return Consumed(T, offsets, [b"x" * n for n in sizes], None, None, [None] * len(sizes))


@pytest.mark.parametrize(
    ("portions", "limits", "lists"),
    [
        pytest.param([sized(1, 1), sized(1, 1, first=2)], Limits(3, 100), [[0, 1, 2], [3]], id="by records"),
        pytest.param(
            [sized(*[1] * 4, first=4 * n) for n in range(3)],
            Limits(9, 100),
            [[*range(8)], [8, 9, 10, 11]],
            id="no portion is cut where it would fill less than a quarter of a put",
        ),
        pytest.param([sized(40, 40, 40, 40)], Limits(9, 100), [[0, 1], [2, 3]], id="by bytes"),
        pytest.param([sized(10, 500, 10)], Limits(9, 100), [[0], [1], [2]], id="one that is too large stands alone"),
        pytest.param([sized(60), sized(60, 30, first=1)], Limits(9, 100), [[0], [1, 2]], id="over portions"),
    ],
)
def test_put_stays_within_its_limits_of_records_and_bytes(
    portions: list[Consumed], limits: Limits, lists: list[list[int]]
) -> None:
    assert [[o for p in found for o in p.offset] for found in gathered(portions, lambda: limits)] == lists


def test_keys_count_as_bytes_too() -> None:
    one = Consumed(T, [0, 1], [b"x" * 30, None], [b"k" * 30, b"k" * 30], None, [None, None])
    assert one.fitting(9, 89) == 1
    assert one.fitting(9, 90) == 2


def test_a_part_ends_when_its_time_is_over_after_one_put_of_each_range_that_was_begun() -> None:
    now = [0.0]

    def read(of: Partition, start: int, end: int) -> Iterator[Consumed]:
        yield from (Consumed(of, [o], [b"x"], None, None, [None]) for o in range(start, end))

    other, third = Partition("t", 1), Partition("t", 2)
    ranges = [(T, 0, 10), (other, 5, 15), (third, 0, 10)]
    done = []
    for of, portions, offset in puts(
        ranges, read, lambda: Limits(1, 10), until=6.0, room=1e9, ending=lambda: False, clock=lambda: now[0]
    ):
        now[0] += len(portions) * 1.5
        done.append((of, offset))
    assert done == [(T, 1), (T, 2), (other, 6), (third, 1)]


def test_range_without_records_at_its_end_is_completed() -> None:
    found = list(puts([(T, 0, 9)], lambda *_: [sized(1, 1)], lambda: Limits(9, 99), until=1e9, room=1e9, ending=bool))
    assert [(len(portions), offset) for _, portions, offset in found] == [(1, 2), (0, 9)]
