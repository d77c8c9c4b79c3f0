"""Writes records of the status topic behind the task's back: a Kafka that is away holds nobody up.

Of each key the last record counts, so only that is kept. The connection is made when there is something to write and let go
when there has been nothing for a while: an idle task has none.
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

__all__ = ["Background"]

log = logging.getLogger(__name__)
_TRY: Final = 3.0  # seconds for one write
_BACKOFF: Final = ExponentialBackoff(first=0.2, longest=5.0)
_IDLE: Final = 10.0


@dataclass(slots=True, eq=False)
class _Pending:
    value: bytes | None
    due: float


class Background:
    """A thread that writes what it was last given for each key.

    Args:
        make: a connection.
        topic: where to.
    """

    def __init__(self, make: Callable[[], StatusWriter], topic: str) -> None:
        self._make = make
        self._topic = topic
        self._news = threading.Condition()
        self._pending: dict[bytes, _Pending] = {}
        self._hurry = False
        self._closed = False
        self._writer: StatusWriter | None = None
        self._thread = threading.Thread(target=self._flow, name="records", daemon=True)
        self._thread.start()

    def put(self, entries: Sequence[Entry], *, after: float = 0.0) -> None:
        """Write these, in so many seconds; in the place of what waits under the same keys."""
        due = time.monotonic() + after
        with self._news:
            if self._closed:
                return
            for key, value in entries:
                before = self._pending.pop(key, None)  # the latest comes last, and no later than what it replaces
                self._pending[key] = _Pending(value, due if before is None else min(due, before.due))
            self._news.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait until all is acknowledged, so long at most; whether it is."""
        with self._news:
            self._hurry = True
            self._news.notify_all()
            done = self._news.wait_for(lambda: not self._pending, seconds)
            self._hurry = False
        return done

    def close(self) -> None:
        """Write nothing more: what waits is dropped."""
        with self._news:
            self._closed = True
            self._pending.clear()
            self._news.notify_all()

    def _flow(self) -> None:
        failures = 1
        while True:
            batch = self._next()
            if batch is None:
                break
            try:
                if self._writer is None:
                    self._writer = self._make()
                self._writer.write(self._topic, [(key, one.value) for key, one in batch.items()], timeout=_TRY)
            except ConnectError as e:
                log.warning("The status topic was not written, trying again: %s", e)
                self._let_go()
                with self._news:
                    if not self._news.wait_for(lambda: self._closed or self._hurry, _BACKOFF.pause(failures)):
                        failures += 1
                    elif not self._closed:
                        self._news.wait(_BACKOFF.first)
            else:
                failures = 1
                with self._news:
                    for key, one in batch.items():
                        if self._pending.get(key) is one:
                            del self._pending[key]
                    self._news.notify_all()
        self._let_go()

    def _next(self) -> dict[bytes, _Pending] | None:
        """What is due, once something is; None at the end."""
        with self._news:
            quiet = time.monotonic() + _IDLE
            while not self._closed:
                now = time.monotonic()
                due = {k: p for k, p in self._pending.items() if self._hurry or p.due <= now}
                if due:
                    return due
                if self._writer is not None and now >= quiet and not self._pending:
                    self._let_go()
                dues = [p.due for p in self._pending.values()]
                dues += [quiet] if self._writer is not None else []
                self._news.wait(max(0.0, min(dues) - now) if dues else None)
            return None

    def _let_go(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
