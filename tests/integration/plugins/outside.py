"""A source and a sink with an outside system that a test governs: fine, slow, away, hanging, and fine again.

The outside is a folder: `state` says how it is (`Outside.set`), `available` how many records each stream of the source has,
`grown` how many streams there are where their number grows with the topic's partitions. Record n of stream p is the text
`p:n:` and some letters, in partition p modulo the topic's; how many letters follows from p and n, so that reading again
gives the same.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final

from penstock import (
    Config,
    InputPartition,
    Limits,
    Offset,
    Offsets,
    PartitionReader,
    Password,
    RecordBatch,
    Reporter,
    RetriableError,
    Sink,
    SinkConnector,
    Source,
    SourceConnector,
    SourcePartition,
    Writer,
    prop,
)
from penstock.schema import STRING

_PORTION: Final = 500
_LOOK: Final = 0.05
FOLDER: Final = prop("folder", doc="The outside.")
PASSWORD: Final = prop("password", Password(""), doc="What the outside says in its errors, as careless ones do.")


class Outside:
    """How it is."""

    def __init__(self, folder: str | Path, password: str = "") -> None:
        self._folder = Path(folder)
        self._password = password

    def set(self, how: str, **more: float) -> None:
        """`fine`; `slow` (`each`: seconds for a record); `away` (`after`: when to come again); `hanging`."""
        self._write("state", json.dumps({"how": how, **more}))

    def offer(self, records: int) -> None:
        """So many records does each stream have from now on."""
        self._write("available", str(records))

    def grow(self, streams: int) -> None:
        """So many streams there are from now on, each with a partition of its own."""
        self._write("grown", str(streams))

    @property
    def available(self) -> int:
        """How many records each stream has."""
        return self._number("available") or 0

    @property
    def grown(self) -> int | None:
        """How many streams there are; None where their number is fixed."""
        return self._number("grown")

    def meet(self, records: int = 0) -> None:
        """What somebody meets who wants something of it, for so many records."""
        while True:
            state = self._state()
            match state["how"]:
                case "slow":
                    time.sleep(min(2.0, records * state.get("each", 0.001)))
                    return
                case "away":
                    told = f"the outside is away: cannot log in with {self._password or 'nothing'}"
                    raise RetriableError(told, retry_after=state.get("after"))
                case "hanging":
                    time.sleep(_LOOK)
                case _:
                    return

    def _state(self) -> dict[str, Any]:
        with suppress(FileNotFoundError):
            found: dict[str, Any] = json.loads((self._folder / "state").read_text())
            return found
        return {"how": "fine"}

    def _number(self, name: str) -> int | None:
        with suppress(FileNotFoundError):
            return int((self._folder / name).read_text())
        return None

    def _write(self, name: str, text: str) -> None:
        new = self._folder / f"{name}.new"
        new.write_text(text)
        new.rename(self._folder / name)


def size_of(stream: int, number: int, largest: int) -> int:
    """How many letters a record has, more or less."""
    chance = (stream * 7_919 + number * 104_729 + 17) % 10_007
    if chance < 10:
        return largest * (10 - chance) // 10
    return min(largest, 20 * chance) if chance < 100 else chance % 90


def text_of(stream: int, number: int, largest: int) -> str:
    """The record: mostly some letters, one of a hundred some thousand, one of a thousand up to the largest."""
    size = size_of(stream, number, largest)
    begin = f"{stream}:{number}:"
    return begin + "x" * max(0, size - len(begin))


class SourceConfig(Config):
    folder: str = FOLDER
    password: Password = PASSWORD
    topic: str = prop("topic", doc="Where to.")
    streams: int = prop("streams", 1, doc="How many source partitions.")
    partitions: int = prop("partitions", 1, doc="How many partitions the topic has.")
    largest: int = prop("largest", 200, doc="Bytes of the largest record.")
    own: list[str] = prop("own", [], doc="Set for each task.")


class OutsideSource(SourceConnector):
    Config: ClassVar[type[Config]] = SourceConfig

    def task_configs(
        self, config: SourceConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        tasks = min(max_tasks, config.streams)
        return [{**properties, "own": ",".join(map(str, range(t, config.streams, tasks)))} for t in range(tasks)]

    def source(self, config: SourceConfig) -> Source:
        return Streams(config)

    def reader(self, config: SourceConfig) -> PartitionReader:
        return StreamReader(config)


class Streams(Source):
    def __init__(self, config: SourceConfig) -> None:
        self._outside = Outside(config.folder, config.password.reveal())
        self._own = {SourcePartition({"p": int(p)}): int(p) for p in config.own}

    def start(self, offsets: Offsets) -> None:
        self._outside.meet()

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        available, grown = self._outside.available, self._outside.grown
        each = max(1, limits.records // len(self._own))
        end: dict[SourcePartition, Offset] = {}
        for partition, stream in self._own.items():
            if grown is not None and stream >= grown:
                continue
            at = _at(start.get(partition))
            if at < available:
                end[partition] = {"n": min(available, at + each)}
        if end:
            self._outside.meet()
        return end

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return [
            InputPartition({"p": self._own[p], "start": _at(start.get(p)), "end": _at(o)}, {p: o})
            for p, o in end.items()
            if p in self._own and _at(o) > _at(start.get(p))
        ]


class StreamReader(PartitionReader):
    def __init__(self, config: SourceConfig) -> None:
        self._config = config
        self._outside = Outside(config.folder, config.password.reveal())

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        p, at, end = (int(partition.data[k]) for k in ("p", "start", "end"))
        to_partition = p if self._outside.grown is not None else p % self._config.partitions
        while at < end:
            to = min(end, at + _PORTION)
            self._outside.meet(to - at)
            yield RecordBatch(
                length=to - at,
                topic=self._config.topic,
                partition=to_partition,
                value_schema=STRING,
                value=[text_of(p, n, self._config.largest) for n in range(at, to)],
            )
            at = to


class SinkConfig(Config):
    folder: str = FOLDER
    password: Password = PASSWORD
    out: str = prop("out", doc="The file that takes a line for each record.")


class OutsideSink(SinkConnector):
    Config: ClassVar[type[Config]] = SinkConfig

    def sink(self, config: SinkConfig) -> Sink:
        return Lines(config)

    def writer(self, config: SinkConfig) -> Writer:
        return LineWriter(config)


class Lines(Sink):
    def __init__(self, config: SinkConfig) -> None:
        self._outside = Outside(config.folder, config.password.reveal())

    def start(self) -> None:
        self._outside.meet()


class LineWriter(Writer):
    """Appends a line `p:n;` for each record. One that was killed leaves a line without its end, which counts for nothing."""

    def __init__(self, config: SinkConfig) -> None:
        self._outside = Outside(config.folder, config.password.reveal())
        self._out = os.open(config.out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        for b in batches:
            self._outside.meet(b.length)
            lines = [":".join(v.split(":", 2)[:2]) for v in b.column("value")]
            text = ("\n" + "".join(f"{line};\n" for line in lines)).encode()
            assert os.write(self._out, text) == len(text)

    def close(self) -> None:
        os.close(self._out)


def _at(offset: Mapping[str, Any] | None) -> int:
    return int((offset or {}).get("n", 0))
