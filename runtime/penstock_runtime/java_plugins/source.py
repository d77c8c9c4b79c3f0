"""Source for a Java source task: the JVM polls it, and this process delivers and commits its records."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NoReturn

from penstock.context import PluginContext
from penstock.offsets import Offset, Offsets, SourcePartition
from penstock.source import Limits, PollingSource, Portion, TransactionEnd
from penstock_runtime.java_plugins.connection import Connection
from penstock_runtime.java_plugins.java_error import JavaError
from penstock_runtime.java_plugins.placements import Placements
from penstock_runtime.java_plugins.record_reader import RecordReader
from penstock_runtime.java_plugins.task import JavaTask

__all__ = ["JavaSource"]

log = logging.getLogger(__name__)
_POLLS: Final = 2
"""Number of polls that the task may run ahead: it polls while the records of the last poll are delivered."""
_FIRST: Final = 0.5
"""Seconds to wait for the first records of a batch."""
_NEXT: Final = 0.05
"""Seconds to wait for more after a large batch, which indicates a backlog."""
_MANY: Final = 500
_LOST: Final = "records that were not committed are read again"


class JavaSource(PollingSource):
    """Java source task.

    It cannot rewind: after a failed batch, another task object starts at the offsets in Kafka.

    Args:
        host: the JVM.
        location, class_name: location and class of the connector.
        properties: properties of the task.
        context: context of the plugin.
    """

    def __init__(
        self, host: Connection, location: str, class_name: str, properties: Mapping[str, str], context: PluginContext
    ) -> None:
        self._host = host
        self._task = JavaTask(host, location, class_name, properties, context)
        self._defines_transactions = context.defines_transactions
        self._is_started = self._is_polled = False
        self._committed: dict[SourcePartition, Offset] = {}
        self._reached: dict[SourcePartition, Offset | None] = {}
        """Offsets of all records that this task object has delivered."""
        self._is_lost = False
        """Whether delivered records are missing in Kafka although their offsets do not show it."""
        self._sequence = 0
        self._reader = RecordReader()
        self.placements: Placements | None = None
        """Positions of its records in Kafka; None if the task is not notified of them."""
        self._portions: list[int] = []
        """Numbers of the messages whose records were yielded since the last commit."""

    def start(self, offsets: Offsets) -> None:
        """Start the task in the JVM."""
        self._committed = dict(offsets)
        self._begin()

    def read(self, start: Offsets, limits: Limits) -> Iterator[Portion]:
        """Yield the records that the task has polled, and the ends of its transactions.

        The offsets of a poll are yielded with its last portion, or where a transaction ends between its records.
        """
        if not self._is_started or self._is_behind(start):
            if self._is_started:
                log.info("The last batch was not committed; restarting %s from the offsets in Kafka", self._task.name)
            self._committed = dict(start)
            self._task.stop(_LOST)
            self._begin()
        if not self._is_polled:  # not at its start: a paused task is not polled
            self._task.guarded("poll", lambda: self._host.allow(self._task.epoch, _POLLS))
            self._is_polled = True
        records = size = 0
        wait = _FIRST
        is_complete = True
        while not is_complete or (records < limits.records and size < limits.bytes):
            message = self._next(_FIRST if not is_complete else wait)
            if message is None:
                if is_complete:
                    return
                continue
            if message[0] == "boundary":
                _, _, is_commit, pairs = message
                passed = _offsets(pairs)
                self._reached.update(passed)
                yield (), passed, TransactionEnd.COMMIT if is_commit else TransactionEnd.ABORT
                continue
            batch = self._reader.batch(message)
            offsets = None if message[10] is None else _offsets(message[10])
            is_complete = offsets is not None
            records += len(batch)
            size += message[-1]
            self._sequence = message[2]
            if len(batch):
                self._portions.append(self._sequence)
            self._reached.update(offsets or {})
            if is_complete:
                self._task.guarded("poll", lambda: self._host.allow(self._task.epoch, 1))
            yield batch, offsets or {}
            wait = _NEXT if len(batch) >= _MANY else 0.0

    def lost(self) -> None:
        """Restart the task before the next poll, since it cannot rewind."""
        self._is_lost = True

    def commit(self, offsets: Offsets) -> None:
        """Notify the task that its records are in Kafka. Does not wait for the task."""
        self._committed = dict(offsets)
        portions, self._portions = self._portions, []
        places = [
            [number, [[row, *place] for row, place in found.items()]]
            for number, found in zip(portions, self.placements.take() if self.placements else (), strict=False)
        ]
        self._task.guarded("commit", lambda: self._host.commit(self._task.epoch, self._sequence, places))

    def stop(self) -> None:
        """Stop the task and its connector."""
        self._task.end(_LOST)

    def _begin(self) -> None:
        self._task.epoch += 1
        self._is_started = self._is_polled = False
        self._reached, self._is_lost, self._sequence = {}, False, 0
        self._reader, self._portions = RecordReader(), []
        if self.placements is not None:
            self.placements.take()
        self._host.answer = self._answer
        self._task.start("start", transactions=self._defines_transactions)
        self._is_started = True

    def _is_behind(self, start: Offsets) -> bool:
        """Return whether records that the task has delivered are missing in Kafka, so that it must read them again."""
        return self._is_lost or any(start.get(p) != offset for p, offset in self._reached.items())

    def _next(self, seconds: float) -> list[Any] | None:
        """Return the next message of this task object; None if there is none in time."""
        deadline = time.monotonic() + seconds
        while True:
            self._task.check()
            wait = max(0.0, deadline - time.monotonic())
            message = self._task.guarded("poll", partial(self._host.next, wait))
            if message is None:
                return None
            kind, epoch, content = message[:3]
            if epoch != self._task.epoch:
                continue
            if kind == "failed":
                self._failed(JavaError(*content))
            return message

    def _answer(self, partitions: Sequence[Mapping[str, Any] | None]) -> Sequence[Offset | None]:
        """Return the committed offsets of these source partitions (`OffsetStorageReader`)."""
        return [None if p is None else self._committed.get(SourcePartition(p)) for p in partitions]

    def _failed(self, error: JavaError) -> NoReturn:
        if error.kind == "retriable":  # the failed call used up one of the allowed polls
            self._task.guarded("poll", lambda: self._host.allow(self._task.epoch, 1))
        self._task.raise_error("poll", error)


def _offsets(pairs: Sequence[Any]) -> dict[SourcePartition, Offset | None]:
    return {SourcePartition(p): offset for p, offset in pairs}
