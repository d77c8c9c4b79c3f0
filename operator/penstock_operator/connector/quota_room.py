"""Room in the quotas of a namespace: executors of a Connector make it for pods of tasks and jobs of the others.

It is lost with the operator, and observed again.
"""

from dataclasses import dataclass
from typing import Final

from penstock_operator.key import Key

__all__ = ["QuotaRoom"]

_MAKES: Final = 60.0
"""Seconds for which executors make room for a pod. If it is refused still, they are not the cause."""
_AGAIN: Final = 600.0
"""Seconds after which executors make room for the same pod again."""


@dataclass(frozen=True, slots=True)
class _Request:
    """Pod that a quota refuses, and since when, in seconds since 1970."""

    pod: str
    since: float

    def turn(self, now: float) -> int | None:
        """Return the number of the turn in which room is made for the pod now; None: none is made."""
        number, past = divmod(now - self.since, _AGAIN)
        return int(number) if past < _MAKES else None


class QuotaRoom:
    """Pods that a quota refuses, and the Connectors with executors, which make room one after the other."""

    def __init__(self) -> None:
        self._requests: dict[Key, _Request] = {}
        self._turns: dict[Key, tuple[str, int]] = {}
        self._executors: dict[Key, int] = {}

    def update(self, key: Key, pod: str | None, executors: int, now: float) -> tuple[Key, ...]:
        """Record a run of a Connector.

        Args:
            key: the Connector's.
            pod: pod of a task or job of it that a quota refuses; None: there is none.
            executors: number of its executors that are there.
            now: seconds since 1970.

        Returns:
            The Connectors that decide again because of it.
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
        """Return the pod for which executors must make room now, of the Connector of the namespace that has waited longest.

        None: no pod of another Connector waits for room.
        """
        found = self._request(key, now)
        return None if found is None else found[1].pod

    def gives(self, key: Key, now: float) -> bool:
        """Return whether it is this Connector whose executors make room: the one that has most of them."""
        found = self._request(key, now)
        if found is None or found[0] in self._executors:  # which makes room itself first
            return False
        counts = ((count, k) for k, count in self._executors.items() if k.namespace == key.namespace)
        return max(counts, default=(0, None))[1] == key

    def forget(self, key: Key, now: float) -> tuple[Key, ...]:
        """Forget a Connector that is gone; return as `update`."""
        return self.update(key, None, 0, now)

    def _request(self, key: Key, now: float) -> tuple[Key, _Request] | None:
        asked = (
            (request.since, k, request)
            for k, request in self._requests.items()
            if k != key and k.namespace == key.namespace and request.turn(now) is not None
        )
        first = min(asked, default=None)
        return None if first is None else first[1:]
