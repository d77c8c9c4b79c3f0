"""Track when each watch last received data, and whether its list has been read. Thread-safe."""

import logging
import threading
import time
from collections.abc import Callable, Collection
from typing import Final

from penstock_operator.kubernetes.kinds import Kind

__all__ = ["WatchHealth"]

log = logging.getLogger(__name__)

# Seconds. The API server sends a bookmark every minute, and kopf drops a watch that was silent for 70 s.
_SILENCE: Final = 240.0
_REFUSED: Final = 10.0
"""Seconds to wait for a refused list, since the permissions of a new release may be granted a moment later."""


class WatchHealth:
    """Health of the watches of some kinds, each for one namespace or for all.

    Args:
        kinds: the kinds that are watched.
        namespaces: the watched namespaces; empty: all, with one watch per kind.
        most: seconds of silence after which a watch counts as dead.
        clock: monotonic clock.
        on_gap: called when a list is read again; earlier deletions may have been missed.
        on_listed: called when all lists have been read once.
    """

    def __init__(
        self,
        kinds: Collection[Kind],
        namespaces: Collection[str] = (),
        *,
        most: float = _SILENCE,
        clock: Callable[[], float] = time.monotonic,
        on_gap: Callable[[], None] = lambda: None,
        on_listed: Callable[[], None] = lambda: None,
    ) -> None:
        paths = {k.path(n) for k in kinds for n in (namespaces or (None,))}
        now = clock()
        self._heard_at = dict.fromkeys(paths, now)
        self._unlisted = set(paths)
        self._refused: dict[str, tuple[float, float]] = {}  # the first and the last refusal
        self._most = most
        self._clock = clock
        self._on_gap = on_gap
        self._on_listed = on_listed
        self._lock = threading.Lock()

    def heard(self, path: str) -> None:
        """Record a request to this path, or data from it."""
        if path in self._heard_at:
            self._heard_at[path] = self._clock()

    def lists(self, path: str) -> None:
        """Record that the first page of a list is requested."""
        self.heard(path)
        if path in self._heard_at and path not in self._unlisted:
            self._on_gap()

    def watches(self, path: str) -> None:
        """Record that a watch starts, which means that its list has been read."""
        self.heard(path)
        with self._lock:
            self._refused.pop(path, None)
            if path not in self._unlisted:
                return
            self._unlisted.discard(path)
            now = self._clock()
            self._refused = dict.fromkeys(self._refused, (now, now))  # permissions may be granted one after the other
            if self._unlisted - self._given_up():
                return
        self._on_listed()

    def refuses(self, path: str) -> None:
        """Record that the API server forbids a path, for example in a deleted namespace, where permissions are gone.

        The other namespaces do not wait for it. kopf keeps requesting it, and `watches` is called once it is allowed.
        """
        self.heard(path)
        with self._lock:
            if path not in self._unlisted:
                return
            before = self._given_up()
            now = self._clock()
            self._refused[path] = self._refused.get(path, (now, now))[0], now
            if path in before or path not in self._given_up():
                return
            log.warning(
                "The API server forbids %s: its namespace does not exist, or a RoleBinding is missing there", path
            )
            # A release that may not list anything must not count as ready.
            is_listed = len(self._unlisted) < len(self._heard_at) and not self._unlisted - self._given_up()
        if is_listed:
            self._on_listed()

    def _given_up(self) -> set[str]:
        return {path for path, (first, last) in self._refused.items() if last - first >= _REFUSED}

    def check_ready(self) -> str | None:
        """Return a message with the paths that have not been listed yet; None: all have been."""
        with self._lock:
            missing = sorted(
                self._unlisted - (self._given_up() if len(self._unlisted) < len(self._heard_at) else set())
            )
        return f"not listed yet: {', '.join(missing)}" if missing else None

    def check_alive(self) -> str | None:
        """Return a message with the paths that have been silent for too long; None: there are none."""
        now = self._clock()
        silent = {path: now - at for path, at in self._heard_at.items() if now - at > self._most}
        if not silent:
            return None
        return "nothing received from " + ", ".join(f"{path} for {age:.0f} s" for path, age in sorted(silent.items()))
