"""One operator per release at a time: a Lease (coordination.k8s.io/v1), as client-go's leader election uses it.

A holder renews it. Whoever has seen it unchanged for its duration, by their own clock, may take it.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from penstock_operator.errors import Conflict, OperatorError
from penstock_operator.kinds import LEASE
from penstock_operator.kube import Kube

__all__ = ["Lease", "LeaseLost"]

_SECONDS: Final = 15
_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%fZ"


class LeaseLost(OperatorError):
    """Another operator has taken over; this one must end."""


class Lease:
    """The right to act for a release. Not for several threads at once.

    Args:
        kube: the API server.
        namespace: the release's.
        name: the Lease's.
        identity: of this process; a container that is started again in its pod has the same.
        seconds: how long it holds without being renewed.
        clock: monotonic.
    """

    def __init__(
        self, kube: Kube, namespace: str, name: str, identity: str, *, seconds: int = _SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._kube = kube
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._seconds = seconds
        self._clock = clock
        self._seen: tuple[str, float] | None = None  # its resourceVersion, and since when we have known that one
        self._held_until: float | None = None
        self.holder: str | None = None
        """Who had it when it was looked at last."""

    @property
    def is_held(self) -> bool:
        """Whether it is ours at this moment, whatever others do."""
        return self._held_until is not None and self._clock() < self._held_until

    def attempt(self) -> bool:
        """Take it, or renew it; False: somebody else has it.

        Raises:
            LeaseLost: it was ours, and now is somebody else's.
            Unavailable, NotYet, Refused: no use in an answer.
        """
        asked = self._clock()
        found = self._kube.get(LEASE, self._namespace, self._name)
        try:
            if found is None:
                taken = self._kube.create(self._manifest(None))
            elif self._may_take(found, asked):
                taken = self._kube.replace(self._manifest(found))
            else:
                return False
        except Conflict:
            taken = None
        if taken is None:
            return False  # somebody was faster; the next attempt sees who
        self.holder = self._identity
        self._held_until = asked + self._seconds
        return True

    def release(self) -> None:
        """Give it back, so that the next operator need not wait."""
        if not self.is_held:
            return
        found = self._kube.get(LEASE, self._namespace, self._name)
        self._held_until = None
        if found is not None and found["spec"].get("holderIdentity") == self._identity:
            try:
                self._kube.replace(
                    {**found, "spec": {**found["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}}
                )
            except Conflict:
                return

    def _may_take(self, found: dict[str, Any], now: float) -> bool:
        spec = found.get("spec") or {}
        self.holder = spec.get("holderIdentity") or None
        if self.holder in (None, self._identity):
            return True
        if self._held_until is not None:
            raise LeaseLost(
                f"The operator {self.holder} has taken the Lease {self._namespace}/{self._name}; this one ends"
            )
        version = found["metadata"]["resourceVersion"]
        if self._seen is None or self._seen[0] != version:
            self._seen = (version, now)
        return now - self._seen[1] > (spec.get("leaseDurationSeconds") or self._seconds)

    def _manifest(self, found: dict[str, Any] | None) -> dict[str, Any]:
        now = datetime.now(UTC).strftime(_FORMAT)
        before = (found or {}).get("spec") or {}
        is_new = before.get("holderIdentity") != self._identity
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": found["metadata"] if found else {"namespace": self._namespace, "name": self._name},
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": self._seconds,
                "acquireTime": now if is_new else before.get("acquireTime", now),
                "renewTime": now,
                "leaseTransitions": (before.get("leaseTransitions") or 0) + (1 if is_new and found else 0),
            },
        }
