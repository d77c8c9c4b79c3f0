"""Few frames, in which every partition keeps its order and nothing is lost."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock import RecordBatch, TopicPartition
from penstock.schema import INT64, STRING, Schema, struct
from penstock_runtime.sink.frame_runs import Run, merged, runs_of

SHAPES = [struct({f"f{n}": INT64}) for n in range(4)]
SOURCES = [TopicPartition("t", n) for n in range(6)]


def partitions(words: Sequence[str]) -> list[list[Run]]:
    """A letter is a record with the schema of that number."""
    return [
        [Run(SOURCES[p], n, SHAPES[int(letter)], [f"{p}.{n}"]) for n, letter in enumerate(word)]
        for p, word in enumerate(words)
    ]


def shown(frames: list[list[Run]]) -> list[list[Any]]:
    return [[value for run in frame for value in run.values] for frame in frames]


def words(letters: str, partitions: int, records: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.text(letters, max_size=records), max_size=partitions)


def least(words: Sequence[str]) -> int:
    """The length of the shortest sequence of schemas of which each word, doubled letters left out, is a part: by search."""
    short = tuple("".join(letter for letter, _ in groupby(word)) for word in words)
    level, length = {tuple(len(word) for word in short)}, 0
    while not any(not any(left) for left in level):
        level = {
            tuple(n - 1 if n and word[len(word) - n] == letter else n for word, n in zip(short, left, strict=True))
            for left in level
            for letter in {word[len(word) - n] for word, n in zip(short, left, strict=True) if n}
        }
        length += 1
    return length


@given(words("0123", 6, 12))
def test_nothing_is_lost_and_each_partition_keeps_its_order(given_words: list[str]) -> None:
    runs = partitions(given_words)
    frames = merged(runs)
    assert all(len({run.schema for run in frame}) == 1 for frame in frames)
    for p, of in enumerate(runs):
        assert [run for frame in frames for run in frame if run.source == SOURCES[p]] == of


@given(words("01", 5, 9))
def test_two_schemas_need_the_fewest_possible_frames(given_words: list[str]) -> None:
    assert len(merged(partitions(given_words))) == least(given_words)


@given(words("012", 4, 7))
def test_three_schemas_need_at_most_three_times_the_frames_of_the_longest_partition(
    given_words: list[str],
) -> None:
    frames, alone = len(merged(partitions(given_words))), [len(merged([p])) for p in partitions(given_words)]
    assert max(alone, default=0) <= least(given_words) <= frames <= 3 * max(alone, default=0)


def test_single_partition_is_split_where_its_schema_changes() -> None:
    assert shown(merged(partitions(["01001"]))) == [["0.0"], ["0.1"], ["0.2", "0.3"], ["0.4"]]


def test_partitions_with_the_same_changes_need_no_more_frames_than_one_partition() -> None:
    assert len(merged(partitions(["0101", "0101", "101", "1", ""]))) == 4


def test_equal_schemas_are_one_though_they_are_two_objects() -> None:
    runs = [Run(SOURCES[0], n, struct({"id": INT64}), [n]) for n in range(3)]
    assert merged([runs]) == [runs]


def test_many_changes_in_many_partitions_are_merged_quickly() -> None:
    found = merged(partitions(["01" * 10_000, *["10" * 10] * 5]))
    assert len(found) == 20_000


def batch(schemas: Schema | None | list[Schema | None], values: list[Any], offsets: list[int]) -> RecordBatch:
    return RecordBatch(length=len(values), topic="t", value=values, value_schema=schemas, offset=offsets)


def test_a_batch_is_cut_with_the_offset_of_each_first_record() -> None:
    a, b = INT64, STRING
    found = runs_of(SOURCES[0], batch([a, a, b, None, a], [1, 2, "x", None, 3], [5, 7, 8, 20, 21]))
    assert [(r.offset, r.schema, r.values) for r in found] == [
        (5, a, [1, 2]),
        (8, b, ["x"]),
        (20, None, [None]),
        (21, a, [3]),
    ]
    (whole,) = runs_of(SOURCES[0], batch(a, [1, 2], [5, 7]))
    assert (whole.offset, whole.values) == (5, [1, 2])
    assert runs_of(SOURCES[0], batch(None, [], [])) == []
