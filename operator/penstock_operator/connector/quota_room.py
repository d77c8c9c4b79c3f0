"""Room in the quotas of a namespace: executors of a Connector make room for task and job pods of others.

This state is in memory only: a new operator observes it again.
"""

from dataclasses import dataclass
from typing import Final

from penstock_operator.key import Key

__all__ = ["QuotaRoom"]

_MAKES: Final = 60.0
"""Seconds for which executors make room for a pod. If it is still refused then, they are not the cause."""
_AGAIN: Final = 600.0
"""Seconds after which executors make room for the same pod again."""


@dataclass(frozen=True, slots=True)
class _Request:
    """Pod that a quota refuses, and since when, in seconds since 1970."""

    pod: str
    since: float

    def turn(self, now: float) -> int | None:
        """Return the index of the turn in which executors make room for the pod now; None: they do not."""
        number, past = divmod(now - self.since, _AGAIN)
        return int(number) if past < _MAKES else None


class QuotaRoom:
    """Pods refused by quotas, and Connectors with executors, which make room one after the other."""

    def __init__(self) -> None:
        self._requests: dict[Key, _Request] = {}
        self._turns: dict[Key, tuple[str, int]] = {}
        self._executors: dict[Key, int] = {}

    def update(self, key: Key, pod: str | None, executors: int, now: float) -> tuple[Key, ...]:
        """Record a run of a Connector.

        Args:
            key: key of the Connector.
            pod: its task or job pod that a quota refuses; None: there is none.
            executors: number of its existing executors.
            now: seconds since 1970.

        Returns:
            The Connectors that must decide again because of it.
        """
        self._executors[key] = executors
        if not executors:
            del self._executors[key]
        if pod is None:
            self._requests.pop(key, None)
        elif key not in self._requests or self._requests[key].pod != pod:
            self._requests[key] = _Request(pod, now)
        request = self._requests.get(key)
        number, before = None if request is None else request.turn(now), self._turns.pop(key, None)
        turn = None if request is None or number is None else (request.pod, number)
        if turn is not None:
            self._turns[key] = turn
        return () if turn == before else tuple(k for k in self._executors if k != key and k.namespace == key.namespace)

    def pod_without(self, key: Key, now: float) -> str | None:
        """Return the pod of another Connector in the namespace for which executors must make room now; None: there is none.

        If several Connectors wait for room, it is the pod of the one that has waited longest.
        """
        found = self._request(key, now)
        return None if found is None else found[1].pod

    def gives(self, key: Key, now: float) -> bool:
        """Return whether this Connector's executors make room, since it has the most executors."""
        found = self._request(key, now)
        if found is None or found[0] in self._executors:  # the waiting Connector first deletes its executors
            return False
        counts = ((count, k) for k, count in self._executors.items() if k.namespace == key.namespace)
        return max(counts, default=(0, None))[1] == key

    def forget(self, key: Key, now: float) -> tuple[Key, ...]:
        """Forget a deleted Connector; return the Connectors that must decide again because of it."""
        return self.update(key, None, 0, now)

    def _request(self, key: Key, now: float) -> tuple[Key, _Request] | None:
        asked = (
            (request.since, k, request)
            for k, request in self._requests.items()
            if k != key and k.namespace == key.namespace and request.turn(now) is not None
        )
        first = min(asked, default=None)
        return None if first is None else first[1:]
