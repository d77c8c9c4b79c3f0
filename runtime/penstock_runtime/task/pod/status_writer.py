"""Write records of the status topic in a thread, so that the task does not wait while Kafka is unavailable.

Readers of the topic use the last record of each key, so only that one is kept until it is written. The producer is created
for the first record, and closed after 75 seconds without one: an idle task has no connection for it, while a task that
delivers records, and so reports each minute, keeps it.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.errors import ConnectError
from penstock_kafka.records import Entry
from penstock_model.backoff import ExponentialBackoff
from penstock_runtime.kafka.compacted_topic import StatusWriter

__all__ = ["BackgroundStatusWriter"]

log = logging.getLogger(__name__)
_TRY: Final = 3.0  # seconds for one write
_BACKOFF: Final = ExponentialBackoff(first=0.2, longest=5.0)
_IDLE: Final = 75.0


@dataclass(slots=True, eq=False)
class _Pending:
    value: bytes | None
    due: float


class BackgroundStatusWriter:
    """Thread that writes the last record of each key.

    Args:
        connect: creates the producer.
        topic: status topic.
    """

    def __init__(self, connect: Callable[[], StatusWriter], topic: str) -> None:
        self._connect = connect
        self._topic = topic
        self._changed = threading.Condition()
        self._pending: dict[bytes, _Pending] = {}
        self._is_flushing = False
        self._closed = False
        self._writer: StatusWriter | None = None
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)
        self._thread.start()

    def put(self, entries: Sequence[Entry], *, after: float = 0.0) -> None:
        """Write these records `after` seconds from now. They replace pending records of the same keys."""
        due = time.monotonic() + after
        with self._changed:
            if self._closed:
                return
            for key, value in entries:
                before = self._pending.pop(key, None)  # put last, and due no later than the replaced record
                self._pending[key] = _Pending(value, due if before is None else min(due, before.due))
            self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Write all records now, and wait at most `seconds` for acknowledgments; return whether all are acknowledged."""
        with self._changed:
            self._is_flushing = True
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: not self._pending, seconds)
            self._is_flushing = False
        return done

    def close(self) -> None:
        """Drop pending records, and write nothing more."""
        with self._changed:
            self._closed = True
            self._pending.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        failures = 1
        while True:
            batch = self._next()
            if batch is None:
                break
            try:
                if self._writer is None:
                    self._writer = self._connect()
                self._writer.write(self._topic, [(key, record.value) for key, record in batch.items()], timeout=_TRY)
            except ConnectError as e:
                log.warning("Cannot write to the status topic, retrying: %s", e)
                self._disconnect()
                with self._changed:
                    if not self._changed.wait_for(lambda: self._closed or self._is_flushing, _BACKOFF.pause(failures)):
                        failures += 1
                    elif not self._closed:
                        self._changed.wait(_BACKOFF.first)
            else:
                failures = 1
                with self._changed:
                    for key, record in batch.items():
                        if self._pending.get(key) is record:
                            del self._pending[key]
                    self._changed.notify_all()
        self._disconnect()

    def _next(self) -> dict[bytes, _Pending] | None:
        """Wait until records are due, and return them; None once closed."""
        with self._changed:
            idle = time.monotonic() + _IDLE
            while not self._closed:
                now = time.monotonic()
                due = {k: p for k, p in self._pending.items() if self._is_flushing or p.due <= now}
                if due:
                    return due
                if self._writer is not None and now >= idle and not self._pending:
                    self._disconnect()
                dues = [p.due for p in self._pending.values()]
                dues += [idle] if self._writer is not None else []
                self._changed.wait(max(0.0, min(dues) - now) if dues else None)
            return None

    def _disconnect(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
