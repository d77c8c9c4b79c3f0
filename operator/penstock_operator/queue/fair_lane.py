"""Keys that wait until they are due, and then for their turn. Namespaces take turns, so that none delays another."""

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from typing import Final

from penstock_operator.key import Key

__all__ = ["Lane"]

_Entry = tuple[float, int, Key]
_NEVER: Final = float("inf")


class Lane:
    """Entries of a work queue. The cost of a turn does not depend on the number of namespaces.

    Entries are not removed: when it is the turn of one, `counts` decides whether it is still valid.

    Args:
        counts: returns whether the entry of this key and time is still valid.
    """

    def __init__(self, counts: Callable[[Key, float], bool]) -> None:
        self._counts = counts
        self._numbers = itertools.count()
        self._later: list[_Entry] = []
        self._due: dict[str, list[_Entry]] = {}
        self._turns: deque[str] = deque()
        """Namespaces in `_due` in the order of their turns; after its turn, a namespace is moved to the end."""

    def put(self, key: Key, when: float) -> None:
        """Add a key that is due at this time."""
        heapq.heappush(self._later, (when, next(self._numbers), key))

    def take(self, now: float) -> Key | None:
        """Take the longest waiting due key of the namespace whose turn it is; None: no key is due."""
        while self._later and self._later[0][0] <= now:
            entry = heapq.heappop(self._later)
            namespace = entry[2].namespace
            if namespace not in self._due:
                self._due[namespace] = []
                self._turns.append(namespace)
            heapq.heappush(self._due[namespace], entry)
        while self._turns:
            namespace = self._turns.popleft()
            key = self._first(self._due[namespace])
            if self._due[namespace]:
                self._turns.append(namespace)
            else:
                del self._due[namespace]
            if key is not None:
                return key
        return None

    def wait(self, now: float) -> float:
        """Return the seconds until a key is due, after `take` returned None; infinity: there is none."""
        while self._later and not self._counts(self._later[0][2], self._later[0][0]):
            heapq.heappop(self._later)
        return self._later[0][0] - now if self._later else _NEVER

    def _first(self, entries: list[_Entry]) -> Key | None:
        while entries:
            when, _, key = heapq.heappop(entries)
            if self._counts(key, when):
                return key
        return None
