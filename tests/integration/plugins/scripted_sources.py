"""Sources that read what a test's script says, and tell what was done to them.

Every batch has source partition `{"p": "a0"}` and source offset `{"i": <number of the batch>}`; a source goes on with
batch i+1 of the offset that is stored, or 0.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock import (
    Config,
    Header,
    InputPartition,
    Limits,
    Offset,
    Offsets,
    OffsetUpdates,
    PartitionReader,
    PollingSource,
    Portion,
    Record,
    RecordBatch,
    Source,
    SourceConnector,
    SourcePartition,
    TransactionEnd,
    prop,
)
from telling import JOURNAL, Teller, error_of


class SourceConfig(Config):
    journal: str = JOURNAL
    topic: str = prop("topic", "", doc="Where records go that name no topic of their own.")
    script: str = prop(
        "script",
        "[]",
        doc="JSON: batches of records (a text, or an object with value, key, topic, partition, timestamp, "
        "headers; 'end' ends a transaction after it), or {raise, message}.",
    )
    partition: str = prop("partition", '{"p":"a0"}', doc="The source partition, as JSON.")
    tasks: int = prop("tasks", 0, doc="Ask for that many tasks, whatever is allowed.")
    scripts: str = prop("scripts", "", doc="JSON: a script for each task, which has source partition `{p: a<task>}`.")
    every: float = prop("every", 0.0, doc="Seconds between two batches.")
    polling: bool = prop("polling", default=False, doc="Be a source that knows its offsets only while it reads.")
    defines: bool = prop("defines", default=False, doc="Be able to end transactions.")
    forgets: int = prop("forgets", -1, doc="The offset of this batch is null. It comes again and again.")
    secret: str = prop("pw", "", doc="Told in the journal.")
    environment: str = prop("x.env", "", doc="Told in the journal.")
    two: str = prop("x.two", "", doc="Told in the journal.")


class ScriptedSource(SourceConnector):
    Config = SourceConfig

    def task_configs(
        self, config: SourceConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        if config.scripts:
            scripts = enumerate(json.loads(config.scripts))
            own = [{"script": json.dumps(s), "partition": json.dumps({"p": f"a{n}"})} for n, s in scripts]
            return [{k: v for k, v in properties.items() if k != "scripts"} | o for o in own]
        return [dict(properties) for _ in range(config.tasks or 1)]

    def can_define_transaction_boundaries(self, config: SourceConfig) -> bool:
        return config.defines

    def source(self, config: SourceConfig) -> Source | PollingSource:
        return Polled(config) if config.polling else Planned(config)

    def reader(self, config: SourceConfig) -> PartitionReader:
        return Reader(config)


class InexactSource(ScriptedSource):
    def exactly_once(self, config: Any) -> bool:
        return False


class Script:
    """The batches, and where one is in them."""

    def __init__(self, config: SourceConfig) -> None:
        self.config = config
        self.batches: list[Any] = json.loads(config.script)
        self.partition = SourcePartition(json.loads(config.partition))
        self.tell = Teller(config.journal)
        self._raised: set[int] = set()
        self._due = 0.0

    def begin(self, offsets: Offsets) -> None:
        c = self.config
        self.tell("start", offset=_offset(offsets.get(self.partition)), configured=[c.secret, c.environment, c.two])

    def next(self, offsets: Offsets) -> int | None:
        number = int(offsets.get(self.partition, {}).get("i", -1) or 0) + 1 if self.partition in offsets else 0
        while number < len(self.batches):
            batch = self.batches[number]
            if isinstance(batch, list):
                if time.monotonic() < self._due:
                    return None
                self._due = time.monotonic() + self.config.every
                return number
            if number not in self._raised:
                self._raised.add(number)
                self.tell("raise", batch=number)
                raise error_of(batch["raise"], batch["message"].replace("{pw}", self.config.secret))
            number += 1
        return None

    def offset(self, number: int) -> Offset | None:
        return None if number == self.config.forgets else {"i": number}

    def records(self, number: int) -> list[Record]:
        return [_record(r, self.config.topic) for r in self.batches[number]]

    def portions(self, number: int) -> Iterator[Portion]:
        """Cut a batch where its transactions end; all of it has one offset."""
        offsets, records = {self.partition: self.offset(number)}, []
        for given, record in zip(self.batches[number], self.records(number), strict=True):
            records.append(record)
            if isinstance(given, dict) and "end" in given:
                yield records, offsets, TransactionEnd(given["end"])
                records = []
        if records:
            yield records, offsets


class Planned(Source):
    def __init__(self, config: SourceConfig) -> None:
        self._script = Script(config)
        self._number: int | None = None

    def start(self, offsets: Offsets) -> None:
        self._script.begin(offsets)

    def latest_offsets(self, start: Offsets, limits: Limits) -> OffsetUpdates:
        number = self._number = self._script.next(start)
        return {} if number is None else {self._script.partition: self._script.offset(number)}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return [InputPartition({"batch": self._number}, {p: o}) for p, o in end.items()]

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
        self._portions: list[Portion] = []

    def start(self, offsets: Offsets) -> None:
        self._script.begin(offsets)

    def read(self, start: Offsets, limits: Limits) -> Iterator[Portion]:
        yield from self._left()  # of a batch in which a transaction has ended
        number = self._script.next(start)
        if number is not None:
            self._script.tell("read", batch=number)
            self._portions = [*self._script.portions(number)]
            yield from self._left()

    def _left(self) -> Iterator[Portion]:
        while self._portions:
            yield self._portions.pop(0)

    def lost(self) -> None:
        self._portions = []

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
        topic=given.get("topic", topic),
        value=value,
        key=given.get("key"),
        timestamp=given.get("timestamp"),
        headers=headers,
        partition=given.get("partition"),
    )
