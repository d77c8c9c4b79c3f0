"""Sink: JSON records of a topic with one partition through three transforms into a file.

A side is started on a topic with one record; all others are there, too, in a transaction that is still open. When the first
line is in the file, and nothing of the side is still starting, the transaction is committed, so that all records become
readable at once. Records per second are those between the first byte in the file and the last, what comes with the first
left out; CPU seconds are counted from the commit on, for all records.
Both sides read `read_committed`, in polls of 5,000 records. Count, content and order are checked afterwards.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from tests.bench import data
from tests.bench.measured import Measured
from tests.bench.sides import CONVERTERS, Side, Work
from tests.bench.sink_chain import Chain, sink_chain
from tests.bench.source_work import SETTLE, Figures, spent
from tests.bench.timeline import Timeline
from tests.bench.topics import Hidden, Topic
from tests.bench.tree import PeakMemory

__all__ = ["run_sink"]


def run_sink(side: Side, servers: str, lines: Path, count: int, folder: Path) -> Figures:
    """One run of one side.

    Raises:
        RuntimeError: the side failed, or the file holds anything else than it should.
    """
    file = folder / "out.txt"
    chain = sink_chain()
    name = f"bench-sink-{folder.name}"
    timeline = Timeline()
    with Topic(servers, name) as topic:
        hidden = _fill(servers, topic, lines)
        with side.run(Work("sink", _config(file, name, chain)), folder) as measured:
            measured.await_until("writing", lambda: _size(file) > 0)
            measured.await_up()
            time.sleep(SETTLE)
            empty = _size(file)
            before = measured.tree.cpu_by_role(look=True)
            with PeakMemory(measured.tree) as memory:
                hidden.show()
                _follow(timeline, measured, file, count)
            roles = spent(before, measured)
            complaints = measured.complaints()
    _check(file, lines, chain, name)
    first, last = timeline.first(empty + 1), timeline.first(_size(file))
    # What came with the first byte was made before it: a side that writes in large pieces would have that for nothing.
    timed = round(count * (last.value - first.value) / (last.value - empty))
    return Figures(
        timed,
        last.at - first.at,
        last.cpu - sum(before.values()),
        memory.peak,
        None,
        {"cpu": roles, "memory": memory.roles, "log": complaints},
    )


def _config(file: Path, topic: str, chain: Chain) -> dict[str, str]:
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "file": str(file),
        "topics": topic,
        **CONVERTERS,
        **chain.config,
        "consumer.override.max.poll.records": "5000",
        "consumer.override.isolation.level": "read_committed",
    }


def _fill(servers: str, topic: Topic, lines: Path) -> Hidden:
    one = Hidden(servers, topic)
    one.write([data.FIRST])
    one.show()
    hidden = Hidden(servers, topic)
    for block in data.read_lines(lines):
        hidden.write(block)
    hidden.flush()
    return hidden


def _follow(timeline: Timeline, measured: Measured, file: Path, count: int) -> None:
    """Until the file stands still and holds all lines; it may pause before."""
    size = count * data.LENGTH // 2
    while _lines_in(file) < count + 1:
        timeline.follow(measured, lambda: _size(file), at_least=size)
        size = timeline.moments[-1].value + 1


def _size(file: Path) -> int:
    try:
        return os.stat(file).st_size  # noqa: PTH116 (asked every few milliseconds)
    except FileNotFoundError:
        return 0


def _lines_in(file: Path) -> int:
    with file.open("rb") as opened:
        return sum(block.count(b"\n") for block in iter(lambda: opened.read(1 << 20), b""))


def _check(file: Path, lines: Path, chain: Chain, topic: str) -> None:
    """Every line is the Java text of its record's map; fields stand in the side's own order, Connect's is a hash's."""
    order: list[str] = []
    expected = _expected(lines, chain, topic)
    with file.open(encoding="ascii") as opened:
        for number, line in enumerate(opened, 1):
            must = next(expected, {})
            order = order or [field.partition("=")[0] for field in line.strip("{}\n").split(", ")]
            text = "{" + ", ".join(f"{name}={must.get(name)}" for name in order) + "}\n"
            if line != text or len(order) != len(must):
                raise RuntimeError(f"{file.name}: line {number} is {line!r}, not {text!r}")
    missing = sum(1 for _ in expected)
    if missing:
        raise RuntimeError(f"{file.name}: {missing} lines are missing")


def _expected(lines: Path, chain: Chain, topic: str) -> Iterator[dict[str, object]]:
    decode = msgspec.json.Decoder().decode
    yield chain.becomes(decode(data.FIRST), topic)
    for block in data.read_lines(lines):
        for line in block:
            yield chain.becomes(decode(line), topic)
