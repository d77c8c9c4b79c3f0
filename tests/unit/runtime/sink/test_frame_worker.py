"""A worker keeps runs of one schema with counts that add up, and ends its part if schemas change too often."""

import io
from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa
import pytest

from penstock import ConnectError, DataError, TopicPartition
from penstock.schema import INT64, STRING, Schema, struct
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.error_tolerance import Failure, Stage
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.frame_runs import Count, Run
from penstock_runtime.sink.frame_worker import _Chunk, _Made
from penstock_runtime.sink.frames import _leave_out_kept

OF = TopicPartition("t", 0)
V1, V2 = struct({"id": INT64}), struct({"id": INT64, "more": STRING.as_optional()})


def chunk(*portions: str, first: int = 0) -> _Chunk:
    """Records as letters: of schema 1 or 2, `-` dropped, `x` failed; each value has ten bytes."""
    parts: list[tuple[Consumed, list[Run], Sequence[Failure]]] = []
    offset = first
    for letters in portions:
        offsets = list(range(offset, offset + len(letters)))
        consumed = Consumed(OF, offsets, [b"0123456789"] * len(letters), None, None, [None] * len(letters))
        failed = [Failure(n, Stage.VALUE_CONVERTER, "c", DataError("bad")) for n, x in enumerate(letters) if x == "x"]
        parts.append((consumed, list(runs(letters, offsets)), failed))
        offset += len(letters)
    return _Chunk(parts, Summary())


def runs(letters: str, offsets: Sequence[int]) -> list[Run]:
    found: list[Run] = []
    for letter, offset in zip(letters, offsets, strict=True):
        if letter in "12":
            schema, value = (V1, {"id": offset}) if letter == "1" else (V2, {"id": offset, "more": None})
            if found and found[-1].schema is schema:
                cast("list[Any]", found[-1].values).append(value)
            else:
                found.append(Run(OF, offset, schema, [value]))
    return found


def counted(whole: _Chunk) -> _Chunk:
    """With the counts of its conversion."""
    read = [len(consumed.offset) for consumed, _, _ in whole.parts]
    rows = sum(len(run) for _, of, _ in whole.parts for run in of)
    failed = sum(len(failures) for _, _, failures in whole.parts)
    return _Chunk(whole.parts, Summary(read=sum(read), bytes=10 * sum(read), dropped=sum(read) - rows - failed))


def add(made: _Made, whole: _Chunk) -> list[tuple[int, bytes]]:
    found = made.of(whole)
    made.keep(found)
    return found.rows


def ids(stream: bytes) -> list[int]:
    return list(pa.ipc.open_stream(io.BytesIO(stream)).read_all().column("id").to_pylist())


def test_runs_of_one_schema_are_merged_across_portions_and_count_the_rest() -> None:
    made = _Made(16)
    rows = add(made, chunk("-11", "1x22", "21"))
    assert [(number, ids(stream)) for number, stream in rows] == [(0, [1, 2, 3]), (1, [5, 6, 7]), (2, [8])]
    assert [(run.offset, run.rows, run.rest) for run in made.runs()] == [
        (1, 3, Count(8, 80, 1)),
        (5, 3, Count(4, 40, 0)),
        (8, 1, Count(1, 10, 0)),
    ]


def test_numbers_continue_from_chunk_to_chunk() -> None:
    made = _Made(16)
    add(made, chunk("12"))
    assert [number for number, _ in add(made, chunk("2", first=2))] == [2]
    assert [run.rest.read for run in made.runs()] == [3, 2, 1]


@pytest.mark.parametrize(
    ("portions", "reached"),
    [
        (["12" * 20], 17),
        (["12" * 8, "12"], 17),
        (["12" * 8 + "1", "2x-"], 17),
        (["1-2" + "x1-2" * 7 + "x-1", "1x2"], 36),
        (["1" * 5, "2" * 5], None),
    ],
)
@pytest.mark.parametrize("in_chunks", [False, True])
def test_part_ends_before_one_schema_change_too_many_and_counts_only_its_records(
    portions: list[str], reached: int | None, *, in_chunks: bool
) -> None:
    """It is not converted again, as that may give something else; what was told of the rest counts no more."""
    made, total, letters = _Made(16), Summary(), "".join(portions)
    end = 0
    for of in [[portion] for portion in portions] if in_chunks else [portions]:
        cut = made.cut(counted(chunk(*of, first=end)))
        if cut.parts:
            made.keep(made.of(cut))
            total.add(cut.summary)
            end = cut.parts[-1][0].next_offset
        if made.changing:
            break
    assert made.changing is (reached is not None)
    assert end == (len(letters) if reached is None else reached)
    assert (total.read, total.bytes, total.dropped) == (end, 10 * end, letters[:end].count("-"))
    assert sum(run.rows for run in made.runs()) == sum(letters[:end].count(v) for v in "12")
    assert made.runs()[0].rest.failed == letters[letters.index("1") : end].count("x")


def test_unordered_part_never_ends_early_and_holds_each_schema_once_per_chunk() -> None:
    made = _Made(None)
    whole = chunk("12" * 40)
    assert made.cut(whole) is whole
    rows = add(made, whole)
    assert [ids(stream) for _, stream in rows] == [[*range(0, 80, 2)], [*range(1, 80, 2)]]
    assert not made.changing


def test_rows_do_not_count_before_they_are_kept() -> None:
    """What follows may fail: the dead letters of the same records."""
    made = _Made(16)
    found = made.of(chunk("11x"))
    assert made.runs() == []
    made.keep(found)
    assert [run.rows for run in made.runs()] == [2]


@pytest.mark.parametrize(
    ("schema", "values", "error"),
    [(V1, [{"id": 1}, None], "tombstone"), (None, ["a"], "without a schema"), (V1, [{"id": "a"}], "fit")],
)
def test_refused_rows_do_not_count(schema: Schema | None, values: list[Any], error: str) -> None:
    made, whole = _Made(16), chunk("1" * len(values))
    ((consumed, _, failed),) = whole.parts
    with pytest.raises(ConnectError, match=error):
        made.of(_Chunk([(consumed, [Run(OF, 0, schema, values)], failed)], Summary()))
    assert made.runs() == []


def test_counts_exclude_records_after_frames_left_out() -> None:
    made = _Made(16)
    add(made, chunk("1-1x22-211"))
    _, second, third = made.runs()
    summary = Summary(read=10, bytes=100, dropped=2, failures=1, written=2, offsets=[("t", 0, 10), ("t", 1, 5)])
    _leave_out_kept([[second], [third]], summary)
    assert summary.unfinished
    assert (summary.read, summary.bytes, summary.dropped) == (4, 40, 1)
    assert summary.read == summary.written + summary.dropped + summary.failures
    assert summary.offsets == [("t", 0, 4), ("t", 1, 5)]
