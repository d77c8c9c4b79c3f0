"""Whether the watches live: when each last gave a sign, and whether its list has been read. Usable by many threads."""

import logging
import threading
import time
from collections.abc import Callable, Collection
from typing import Final

from penstock_operator.kubernetes.kinds import Kind

__all__ = ["Streams"]

log = logging.getLogger(__name__)

# The API server sends a bookmark every minute, and kopf drops a stream that was silent for 70 s.
_MOST: Final = 240.0
_REFUSED: Final = 10.0
"""Seconds from which on a list that is refused is not waited for: rights of a release that begins may come a moment late."""


class Streams:
    """The watches of some kinds, each of one namespace or of all.

    Args:
        kinds: that are watched.
        namespaces: empty: all, by one watch per kind.
        most: seconds without a sign of life from which on a watch counts as dead.
        clock: monotonic.
        on_gap: called when a list is read again: what was deleted meanwhile was not told.
        on_listed: called when all lists have been read once.
    """

    def __init__(
        self, kinds: Collection[Kind], namespaces: Collection[str] = (), *, most: float = _MOST,
        clock: Callable[[], float] = time.monotonic,
        on_gap: Callable[[], None] = lambda: None, on_listed: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        paths = {k.path(n) for k in kinds for n in (namespaces or (None,))}
        now = clock()
        self._signs = dict.fromkeys(paths, now)
        self._unlisted = set(paths)
        self._refused: dict[str, tuple[float, float]] = {}  # the first and the last refusal
        self._most = most
        self._clock = clock
        self._on_gap = on_gap
        self._on_listed = on_listed
        self._lock = threading.Lock()

    def sign(self, path: str) -> None:
        """Something was asked of, or came from, this path."""
        if path in self._signs:
            self._signs[path] = self._clock()

    def lists(self, path: str) -> None:
        """A list begins to be read."""
        self.sign(path)
        if path in self._signs and path not in self._unlisted:
            self._on_gap()

    def watches(self, path: str) -> None:
        """A watch begins: what was listed before it has been told."""
        self.sign(path)
        with self._lock:
            self._refused.pop(path, None)
            if path not in self._unlisted:
                return
            self._unlisted.discard(path)
            now = self._clock()
            self._refused = dict.fromkeys(self._refused, (now, now))  # rights are coming, perhaps one after the other
            if self._unlisted - self._given_up():
                return
        self._on_listed()

    def refuses(self, path: str) -> None:
        """The API server does not allow it, as in a namespace that was deleted, and with it the operator's rights there.

        The other namespaces do not wait for it. It is asked for all the same, and told when the rights are there again.
        """
        self.sign(path)
        with self._lock:
            if path not in self._unlisted:
                return
            before = self._given_up()
            now = self._clock()
            self._refused[path] = self._refused.get(path, (now, now))[0], now
            if path in before or path not in self._given_up():
                return
            log.warning(
                "The API server does not allow %s: its namespace is gone, or a RoleBinding is missing there", path
            )
            # Of a release that may list nothing at all nobody would know.
            is_listed = len(self._unlisted) < len(self._signs) and not self._unlisted - self._given_up()
        if is_listed:
            self._on_listed()

    def _given_up(self) -> set[str]:
        return {path for path, (first, last) in self._refused.items() if last - first >= _REFUSED}

    def check_ready(self) -> str | None:
        """What has not been listed yet."""
        with self._lock:
            left = sorted(self._unlisted - (self._given_up() if len(self._unlisted) < len(self._signs) else set()))
        return f"not listed yet: {', '.join(left)}" if left else None

    def check_alive(self) -> str | None:
        """What has been silent for too long."""
        now = self._clock()
        silent = {path: now - at for path, at in self._signs.items() if now - at > self._most}
        if not silent:
            return None
        return "no sign of life from " + ", ".join(f"{path} for {age:.0f} s" for path, age in sorted(silent.items()))
