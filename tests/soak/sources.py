"""Worlds of sources: what was offered is in the topic, once and in order."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]
from tests.integration.machine_time import MachineTime
from tests.integration.reading import Read, Reader, create, read_all
from tests.integration.running import manifest

from outside import Outside, size_of

from . import invariants
from .lives import Lives
from .plan import Action, Step
from .runs import ConnectorRuns
from .world import BROKER, RUNS, SPARK, Undo, World, alter

__all__ = ["SOURCES", "TOPIC", "OutsideWorld"]

TOPIC: Final = "numbers"
_RACES: Final = (
    Action("second run", 2),
    Action("frozen and superseded", lasts=(2, 25)),
    Action("other tasks"),
    Action("other tasks beside"),
)
_OUTSIDE: Final = (
    Action("outside slow", lasts=(2, 15)),
    Action("outside away", lasts=(2, 15)),
    Action("outside hanging", lasts=(2, 12)),
)
_OVERHEAD: Final = 500
"""Bytes that a record has besides its text, at most."""
_FEW, _MANY = 300, 12_000
_SILENT: Final = 40.0
"""Seconds of the machine without a record after which a world reads with a new client."""


class SourceWorld(World):
    """Reads the topic as it grows, for progress; and all of it anew for the verdict."""

    partitions: ClassVar = 1
    exactly_once: bool = True
    transaction_timeout: ClassVar = 15_000

    def prepare(self) -> None:
        create(self.broker.bootstrap_servers, TOPIC, self.partitions, max_message_bytes=str(2 << 20))
        self._partitions = self.partitions
        self._found: dict[int, int] = {}
        self._delivered = 0
        self._reader: Reader | None = None
        self._clock = MachineTime()
        self.follow()
        self._next_load = 0.0

    def follow(self) -> None:
        """Read the topic from its beginning, with all partitions that it has now."""
        if self._reader is not None:
            self._reader.__exit__()
        self._reader = Reader(self.broker.bootstrap_servers, TOPIC, partitions=self._partitions)
        self._reader.poll()
        self._heard = self._clock()

    def look(self) -> None:
        for r in self.news():
            stream, number = self.number_of(r.value or b"")
            if number >= self._found.get(stream, 0):
                self._delivered += number + 1 - self._found.get(stream, 0)
                self._found[stream] = number + 1

    def news(self) -> Sequence[Read]:
        """Records of the topic that were not read yet; after a while without any, all of them again.

        A client that has lost all brokers may keep no connection to any of them, for ever.
        """
        assert self._reader is not None
        found = list(self._reader.poll(0.02))
        self._reader.records[:-1] = []
        now = self._clock()
        if found:
            self._heard = now
        elif now - self._heard > _SILENT and not self.hindered_at_kafka:
            self.follow()
        return found

    @property
    def delivered(self) -> int:
        return self._delivered

    def verdict(self) -> list[str]:
        streams: dict[int, list[int]] = {}
        strange = []
        for r in read_all(self.broker.bootstrap_servers, TOPIC):
            try:
                stream, number = self.number_of(r.value or b"")
            except ValueError:
                strange.append(f"a record that nobody wrote: {(r.value or b'')[:80]!r}")
                continue
            streams.setdefault(stream, []).append(number)
        return [*strange[:3], *self.holds(streams)]

    def holds(self, streams: Mapping[int, Sequence[int]]) -> list[str]:
        """What is wrong with the records."""
        holds = invariants.exactly_once if self.exactly_once else invariants.at_least_once
        return holds(streams, self.written())

    def number_of(self, value: bytes) -> tuple[int, int]:
        """The stream and the number that a record tells."""
        stream, number, *_ = value.split(b":", 2)
        return int(stream), int(number)

    def written(self) -> Mapping[int, int]:
        """How many records each stream has."""
        raise NotImplementedError

    def due(self) -> bool:
        """Whether there is to be more now: often a little, now and then much."""
        if self._clock() < self._next_load:
            return False
        self._next_load = self._clock() + self.chance.choice([0.05, 0.2, 0.5, 2.0])
        return True

    def portion(self) -> int:
        """How many records come now."""
        return self.chance.randrange(1, _MANY if self.chance.random() < 0.1 else _FEW)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.__exit__()
        super().close()


class OutsideWorld(SourceWorld):
    """Several streams of a plugin's source, through Spark as often as not."""

    name: ClassVar = "numbers"
    partitions: ClassVar = 4
    streams: ClassVar = 4
    largest: ClassVar = 200_000
    most_ahead: ClassVar = 60_000
    password: ClassVar = "${secret:outside:password}"
    actions: ClassVar[tuple[Action, ...]] = (*BROKER, *RUNS, *SPARK, *_RACES, *_OUTSIDE)

    def prepare(self) -> None:
        super().prepare()
        folder = self.folder / "outside"
        folder.mkdir()
        self.outside = Outside(folder)
        self._offered = 0
        self._batch = self.chance.choice([400, 4_000])
        self._boundary = self.chance.choice(["poll", "poll", "interval"])

    def manifest(self, tasks: int) -> Mapping[str, Any]:
        config: dict[str, Any] = {
            "topic": TOPIC,
            "folder": self.folder / "outside",
            "streams": self.streams,
            "partitions": self.partitions,
            "largest": self.largest,
            "password": self.password,
            "value.converter": "StringConverter",
            "batch.max.records": self._batch,
            "delivery.guarantee": "exactly-once" if self.exactly_once else "at-least-once",
        }
        if self.exactly_once:
            config["producer.override.transaction.timeout.ms"] = self.transaction_timeout
            config["transaction.boundary"] = self._boundary
            config["transaction.boundary.interval.ms"] = 3_000
        return manifest(self.connector, "outside:OutsideSource", config, tasks_max=tasks, spark="Eager")

    def load(self) -> None:
        if self.sent - self.delivered < self.most_ahead and self.due():
            self._offered += max(1, self.portion() // self.streams)
            self.outside.offer(self._offered)

    @property
    def sent(self) -> int:
        return self._offered * self.streams

    def written(self) -> Mapping[int, int]:
        return dict.fromkeys(range(self.streams), self._offered)

    def do_outside_slow(self, step: Step) -> Undo:
        return self._outside_is("slow", each=0.001 + step.choice * 0.004)

    def do_outside_away(self, step: Step) -> Undo:
        return self._outside_is("away", after=0.5 + step.choice)

    def do_outside_hanging(self, step: Step) -> Undo:
        return self._outside_is("hanging")

    def _outside_is(self, how: str, **more: float) -> Undo:
        self.outside.set(how, **more)
        return lambda: self.outside.set("fine")

    def ease(self) -> None:
        self.outside.set("fine")
        super().ease()


class AtLeastOnceWorld(OutsideWorld):
    """The same without transactions: nothing is missing, and what comes again comes in order."""

    name: ClassVar = "at-least-once"
    exactly_once = False


class ManyStreamsWorld(OutsideWorld):
    """Thousands of source partitions."""

    name: ClassVar = "thousands"
    streams: ClassVar = 3_000
    largest: ClassVar = 200
    most_ahead: ClassVar = 60_000
    actions: ClassVar = (
        Action("task killed"),
        Action("broker killed", lasts=(1, 8)),
        Action("second run"),
        Action("worker killed"),
    )


class LimitsWorld(OutsideWorld):
    """A topic whose limit falls and rises and whose partitions grow in number, and `errors.tolerance=all`.

    What is larger than the limit is lost then, and counted; nothing else is. Nothing is killed, so that all is counted.
    """

    name: ClassVar = "limits"
    partitions: ClassVar = 2
    streams: ClassVar = 8
    most_ahead: ClassVar = 30_000
    actions: ClassVar[tuple[Action, ...]] = (
        Action("limit lowered", 3, lasts=(3, 15)),
        Action("partition added", 2),
        Action("outside slow", lasts=(2, 6)),
        Action("broker stopped", lasts=(2, 10)),
        Action("broker frozen", lasts=(2, 10)),
        Action("stopped and started"),
    )

    def prepare(self) -> None:
        super().prepare()
        self.exactly_once = self.chance.random() < 0.5
        self._streams = self.partitions
        self._lowest = self._usual = 300_000
        self.outside.grow(self._streams)
        self._alter(self._usual)

    def manifest(self, tasks: int) -> Mapping[str, Any]:
        made = dict(super().manifest(tasks))
        made["spec"]["config"]["errors.tolerance"] = "all"
        return made

    def portion(self) -> int:
        return self.chance.randrange(1_000, 10_000)  # one of a thousand is large

    @property
    def sent(self) -> int:
        return self._offered * self._streams

    def written(self) -> Mapping[int, int]:
        return dict.fromkeys(range(self._streams), self._offered)

    def holds(self, streams: Mapping[int, Sequence[int]]) -> list[str]:
        self.runs.look()  # what they said last
        counted = sum(int(s.get("failures", 0)) for run in self.runs.runs for s in run.states.values())
        return invariants.only_lost(streams, self.written(), self._may_be_lost, counted, once=self.exactly_once)

    def ease(self) -> None:
        super().ease()
        self._alter(self._usual)
        while any(self._may_be_lost(p, self._offered - 1) for p in range(self._streams)):
            self._offered += 1  # the last one shows that all before it were dealt with
        self.outside.offer(self._offered)

    def do_limit_lowered(self, step: Step) -> Undo | None:
        if self.hindered:
            return None
        self._alter(self.chance.choice([10_000, 50_000, 120_000]))

        def back() -> None:
            self.broker_back()
            self._alter(self._usual)

        return back

    def do_partition_added(self, step: Step) -> None:
        if self.hindered or self._streams == self.streams:
            return
        self._streams += 1
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        admin.create_partitions([NewPartitions(TOPIC, self._streams)])[TOPIC].result(120)
        self.outside.grow(self._streams)
        self._partitions = self._streams
        self.follow()

    def _may_be_lost(self, stream: int, number: int) -> bool:
        return size_of(stream, number, self.largest) > self._lowest - _OVERHEAD

    def _alter(self, limit: int) -> None:
        self._lowest = min(self._lowest, limit)
        alter(self.broker.bootstrap_servers, TOPIC, "max.message.bytes", str(limit))


class FileWorld(SourceWorld):
    """FileStreamSource on a file that is appended to, rotated, and cut to nothing by copytruncate."""

    name: ClassVar = "file"
    actions: ClassVar = (
        *BROKER,
        *RUNS,
        Action("second run", 2),
        Action("frozen and superseded", lasts=(2, 25)),
        Action("jvm killed"),
        Action("worker killed"),
        Action("rotated", 3),
        Action("truncated", 2),
        Action("rotated while down"),
        Action("rotated twice"),
    )

    def prepare(self) -> None:
        super().prepare()
        self._logs = self.folder / "logs"
        self._logs.mkdir()
        self._lines = 0
        self._rotations = 0
        self._batch = self.chance.choice([500, 20_000])
        self._wants_truncation = False
        self._hold_until = 0.0
        self._append(1_000)

    @property
    def file(self) -> Path:
        """What is read."""
        return self._logs / "app.log"

    def manifest(self, tasks: int) -> Mapping[str, Any]:
        return manifest(
            self.connector,
            "FileStreamSource",
            file=self.file,
            topic=TOPIC,
            value_converter="StringConverter",
            spark=self.chance.choice(["Eager", "OnDemand"]),
            batch_max_records=self._batch,
            producer_override_transaction_timeout_ms=self.transaction_timeout,
        )

    def number_of(self, value: bytes) -> tuple[int, int]:
        return 0, int(value.partition(b" ")[0])

    def load(self) -> None:
        if self._clock() < self._hold_until:
            return
        if self._wants_truncation:
            if self.delivered == self._lines:  # what was not read yet is lost with copytruncate, whoever reads
                self._wants_truncation = False
                os.truncate(self.file, 0)
                self._hold_until = self._clock() + 3.0
            return
        if self._lines - self.delivered < 100_000 and self.due():
            self._append(self.portion())

    def _append(self, count: int) -> None:
        lines = []
        for n in range(self._lines, self._lines + count):
            size = self.chance.randrange(1, 5_000 if self.chance.random() < 0.01 else 120)
            lines.append(f"{n} {'y' * size}\n")
        self._lines += count
        with self.file.open("a") as file:
            file.write("".join(lines))

    @property
    def sent(self) -> int:
        return self._lines

    def written(self) -> Mapping[int, int]:
        return {0: self._lines}

    def ease(self) -> None:
        self._wants_truncation = False
        super().ease()

    def do_rotated(self, step: Step) -> None:
        """As logrotate does it: renamed, and made anew."""
        self._rotate()

    def do_rotated_twice(self, step: Step) -> None:
        self._rotate()
        self._append(1 + int(step.choice * 2_000))
        self._rotate()

    def do_rotated_while_down(self, step: Step) -> None:
        self._stop()
        self._append(1 + int(step.choice * 500))
        self._rotate()
        self._append(1 + int(step.choice * 20_000))
        self.runs.start()

    def do_truncated(self, step: Step) -> None:
        self._wants_truncation = True

    def _rotate(self) -> None:
        if not self.delivered:  # what was rotated before a connector has ever read is not its own
            return
        for number in range(self._rotations, 0, -1):
            (self._logs / f"app.log.{number}").rename(self._logs / f"app.log.{number + 1}")
        self.file.rename(self._logs / "app.log.1")
        self.file.touch()
        self._rotations += 1


class PodWorld(OutsideWorld):
    """A task in pods, whose lives race each other, and which is paused and resumed."""

    name: ClassVar = "lives"
    password: ClassVar = ""
    others_write: ClassVar = True
    actions: ClassVar[tuple[Action, ...]] = (
        *BROKER,
        *SPARK,
        *_OUTSIDE,
        Action("task killed", 2),
        Action("task frozen", lasts=(1, 25)),
        Action("stopped and started"),
        Action("second run", 2),
        Action("twin", 2),
        Action("all killed"),
        Action("frozen and superseded", 2, lasts=(2, 25)),
        Action("paused", 2, lasts=(1, 10)),
    )

    def connected(self) -> ConnectorRuns:
        self._lives = Lives(self.processes, self.broker.bootstrap_servers, self.manifest(1), self.folder / "pods")
        return self._lives

    def do_twin(self, step: Step) -> None:
        """Two lives with one number: one of them leaves."""
        self._lives.start_twin()

    def do_paused(self, step: Step) -> Undo | None:
        if self.hindered:  # it is told through Kafka, which may be away
            return None
        self._lives.tell("Paused")

        def resume() -> None:
            self.broker_back()
            self._lives.tell("Running")

        return resume

    def temporary_files(self) -> list[str]:
        """A pod's go with the pod."""
        return []


SOURCES: Final = (OutsideWorld, AtLeastOnceWorld, FileWorld, PodWorld, ManyStreamsWorld, LimitsWorld)
