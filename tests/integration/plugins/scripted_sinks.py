"""Sinks that do what a test says of each value, and tell what was done to them."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from penstock import (
    Config,
    ConnectError,
    DataError,
    Record,
    RecordBatch,
    Reporter,
    RetriableError,
    Sink,
    SinkConnector,
    TopicPartition,
    Writer,
    prop,
)
from telling import JOURNAL, Teller, error_of, in_driver


class SinkConfig(Config):
    journal: str = JOURNAL
    on: str = prop(
        "on",
        "{}",
        doc="JSON: what a value does when it is written: {do: retriable|fatal|report|swallow|copy, message, "
        "times, after}.",
    )
    commits: str = prop(
        "commits",
        "",
        doc="What commit does: `nothing`, `retriable` (twice) or `never` (retriable for ever).",
    )
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
        self._tries = 0

    def start(self) -> None:
        self._tell("start")

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._tell("open", partitions=_names(partitions))
        return {}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._tell("commit", messages=len(messages), offsets={_name(p): o for p, o in offsets.items()})
        self._tries += 1
        match self._config.commits:
            case "nothing":
                return {}
            case "retriable" if self._tries <= 2:
                raise RetriableError("not yet")
            case "never":
                raise RetriableError("not yet", retry_after=0.5)
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
        self._pause = config.slow if in_driver() else 0.0
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
