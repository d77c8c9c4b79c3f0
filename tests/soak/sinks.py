"""Worlds of sinks: what is in the topic is outside, and nothing is committed that is not."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, ClassVar, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]
from tests.integration.machine_time import MachineTime
from tests.integration.reading import create
from tests.integration.running import manifest, until

from outside import Outside, text_of

from . import invariants
from .outputs import GrowingFile, Prefix
from .plan import Action, Step
from .world import BROKER, RUNS, SPARK, Undo, World

__all__ = ["RACES", "SINKS", "TOPIC", "FileSinkWorld", "SinkWorld", "number_of"]

TOPIC: Final = "numbers"
RACES: Final = (
    Action("second run", 2),
    Action("frozen and superseded", lasts=(2, 25)),
)
_OUTSIDE: Final = (
    Action("outside slow", 2, lasts=(2, 15)),
    Action("outside away", 2, lasts=(2, 15)),
    Action("outside hanging", lasts=(2, 12)),
)
_CHECKED: Final = 3.0
"""Seconds between two looks at what is committed."""


def number_of(line: bytes, largest: int) -> tuple[int, int] | None:
    """The stream and the number of a record's text; None when it is not whole."""
    parts = line.split(b":", 2)
    if len(parts) < 3 or not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    stream, number = int(parts[0]), int(parts[1])
    whole = line == text_of(stream, number, largest).encode()
    return (stream, number) if whole else None


class SinkWorld(World):
    """A producer writes numbered records; a file takes them."""

    partitions: ClassVar = 3
    most_ahead: ClassVar = 80_000
    most_at_once: ClassVar = 20_000
    largest: ClassVar = 100_000

    def prepare(self) -> None:
        servers = self.broker.bootstrap_servers
        create(servers, TOPIC, self.partitions, max_message_bytes=str(2 << 20))
        self._producer = self.new_producer()
        self._consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": f"connect-{self.connector}", "log_level": 0}
        )
        self._next: dict[int, int] = dict.fromkeys(range(self.partitions), 0)
        self._found: dict[int, Prefix] = {}
        self._torn: list[bytes] = []
        self._written_lines = GrowingFile(self.out)
        self._clock = MachineTime()
        self._next_load = 0.0
        self._next_check = 0.0
        self._next_settled = 0.0

    def new_producer(self) -> Producer:
        """Idempotent and without an end: the n-th record of a partition has offset n, whatever happens to the broker."""
        return Producer(
            {
                "bootstrap.servers": self.broker.bootstrap_servers,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "linger.ms": 20,
                "queue.buffering.max.messages": 1_000_000,
                "message.max.bytes": 2 << 20,
                "topic.metadata.refresh.interval.ms": 1_000,
                "log_level": 0,
            }
        )

    @property
    def groups(self) -> set[str]:
        return {f"connect-{self.connector}"}

    @property
    def out(self) -> Path:
        """What the sink writes."""
        return self.folder / "out"

    def load(self) -> None:
        self._producer.poll(0)
        if self._clock() < self._next_load or self.sent - self.delivered > self.most_ahead:
            return
        self._next_load = self._clock() + self.chance.choice([0.05, 0.2, 0.5, 2.0])
        self.write(self.chance.randrange(1, self.most_at_once if self.chance.random() < 0.1 else 300))

    def write(self, count: int) -> None:
        """So many records more, dealt to the partitions."""
        for _ in range(count):
            partition = self.chance.choice(list(self._next))
            number = self._next[partition]
            text = text_of(self.stream(partition), number, self.largest)
            self._producer.produce(TOPIC, text, partition=partition, on_delivery=self.acknowledged)
            self._next[partition] = number + 1

    def stream(self, partition: int) -> int:
        """What the records of a partition are told by."""
        return partition

    def acknowledged(self, error: KafkaError | None, message: Message) -> None:
        """What became of a record."""
        if error is not None:  # then numbers are not offsets
            self.broken.append(f"the world itself could not write to partition {message.partition()}: {error}")

    @property
    def sent(self) -> int:
        return sum(self._next.values())

    @property
    def delivered(self) -> int:
        return sum(len(p) for p in self._found.values())

    def settled(self) -> bool:
        if self.delivered < self.sent or self._clock() < self._next_settled:
            return False
        self._next_settled = self._clock() + 0.5
        return not invariants.no_lag(self._committed() or {}, self._next)

    def look(self) -> None:
        for line in self._written_lines.more():
            self._take(line)

    def _take(self, line: bytes) -> None:
        found = self.number_of(line)
        if found is None:
            self._torn.append(line)
        else:
            self._found.setdefault(found[0], Prefix()).add(found[1])

    def number_of(self, line: bytes) -> tuple[int, int] | None:
        """The partition and the number that a line tells; None when it is not whole."""
        raise NotImplementedError

    def check(self) -> list[str]:
        if self.hindered or self._clock() < self._next_check:
            return []
        self._next_check = self._clock() + _CHECKED
        committed = self._committed()
        if committed is None:
            return []
        self.look_at_all()
        return invariants.committed_is_written(committed, self.found_now())

    def found_now(self) -> dict[int, set[int]]:
        """What was found of the records that are in each partition."""
        return {p: self._found[s].known for p in self._next if (s := self.stream(p)) in self._found}

    def look_at_all(self) -> None:
        """As far as it is at the moment."""
        while not self._written_lines.is_read:
            self.look()

    def holds(self, streams: Mapping[int, Sequence[int]]) -> list[str]:
        """What is wrong with the records."""
        return invariants.at_least_once(streams, self._written())

    def verdict(self) -> list[str]:
        self.look_at_all()
        committed = self._committed() or {}
        return [
            *self.holds({p: f.numbers for p, f in self._found.items()}),
            *invariants.committed_is_written(committed, self.found_now()),
            *invariants.no_lag(committed, self._next),
            *[f"a line that nobody wrote: {t[:80]!r}" for t in self._torn if not self.is_torn(t)][:3],
        ]

    def is_torn(self, line: bytes) -> bool:
        """Whether it is the beginning or the end of a line that a killed process wrote."""
        return len(line) < 100

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(5)
        self._consumer.close()
        super().close()

    def _written(self) -> Mapping[int, int]:
        return {self.stream(p): n for p, n in self._next.items() if n}

    def _committed(self) -> dict[int, int] | None:
        """None while the broker does not say."""
        try:
            found = self._consumer.committed([TopicPartition(TOPIC, p) for p in self._next], timeout=5)
        except KafkaException:
            return None
        return {f.partition: f.offset for f in found if f.offset >= 0 and f.error is None}

    def do_partition_added(self, step: Step) -> None:
        """The topic grows by one; its records are read like the others'."""
        if self.hindered:
            return
        number = len(self._next) + 1
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        admin.create_partitions([NewPartitions(TOPIC, number)])[TOPIC].result(120)
        until(lambda: len(self._producer.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions) == number)
        self._next[number - 1] = 0


class FileSinkWorld(SinkWorld):
    """FileStreamSink: a backlog is staged by several workers, a trickle appended."""

    name: ClassVar = "file-sink"
    actions: ClassVar[tuple[Action, ...]] = (*BROKER, *RUNS, *SPARK, *RACES, Action("partition added"))

    def prepare(self) -> None:
        super().prepare()
        self._poll = self.chance.choice([200, 500])
        self._batch = self.chance.choice([2_000, 20_000])

    def manifest(self, tasks: int) -> Mapping[str, Any]:
        return manifest(
            self.connector,
            "FileStreamSink",
            topics=TOPIC,
            file=self.out,
            value_converter="StringConverter",
            spark="Eager",
            batch_max_records=self._batch,
            consumer_override_max_poll_records=self._poll,
            consumer_override_metadata_max_age_ms=2_000,
        )

    def number_of(self, line: bytes) -> tuple[int, int] | None:
        return number_of(line, self.largest)

    def is_torn(self, line: bytes) -> bool:
        return True


class OutsideSinkWorld(SinkWorld):
    """A plugin's sink whose outside is slow, away, hanging."""

    name: ClassVar = "outside-sink"
    most_at_once: ClassVar = 8_000
    most_ahead: ClassVar = 20_000
    actions: ClassVar[tuple[Action, ...]] = (*BROKER, *RUNS, *SPARK, *RACES, *_OUTSIDE, Action("partition added"))

    def prepare(self) -> None:
        super().prepare()
        folder = self.folder / "outside"
        folder.mkdir()
        self.outside = Outside(folder)
        self._batch = self.chance.choice([2_000, 20_000])

    def manifest(self, tasks: int) -> Mapping[str, Any]:
        return manifest(
            self.connector,
            "outside:OutsideSink",
            topics=TOPIC,
            folder=self.folder / "outside",
            out=self.out,
            password="${secret:outside:password}",
            value_converter="StringConverter",
            spark="Eager",
            tasks_max=tasks,
            batch_max_records=self._batch,
            consumer_override_metadata_max_age_ms=2_000,
        )

    def number_of(self, line: bytes) -> tuple[int, int] | None:
        partition, _, number = line.partition(b":")
        if not number.endswith(b";") or not partition.isdigit() or not number[:-1].isdigit():
            return None
        return int(partition), int(number[:-1])

    def do_outside_slow(self, step: Step) -> Undo:
        return self._outside_is("slow", each=0.001 + step.choice * 0.01)

    def do_outside_away(self, step: Step) -> Undo:
        return self._outside_is("away", after=0.5 + step.choice * 2)

    def do_outside_hanging(self, step: Step) -> Undo:
        return self._outside_is("hanging")

    def _outside_is(self, how: str, **more: float) -> Undo:
        self.outside.set(how, **more)
        return lambda: self.outside.set("fine")

    def ease(self) -> None:
        self.outside.set("fine")
        super().ease()


class StoringSinkWorld(OutsideSinkWorld):
    """One that keeps offsets with its data: exactly once, whatever the group's offsets say."""

    name: ClassVar = "storing-sink"

    def prepare(self) -> None:
        super().prepare()
        self._place = 0

    def manifest(self, tasks: int) -> Mapping[str, Any]:
        return manifest(
            self.connector,
            "storing_outside:OutsideStore",
            topics=TOPIC,
            folder=self.folder / "outside",
            database=self.out,
            password="${secret:outside:password}",
            value_converter="StringConverter",
            spark="Eager",
            batch_max_records=self._batch,
            consumer_override_metadata_max_age_ms=2_000,
        )

    def look(self) -> None:
        if not self.out.exists():
            return
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{self.out}?mode=ro", uri=True)) as db:
            rows = db.execute(
                "select place, part, number from records where place > ? order by place limit 20000", (self._place,)
            ).fetchall()
            for place, partition, number in rows:
                self._place = place
                self._found.setdefault(partition, Prefix()).add(number)

    def look_at_all(self) -> None:
        before = -1
        while before != self._place:
            before = self._place
            self.look()

    def holds(self, streams: Mapping[int, Sequence[int]]) -> list[str]:
        return invariants.exactly_once(streams, self._written())


SINKS: Final = (FileSinkWorld, OutsideSinkWorld, StoringSinkWorld)
