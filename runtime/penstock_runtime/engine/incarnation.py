"""Who may write: incarnations, fences and transactional ids (docs/decisions, 0001).

The rules, each of which the others rest on:

1. A life of a task writes its incarnation record *before* it fences any transactional id.
2. It fences every id that any life before it may use, *before* it reads offsets.
3. Every process, after each `init_transactions` of its own, reads the record, and leaves when it finds a newer one.
4. After any failure or unknown outcome the driver raises `fence` in the record, then does 2 again.

So a process that was frozen before its `init_transactions` finds the newer record (3), one that was frozen after it has
been fenced (2), and what it had committed is seen in the offsets (2). The greatest record counts, not the last: an old
life may write late, and the newer one then writes its own again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.errors import Superseded
from penstock_runtime.kafka import transactions
from penstock_runtime.kafka.compacted import StatusWriter, read_to_end
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import (
    Incarnation,
    incarnation_key,
    latest_incarnation,
)

__all__ = ["Life", "TransactionalIds"]


@dataclass(frozen=True)
class TransactionalIds:
    """The transactional ids of one task: the driver's (Connect's own), and one for each slot of a worker."""

    group: str
    connector: str
    task: int

    @property
    def driver(self) -> str:
        """`<group.id>-<connector>-<task>`."""
        return f"{self.group}-{self.connector}-{self.task}"

    def slot(self, number: int) -> str:
        """`<group.id>-<connector>-<task>/<slot>`, slots counted from 1."""
        return f"{self.driver}/{number}"

    def slots(self, count: int) -> Sequence[str]:
        """The ids of slots 1 to `count`."""
        return [self.slot(n) for n in range(1, count + 1)]


class Life:
    """This process's view of which incarnation of its task it acts for.

    Args:
        settings: of the connector's cluster, where its transactions are.
        records: of the worker's cluster, where the status topic is.
        status_topic: holds the incarnation records.
        ids: this task's transactional ids.
        incarnation: what this process acts for.
    """

    def __init__(
        self,
        settings: ClientSettings,
        records: ClientSettings,
        status_topic: str,
        ids: TransactionalIds,
        incarnation: Incarnation,
    ) -> None:
        self.settings = settings
        self.records = records
        self.status_topic = status_topic
        self.ids = ids
        self.current = incarnation

    def begin(self, writer: StatusWriter) -> None:
        """Rules 1 and 2 at the start of a life. The driver's own id is left to its own producer, which fences it.

        Raises:
            Superseded: a newer life exists.
            RetriableError, ConnectError: Kafka is away, or refuses.
        """
        found = self._latest()
        self._refuse_older_than(found)
        if found is not None:
            self.current = replace(self.current, slots=max(self.current.slots, found.slots))
        self._write(writer)
        transactions.fence(self.settings, self.ids.slots(self.current.slots))

    def refence(self, writer: StatusWriter) -> None:
        """Rule 4. Raises as `begin` does."""
        self.check()
        self.current = replace(self.current, fence=self.current.fence + 1)
        self._write(writer)
        transactions.fence(self.settings, self.ids.slots(self.current.slots))

    def check(self) -> None:
        """Rule 3.

        Raises:
            Superseded: a newer life, or a newer fence of this one, exists.
        """
        self._refuse_older_than(self._latest())

    def _latest(self) -> Incarnation | None:
        return latest_incarnation(self._entries(), self.ids.connector, self.ids.task)

    def _entries(self) -> list[tuple[bytes, bytes | None]]:
        key = incarnation_key(self.ids.connector, self.ids.task)
        return read_to_end(self.records, self.status_topic, key=key)

    def _write(self, writer: StatusWriter) -> None:
        entry = self.current.entry(self.ids.connector, self.ids.task)
        while True:
            writer.write(self.status_topic, [entry])
            entries = self._entries()
            self._refuse_older_than(latest_incarnation(entries, self.ids.connector, self.ids.task))
            last = next((e for e in reversed(entries) if e[0] == entry[0]), None)
            if last == entry:
                return

    def _refuse_older_than(self, found: Incarnation | None) -> None:
        if found is not None and found > self.current:
            raise Superseded(
                f"Task {self.ids.connector}-{self.ids.task} lives on as incarnation {found.incarnation}"
                f" (fence {found.fence}); this process acts for {self.current.incarnation} (fence {self.current.fence})"
            )
