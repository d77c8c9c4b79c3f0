"""Plugins that do what a test's script says, and tell in a journal what was done to them.

The journal is a pipe that the test reads (`journal.Journal`), one JSON object a line: `{"event": "put", ...}`. Every batch
of a scripted source has source partition `{"p": "a0"}` and source offset `{"i": <number of the batch>}`; it goes on with
batch i+1 of the offset that is stored, or 0.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from penstock import (
    Config,
    ConnectError,
    Converter,
    DataError,
    Header,
    HeaderConverter,
    InputPartition,
    Limits,
    Offsets,
    PartitionReader,
    PollingSource,
    Predicate,
    Record,
    RecordBatch,
    Reporter,
    RetriableError,
    Schema,
    Sink,
    SinkConnector,
    Source,
    SourceConnector,
    SourcePartition,
    TopicPartition,
    Transform,
    Writer,
    prop,
)

JOURNAL: Final = prop("journal", "", doc="Where to tell what happens.")


class Teller:
    """Writes to the journal; to nowhere without one."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY) if path else None

    def __call__(self, event: str, **more: Any) -> None:
        if self._fd is not None:
            line = json.dumps({"event": event, "at": time.monotonic(), **more}, ensure_ascii=False)
            os.write(self._fd, line.encode() + b"\n")


def error_of(kind: str, message: str) -> Exception:
    """`retriable`, `data`, `fatal`, or a plugin's own mishap."""
    kinds: dict[str, type[Exception]] = {"retriable": RetriableError, "data": DataError, "fatal": ConnectError}
    return kinds.get(kind, RuntimeError)(message)


# Sources


class SourceConfig(Config):
    journal: str = JOURNAL
    topic: str = prop("topic", "", doc="Where records go that name no topic of their own.")
    script: str = prop(
        "script", "[]", doc="JSON: batches of records (a text, or an object with value, key, topic, timestamp, headers), "
        "or {raise, message}.",
    )  # fmt: skip
    partition: str = prop("partition", '{"p":"a0"}', doc="The source partition, as JSON.")
    tasks: int = prop("tasks", 0, doc="Ask for that many tasks, whatever is allowed.")
    polling: bool = prop("polling", default=False, doc="Be a source that knows its offsets only while it reads.")
    secret: str = prop("pw", "", doc="Told in the journal.")
    environment: str = prop("x.env", "", doc="Told in the journal.")
    two: str = prop("x.two", "", doc="Told in the journal.")


class ScriptedSource(SourceConnector):
    Config = SourceConfig

    def task_configs(
        self, config: SourceConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        return [dict(properties) for _ in range(config.tasks or 1)]

    def source(self, config: SourceConfig) -> Source | PollingSource:
        return Polled(config) if config.polling else Planned(config)

    def reader(self, config: SourceConfig) -> PartitionReader:
        return Reader(config)


class InexactSource(ScriptedSource):
    exactly_once = False


class Script:
    """The batches, and where one is in them."""

    def __init__(self, config: SourceConfig) -> None:
        self.config = config
        self.batches: list[Any] = json.loads(config.script)
        self.partition = SourcePartition(json.loads(config.partition))
        self.tell = Teller(config.journal)
        self._raised: set[int] = set()

    def begin(self, offsets: Offsets) -> None:
        c = self.config
        self.tell("start", offset=_offset(offsets.get(self.partition)), configured=[c.secret, c.environment, c.two])

    def next(self, offsets: Offsets) -> int | None:
        number = int(offsets.get(self.partition, {}).get("i", -1) or 0) + 1 if self.partition in offsets else 0
        while number < len(self.batches):
            batch = self.batches[number]
            if isinstance(batch, list):
                return number
            if number not in self._raised:
                self._raised.add(number)
                self.tell("raise", batch=number)
                raise error_of(batch["raise"], batch["message"].replace("{pw}", self.config.secret))
            number += 1
        return None

    def records(self, number: int) -> list[Record]:
        return [_record(r, self.config.topic) for r in self.batches[number]]


class Planned(Source):
    def __init__(self, config: SourceConfig) -> None:
        self._script = Script(config)

    def start(self, offsets: Offsets) -> None:
        self._script.begin(offsets)

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        number = self._script.next(start)
        return {} if number is None else {self._script.partition: {"i": number}}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return [InputPartition({"batch": o["i"]}, {p: o}) for p, o in end.items()]

    def commit(self, offsets: Offsets) -> None:
        self._script.tell("commit", offset=_offset(offsets.get(self._script.partition)))

    def stop(self) -> None:
        self._script.tell("stop")


class Reader(PartitionReader):
    def __init__(self, config: SourceConfig) -> None:
        self._script = Script(config)

    def read(self, partition: InputPartition) -> Iterator[RecordBatch | Sequence[Record]]:
        number = int(partition.data["batch"])
        self._script.tell("read", batch=number)
        yield self._script.records(number)


class Polled(PollingSource):
    def __init__(self, config: SourceConfig) -> None:
        self._script = Script(config)

    def start(self, offsets: Offsets) -> None:
        self._script.begin(offsets)

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[RecordBatch | Sequence[Record], Offsets]]:
        number = self._script.next(start)
        if number is not None:
            self._script.tell("read", batch=number)
            yield self._script.records(number), {self._script.partition: {"i": number}}

    def commit(self, offsets: Offsets) -> None:
        self._script.tell("commit", offset=_offset(offsets.get(self._script.partition)))

    def stop(self) -> None:
        self._script.tell("stop")


def _offset(offset: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if offset is None else dict(offset)


def _record(given: str | dict[str, Any], topic: str) -> Record:
    if isinstance(given, str):
        return Record(topic=topic, value=given)
    headers = tuple(Header(k, v) for k, v in given.get("headers", {}).items())
    value = given.get("value")
    if "repeat" in given:
        value *= given["repeat"]
    return Record(
        topic=given.get("topic", topic), value=value, key=given.get("key"), timestamp=given.get("timestamp"),
        headers=headers,
    )  # fmt: skip


# Sinks


class SinkConfig(Config):
    journal: str = JOURNAL
    on: str = prop(
        "on", "{}", doc="JSON: what a value does when it is written: {do: retriable|fatal|report|swallow|copy, message, "
        "times, after}.",
    )  # fmt: skip
    stored: str = prop("stored", "{}", doc="JSON: offsets that open hands back, by `<topic>-<partition>`.")
    commits: str = prop("commits", "", doc="`lower`, `higher`, `nothing`, `retriable` or `fatal`: what commit does.")
    out: str = prop("out", "", doc="Write `<topic> <partition> <offset>` lines to this file, and tell no puts.")
    tasks: int = prop("tasks", 1, doc="How many tasks there are.")
    slow: float = prop("slow", 0.0, doc="How long, in seconds, a write takes in the driver; Spark's workers are fast.")


class RecordingSink(SinkConnector):
    Config = SinkConfig

    def task_configs(
        self, config: SinkConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        return [dict(properties) for _ in range(config.tasks)]

    def sink(self, config: SinkConfig) -> Sink:
        return Recording(config)

    def writer(self, config: SinkConfig) -> Writer:
        return RecordingWriter(config)


class Recording(Sink):
    def __init__(self, config: SinkConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)
        self._stored: dict[str, int] = json.loads(config.stored)
        self._tries = 0

    def start(self) -> None:
        self._tell("start")

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._tell("open", partitions=_names(partitions))
        return {p: self._stored[_name(p)] for p in partitions if _name(p) in self._stored}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._tell("commit", messages=len(messages), offsets={_name(p): o for p, o in offsets.items()})
        self._tries += 1
        match self._config.commits:
            case "lower":
                return {p: o - 1 for p, o in offsets.items()}
            case "higher":
                return {p: o + 1 for p, o in offsets.items()}
            case "nothing":
                return {}
            case "retriable" if self._tries <= 2:
                raise RetriableError("not yet")
            case "fatal":
                raise ConnectError("commit refused")
            case _:
                return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._tell("close", partitions=_names(partitions))

    def stop(self) -> None:
        self._tell("stop")


class RecordingWriter(Writer):
    def __init__(self, config: SinkConfig) -> None:
        self._tell = Teller(config.journal)
        self._on: dict[str, dict[str, Any]] = json.loads(config.on)
        self._done: dict[str, int] = {}
        main = getattr(sys.modules["__main__"], "__spec__", None)
        self._pause = config.slow if main is not None and main.name == "penstock_runtime.task" else 0.0
        self._out = os.open(config.out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if config.out else None

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        if self._out is not None:
            self._write_out(batches)
            return None
        records = [r for b in batches for r in b.records()]
        self._tell("put", records=[_told(r) for r in records], same=[id(b) for b in batches])
        for record in records:
            self._act(record, report)
        return len(records)

    def _act(self, record: Record, report: Reporter) -> None:
        todo = self._on.get(str(record.value))
        if todo is None or self._done.get(str(record.value), 0) >= todo.get("times", 1_000_000):
            return
        self._done[str(record.value)] = self._done.get(str(record.value), 0) + 1
        message = todo.get("message", "sink refused")
        match todo["do"]:
            case "retriable":
                raise RetriableError(message, retry_after=todo.get("after"))
            case "report":
                report(record, DataError(message))
            case "copy":
                report(record.replace(topic="elsewhere", value="changed"), DataError(message))
            case "swallow":
                try:
                    report(record, DataError(message))
                except ConnectError as e:
                    self._tell("swallowed", message=str(e))
            case kind:
                raise error_of(kind, message)

    def _write_out(self, batches: Sequence[RecordBatch]) -> None:
        assert self._out is not None
        lines = [f"{b.original_topic} {b.original_partition} {o}" for b in batches for o in b.column("offset")]
        time.sleep(self._pause)
        os.write(self._out, "".join(f"{line}\n" for line in lines).encode())
        self._tell("wrote", process=os.getpid(), records=len(lines))


def _told(r: Record) -> list[Any]:
    return [r.topic, r.partition, r.offset, r.value, None if r.original is None else r.original.topic]


def _name(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"


def _names(partitions: Sequence[TopicPartition]) -> list[str]:
    return [_name(p) for p in partitions]


# What stands between


class FailingConfig(Config):
    journal: str = JOURNAL
    on: str = prop("on", "", doc="The value that fails; `*`: every one.")
    error: str = prop("error", "data", doc="`retriable`, `data`, `fatal` or `other`.")
    times: int = prop("times", 1_000_000, doc="How often it fails.")


class Refusing(Transform):
    """Fails for one value, and passes on the others."""

    Config = FailingConfig

    def configure(self, config: FailingConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)
        self._failed = 0

    def apply(self, record: Record) -> Record | None:
        self._tell("apply", value=record.value)
        if self._config.on in ("*", record.value) and self._failed < self._config.times:
            self._failed += 1
            raise error_of(self._config.error, f"transform refused {record.value}")
        return record


class Unsure(Predicate):
    """Matches every record but one, for which it fails."""

    Config = FailingConfig

    def configure(self, config: FailingConfig) -> None:
        self._on = config.on

    def test(self, record: Record) -> bool:
        if record.value == self._on:
            raise DataError(f"predicate refused {record.value}")
        return True


class Picky(Converter):
    """Texts, but for one."""

    Config = FailingConfig

    def configure(self, config: FailingConfig, *, is_key: bool) -> None:
        self._on = config.on

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        self._check(value)
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        text = None if data is None else data.decode()
        self._check(text)
        return None, text

    def _check(self, text: Any) -> None:
        if text == self._on:
            raise DataError(f"converter refused {text}")


class PickyHeaders(HeaderConverter):
    """Texts, but for one."""

    Config = FailingConfig

    def configure(self, config: FailingConfig) -> None:
        self._on = config.on

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        text = None if data is None else data.decode()
        if text == self._on:
            raise DataError(f"header converter refused {text}")
        return Header(name, text)
