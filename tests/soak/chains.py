"""A world of two connectors: what a source writes exactly once, a sink writes to a file."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from confluent_kafka import Consumer, KafkaException, TopicPartition
from tests.integration.running import manifest, new_name

from . import invariants
from .outputs import GrowingFile, Prefix
from .plan import Action
from .sinks import number_of
from .sources import TOPIC, OutsideWorld

__all__ = ["ChainWorld"]

_CHECKED = 3.0


class ChainWorld(OutsideWorld):
    """Stream n lies in partition n. The sink stands behind transactions, some of which are aborted."""

    name: ClassVar = "chain"
    actions: ClassVar[tuple[Action, ...]] = tuple(
        a for a in OutsideWorld.actions if not a.name.startswith("other tasks")
    )

    most_runs: ClassVar = 2

    def prepare(self) -> None:
        super().prepare()
        self._sink = new_name("chain-sink")
        self._out = self.folder / "out"
        self._lines = GrowingFile(self._out)
        self._places: dict[int, list[int]] = {p: [] for p in range(self.partitions)}
        """The offsets of the records of each partition."""
        self._in_file: dict[int, Prefix] = {}
        self._consumer = Consumer(
            {"bootstrap.servers": self.broker.bootstrap_servers, "group.id": f"connect-{self._sink}", "log_level": 0}
        )
        self._next_check = self._next_settled = 0.0

    @property
    def groups(self) -> set[str]:
        return {f"connect-{self._sink}"}

    def manifests(self, tasks: int) -> Sequence[Mapping[str, Any]]:
        sink = manifest(
            self._sink,
            "FileStreamSink",
            topics=TOPIC,
            file=self._out,
            value_converter="StringConverter",
            spark="OnDemand",
            consumer_override_max_poll_records=500,
        )
        return [self.manifest(tasks), sink]

    def look(self) -> None:
        for r in self.news():
            places = self._places[r.partition]
            if not places or r.offset > places[-1]:  # not one that is read again
                places.append(r.offset)
        for line in self._lines.more():
            found = number_of(line, self.largest)
            if found is not None:
                self._in_file.setdefault(found[0], Prefix()).add(found[1])

    @property
    def delivered(self) -> int:
        return sum(len(f) for f in self._in_file.values())

    def settled(self) -> bool:
        if self.delivered < self.sent or self._clock() < self._next_settled:
            return False
        self._next_settled = self._clock() + 0.5
        return not self._lag()

    def check(self) -> list[str]:
        if self.hindered or self._clock() < self._next_check:
            return []
        self._next_check = self._clock() + _CHECKED
        committed = self._committed()
        if committed is None:
            return []
        self._look_at_all()
        before = {p: bisect_left(self._places[p], offset) for p, offset in committed.items()}
        return invariants.committed_is_written(before, {s: f.known for s, f in self._in_file.items()})

    def verdict(self) -> list[str]:
        self._look_at_all()
        return [
            *super().verdict(),
            *invariants.at_least_once({s: f.numbers for s, f in self._in_file.items()}, self.written()),
            *self._lag(),
        ]

    def close(self) -> None:
        self._consumer.close()
        super().close()

    def _look_at_all(self) -> None:
        while not self._lines.is_read:
            self.look()

    def _lag(self) -> list[str]:
        """Behind the last record of a partition stands the end of its transaction."""
        ends = {p: places[-1] + 1 for p, places in self._places.items() if places}
        committed = {p: min(offset, ends.get(p, offset)) for p, offset in (self._committed() or {}).items()}
        return invariants.no_lag(committed, ends)

    def _committed(self) -> dict[int, int] | None:
        """None while the broker does not say."""
        try:
            found = self._consumer.committed([TopicPartition(TOPIC, p) for p in self._places], timeout=5)
        except KafkaException:
            return None
        return {f.partition: f.offset for f in found if f.offset >= 0 and f.error is None}
