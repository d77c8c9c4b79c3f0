"""Decide which process may write: incarnations, fences and transactional ids (docs/decisions, 0001).

The rules, each of which depends on the others:

1. An incarnation of a task writes its record *before* it fences any transactional id.
2. It fences every id that any earlier incarnation may use, *before* it reads offsets.
3. Every process reads the record after each of its `init_transactions`, and exits if there is a newer one.
4. After any failure or unknown outcome the driver increments `fence` in the record, then repeats 2.

Consequently, a process that was frozen before its `init_transactions` reads the newer record (3); one that was frozen after
its `init_transactions` has been fenced (2), and the offsets include those that it had committed (2). The greatest record
counts, not the last: an old incarnation may write late. `look` detects this, and the newer incarnation writes its record
again, before compaction can remove all but the older one. With `look`, an incarnation that writes nothing also detects that
it is superseded.

An incarnation with at-least-once delivery, such as that of a sink, has no ids to fence. It follows the other rules for the
same reason: a sink writes its record before it reads the offsets of its group, and checks for a newer one before each commit
(docs/decisions, 0013).

A source handles `Fenced` in `source/task.py`; `task/runner.py` turns `Superseded` into the exit code.

Partitions may be added to the status topic at any time, which moves the key to another partition. Records are therefore read
from all partitions, by `KeyReader`, and written to the partition that the key maps to now.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock.errors import RetriableError, Superseded
from penstock_kafka.murmur2 import partition_of
from penstock_kafka.records import Entry
from penstock_kafka.topic_position import TopicPosition
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_runtime.kafka import transactional_producer
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.key_reader import KeyReader
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import (
    Incarnation,
    incarnation_key,
    latest_incarnation,
    named_ids,
)

__all__ = ["TaskFence", "TransactionalIds", "all_ids"]

_ANSWER: Final = 30.0
"""Timeout in seconds of requests that the task waits for."""
_PAUSES: Final = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds to wait before a written record that cannot be read back is written again: brokers may see new partitions of a
topic at different times."""


@dataclass(frozen=True)
class TransactionalIds:
    """Transactional ids of one task: the driver's (the same as in Kafka Connect), and one for each slot of a worker."""

    group: str
    connector: str
    task: int

    @property
    def driver(self) -> str:
        """Id of the driver: `<group.id>-<connector>-<task>`."""
        return f"{self.group}-{self.connector}-{self.task}"

    def slot(self, number: int) -> str:
        """Return the id of a slot, `<group.id>-<connector>-<task>/<slot>`; slots are counted from 1."""
        return _slot(self.driver, number)

    def slots(self, count: int) -> Sequence[str]:
        """Return the ids of slots 1 to `count`."""
        return [self.slot(n) for n in range(1, count + 1)]


def all_ids(drivers: Iterable[str], slots: int) -> list[str]:
    """Return the transactional ids of these drivers, and of their workers in slots 1 to `slots`."""
    return [name for d in drivers for name in (d, *(_slot(d, n) for n in range(1, slots + 1)))]


def _slot(driver: str, number: int) -> str:
    return f"{driver}/{number}"


class TaskFence:
    """Fence of one task: keeps this process from writing once a newer incarnation exists.

    Args:
        settings: clients of the connector's cluster, which has the transactions.
        records: clients of the worker's cluster, which has the status topic.
        status_topic: topic of the incarnation records.
        ids: transactional ids of this task.
        incarnation: incarnation that this process acts for.
        fences: whether the task writes in transactions.
        known: records that the operator had read when it created this pod; None: the topic is read once from its beginning.
    """

    def __init__(
        self,
        settings: ClientSettings,
        records: ClientSettings,
        status_topic: str,
        ids: TransactionalIds,
        incarnation: Incarnation,
        *,
        fences: bool = True,
        known: StatusSnapshot | None = None,
    ) -> None:
        self.settings = settings
        self.records = records
        self.status_topic = status_topic
        self.ids = ids
        self.current = incarnation
        self._fences = fences
        self._key = incarnation_key(ids.connector, ids.task)
        self._own = frozenset((ids.driver,)) if fences else frozenset[str]()
        self._named = self._own
        """Drivers' ids in this incarnation's record. Includes those of earlier incarnations until they are fenced: if this
        incarnation ends before, the next one fences them."""
        self._tail = KeyReader(records, status_topic, self._key, TopicPosition.of(known))
        self._seen = [] if known is None else [e for e in known.entries() if e[0] == self._key]
        """Records of this task's key that were read but not yet evaluated."""

    def begin(self, writer: StatusWriter) -> None:
        """Apply rules 1 and 2 at the start of an incarnation. The driver's id is not fenced here but by its producer.

        Raises:
            Superseded: a newer incarnation exists.
            RetriableError, ConnectError: Kafka is unreachable, or refuses.
        """
        entries = self._entries()
        latest = self._latest(entries)
        self._refuse_older_than(latest)
        if latest is not None:
            self.current = replace(self.current, slots=max(self.current.slots, latest.slots))
        earlier = named_ids(entries, self.ids.connector, self.ids.task) - self._own
        self._named = self._own | earlier
        self._write(writer)
        if self._fences:
            slots = self.current.slots
            transactional_producer.fence(self.settings, [*self.ids.slots(slots), *all_ids(earlier, slots)])
            if earlier:  # no process can write with them any longer
                self._named = self._own
                self._write(writer)
        self._seen.clear()

    def refence(self, writer: StatusWriter) -> None:
        """Increment `fence` in the record, and fence all transactional ids again (rule 4). Raises as `begin` does."""
        self.check()
        self.current = replace(self.current, fence=self.current.fence + 1)
        self._write(writer)
        transactional_producer.fence(self.settings, self.ids.slots(self.current.slots))

    def check(self) -> None:
        """Apply rule 3.

        Raises:
            Superseded: a newer incarnation, or a newer fence of this one, exists.
        """
        self._refuse_older_than(self._latest(self._entries()))
        self._seen.clear()

    def look(self, writer: StatusWriter, seconds: float = 2.0) -> None:
        """Apply rule 3 periodically, at the cost of a few small requests: read the records since the last call.

        Args:
            writer: writes the record again if an older incarnation has overwritten it, or the topic was created again.
            seconds: timeout of each request.

        Raises:
            Superseded: as `check`.
            RetriableError, ConnectError: Kafka is unreachable, or refuses; the state is unknown.
        """
        self._seen += self._tail.news(seconds)
        self._refuse_older_than(self._latest(self._seen))
        self._seen.clear()
        last = self._tail.last
        if self._tail.from_beginning if last is None else last != self._entry():
            self._write(writer)

    def close(self) -> None:
        """Close the connection that `look` keeps."""
        self._tail.close()

    def _latest(self, entries: Iterable[Entry]) -> Incarnation | None:
        return latest_incarnation(entries, self.ids.connector, self.ids.task)

    def _entries(self) -> list[Entry]:
        self._seen += self._tail.news(_ANSWER)
        return [*self._seen]

    def _entry(self) -> Entry:
        return self.current.entry(self.ids.connector, self.ids.task, ids=self._named)

    def _write(self, writer: StatusWriter) -> None:
        entry = self._entry()
        for pause in _PAUSES:
            count = writer.partitions(self.status_topic)
            writer.write(self.status_topic, [entry], partition=partition_of(self._key, count))
            self._refuse_older_than(self._latest(self._entries()))
            if self._tail.last == entry:
                return
            time.sleep(pause)
        raise RetriableError(
            f"cannot write the record of task {self.ids.connector}-{self.ids.task} to topic '{self.status_topic}': it was "
            f"written {len(_PAUSES)} times, but was never the last record with its key; check that the topic's "
            f"cleanup.policy is compact, and that no other client writes under this connector's name"
        )

    def _refuse_older_than(self, latest: Incarnation | None) -> None:
        if latest is not None and latest > self.current:
            raise Superseded(
                f"Task {self.ids.connector}-{self.ids.task} was taken over by incarnation {latest.incarnation}"
                f" (fence {latest.fence}); this process acts for {self.current.incarnation} (fence {self.current.fence})"
            )
