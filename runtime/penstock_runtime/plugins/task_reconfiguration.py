"""Forward requests of plugins to recompute the task configurations (Kafka Connect's `requestTaskReconfiguration`)."""

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Final

__all__ = ["ReconfigurationRequests"]

_PAUSE: Final = 60.0
"""Minimum seconds after the start of a task, and between requests: each may restart tasks."""
_AGAIN: Final = 10
"""Number of pauses after which the same state is forwarded again if it is still requested: it may have been rejected."""


class ReconfigurationRequests:
    """Forwarder of plugins' requests, at most one in each pause: that for the last state. Thread-safe.

    The state that was forwarded last is forwarded again only after ten pauses.

    Attributes:
        handed_on: called in any thread with a string: the time in milliseconds (13 digits) and a digest of the state.

    Args:
        pause: minimum seconds between requests.
        clock: returns seconds since 1970.
    """

    def __init__(self, pause: float = _PAUSE, clock: Callable[[], float] = time.time) -> None:
        self.handed_on: Callable[[str], None] = lambda asked: None
        self._pause = pause
        self._clock = clock
        self._due = time.monotonic() + pause
        self._lock = threading.Lock()
        self._last = ""
        self._again = 0.0
        self._waiting: str | None = None

    def begin(self, handed_on: Callable[[str], None], pause: float = _PAUSE) -> None:
        """Forward to this function from now on, at the earliest after `pause` seconds."""
        with self._lock:
            self.handed_on, self._pause, self._due = handed_on, pause, time.monotonic() + pause

    def ask(self, state: str) -> None:
        """Request new task configurations for a plugin, for this state of its external system."""
        digest = hashlib.sha256(state.encode("utf-8", "backslashreplace")).hexdigest()[:16]
        with self._lock:
            is_first, self._waiting = self._waiting is None, digest
            wait = self._due - time.monotonic()
        if wait <= 0:
            self._hand_on()
        elif is_first:
            timer = threading.Timer(wait, self._hand_on)
            timer.daemon = True
            timer.start()

    def _hand_on(self) -> None:
        with self._lock:
            digest, self._waiting = self._waiting, None
            now = time.monotonic()
            if digest is None or (digest == self._last and now < self._again):
                return
            self._last, self._due, self._again = digest, now + self._pause, now + _AGAIN * self._pause
        self.handed_on(f"{int(self._clock() * 1000):013d} {digest}")
