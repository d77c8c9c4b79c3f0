"""One operator per release at a time: a Lease (coordination.k8s.io/v1) that is written only when somebody asks.

Leader election as client-go does it writes every few seconds for ever. Here a holder only reads its Lease, and holds it
for so many seconds after each reading that finds nobody else. Whoever wants it writes a challenge into it. A holder that
lives finds the challenge and answers it by a write; one that has not after its seconds, by the challenger's own clock,
holds the Lease no more: its last reading without the challenge was before that was written.
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
_CHALLENGE: Final = "penstock.dev/challenged-by"


class LeaseLost(OperatorError):
    """Another operator has taken over; this one must end."""


class Lease:
    """The right to act for a release. Not for several threads at once.

    Args:
        kube: the API server.
        namespace: the release's.
        name: the Lease's.
        identity: of this process; a container that is started again in its pod has the same.
        seconds: how long it holds after it was last read.
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
        self._challenge: tuple[str, float] | None = None  # the resourceVersion that ours made, and when that was there
        self._held_until: float | None = None
        self.holder: str | None = None
        """Who had it when it was looked at last."""

    @property
    def is_held(self) -> bool:
        """Whether it is ours at this moment, whatever others do."""
        return self._held_until is not None and self._clock() < self._held_until

    def attempt(self) -> bool:
        """Take it, or see that it is still ours; False: somebody else has it, and is asked whether it lives.

        Raises:
            LeaseLost: it was ours, and now is somebody else's.
            Unavailable, NotYet, Refused: no use in an answer.
        """
        asked = self._clock()
        found = self._kube.get(LEASE, self._namespace, self._name)
        self.holder = ((found or {}).get("spec") or {}).get("holderIdentity") or None
        try:
            if found is None:
                mine = self._kube.create(self._manifest(None)) is not None
            elif self.holder == self._identity:
                mine = not _challenged(found) or self._kube.replace(self._manifest(found)) is not None
            elif self._held_until is not None:
                raise LeaseLost(
                    f"The operator {self.holder} has taken the Lease {self._namespace}/{self._name}; this one ends"
                )
            elif self.holder is None or self._unanswered(found):
                mine = self._kube.replace(self._manifest(found)) is not None
            else:
                self._ask(found)
                return False
        except Conflict:
            mine = False
        if not mine:
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
                spec = {**found["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
                self._kube.replace({**found, "metadata": _without_challenge(found["metadata"]), "spec": spec})
            except Conflict:
                return

    def _unanswered(self, found: dict[str, Any]) -> bool:
        """Whether our challenge stands there as we wrote it, and has for longer than anybody may hold on."""
        if self._challenge is None or self._challenge[0] != found["metadata"]["resourceVersion"]:
            return False
        most = max(self._seconds, found["spec"].get("leaseDurationSeconds") or 0)
        return self._clock() - self._challenge[1] > most

    def _ask(self, found: dict[str, Any]) -> None:
        """Write a challenge, unless one stands there or was answered a moment ago."""
        now = self._clock()
        if self._challenge is not None and now - self._challenge[1] <= self._seconds:
            return
        metadata = found["metadata"]
        annotations = {**(metadata.get("annotations") or {}), _CHALLENGE: self._identity}
        written = self._kube.replace({**found, "metadata": {**metadata, "annotations": annotations}})
        if written is not None:
            self._challenge = (written["metadata"]["resourceVersion"], self._clock())

    def _manifest(self, found: dict[str, Any] | None) -> dict[str, Any]:
        now = datetime.now(UTC).strftime(_FORMAT)
        before = (found or {}).get("spec") or {}
        is_new = before.get("holderIdentity") != self._identity
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": _without_challenge(found["metadata"]) if found else self._named(),
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": self._seconds,
                "acquireTime": now if is_new else before.get("acquireTime", now),
                "renewTime": now,
                "leaseTransitions": (before.get("leaseTransitions") or 0) + (1 if is_new and found else 0),
            },
        }

    def _named(self) -> dict[str, Any]:
        return {"namespace": self._namespace, "name": self._name}


def _challenged(found: dict[str, Any]) -> bool:
    return _CHALLENGE in (found["metadata"].get("annotations") or {})


def _without_challenge(metadata: dict[str, Any]) -> dict[str, Any]:
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != _CHALLENGE}
    return {**metadata, "annotations": annotations}
