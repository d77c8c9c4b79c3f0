"""Leader election with a Lease (coordination.k8s.io/v1) that is written only when it is challenged.

Leader election in client-go writes every few seconds. Here the holder only reads its Lease, and holds it for some seconds
after each read without a challenge. A candidate writes a challenge into the Lease, or waits for that of another candidate:
there is one challenge at a time, for all candidates. A live holder sees the challenge and removes it. If a candidate has
seen a challenge for longer than the Lease is valid, by its own clock, it takes the Lease: the holder last read it before
the challenge was written. Times of other machines are never compared.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from penstock_operator.errors import OperatorError
from penstock_operator.kubernetes.kinds import LEASE

__all__ = ["HELD_SECONDS", "Election", "LeaseLost", "Move"]

HELD_SECONDS: Final = 15
"""Seconds for which a Lease is valid after it was read."""
_DRIFT: Final = 1.0
"""Additional seconds that a candidate waits, since clocks of two machines run at slightly different rates."""
_CHALLENGE_AGAIN: Final = 5.0
"""Seconds between a holder's answer and the next challenge; meanwhile, a crash of the holder may go unnoticed."""
_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
_CHALLENGE: Final = "penstock.dev/challenged-by"
_CONSOLE: Final = "penstock.dev/console"
"""Annotation with the address of the holder's console."""

Object = dict[str, Any]


class LeaseLost(OperatorError):
    """Raised when another operator has taken over and this one must exit."""


@dataclass(frozen=True, slots=True)
class Move:
    """Action after a read.

    Attributes:
        aim: `take` (or keep) the Lease, challenge its holder (`ask`), or `wait`.
        manifest: the Lease to write: it is created if it has no `resourceVersion`, otherwise it replaces the Lease that was
            read. None: nothing is written.
    """

    aim: Literal["take", "ask", "wait"]
    manifest: Object | None = None


class Election:
    """Decisions of one process about the Lease, without I/O: times are arguments, from one monotonic clock.

    Args:
        namespace: namespace of the Lease.
        name: name of the Lease.
        identity: identity of this process.
        seconds: seconds for which the Lease is valid after it was read.
        address: address of this process's console, for standbys; empty: it has none.
    """

    def __init__(
        self, namespace: str, name: str, identity: str, *, seconds: int = HELD_SECONDS, address: str = ""
    ) -> None:
        self._namespace = namespace
        self._address = address
        self._name = name
        self._identity = identity
        self._seconds = seconds
        self._challenge: tuple[str, float] | None = (
            None  # resourceVersion of the Lease with it, and when it was first seen
        )
        self._ask_at: float | None = None
        self._absent_since: float | None = None
        self._known = False
        self.held_until: float | None = None
        """Time until which this process holds the Lease; None: it never held the Lease, or has released it."""
        self.holder: str | None = None
        """Holder at the last read."""
        self.holder_address: str | None = None
        """Address of the holder's console at the last read; None: there is none."""
        self.uid = ""
        """Uid of the Lease when it was last read or written."""
        self.answers = False
        """Whether the holder has answered a challenge, and none has been unanswered for too long since then."""

    def look(self, lease: Object | None, *, now: float) -> Move:
        """Decide the action after a read.

        Args:
            lease: the Lease that was read; None: there is none.
            now: when the read was complete.

        Raises:
            LeaseLost: this process held it, but no longer does.
        """
        before, self.holder = self.holder, ((lease or {}).get("spec") or {}).get("holderIdentity") or None
        annotations = ((lease or {}).get("metadata") or {}).get("annotations") or {}
        self.holder_address = annotations.get(_CONSOLE) if self.holder is not None else None
        if lease is None:
            return self._absent(now)
        self.uid = lease["metadata"].get("uid", "")
        self._known, self._absent_since = True, None
        if self.holder == self._identity:
            is_current = self._address == (self.holder_address or "")
            return Move("take", self._manifest(lease) if _is_challenged(lease) or not is_current else None)
        if self.held_until is not None:
            raise LeaseLost(
                f"cannot remain leader: the Lease {self._namespace}/{self._name} "
                f"{f'is now held by {self.holder}' if self.holder else 'was released by another client'}; this process exits"
            )
        if self.holder != before:
            self.answers = False
        if self._is_overdue(lease, now):
            self.answers = False
            return Move("take", self._manifest(lease))
        if self.holder is None:
            return Move("take", self._manifest(lease))
        if self._challenge is None and (self._ask_at is None or now >= self._ask_at):
            metadata = lease["metadata"]
            annotations = {**(metadata.get("annotations") or {}), _CHALLENGE: self._identity}
            return Move("ask", {**lease, "metadata": {**metadata, "annotations": annotations}})
        return Move("wait")

    def wrote(self, move: Move, written: Object | None, *, asked: float, now: float) -> bool:
        """Process the result of a move, and return whether this process holds the Lease now.

        Args:
            move: the result of `look`.
            written: the written Lease; None: it was not written, since another process was faster.
            asked: when the read before `move` started.
            now: when the response to the write arrived.
        """
        if move.manifest is not None and written is None:
            return False
        if written is not None:
            self.uid = written["metadata"].get("uid", "")
        if move.aim == "take":
            self.holder = self._identity
            self.held_until = asked + self._seconds
            return True
        if move.aim == "ask" and written is not None:
            self._challenge = (written["metadata"]["resourceVersion"], now)
        return False

    def give_back(self, lease: Object | None) -> Object | None:
        """Give up the Lease, and return the Lease to write so that the next holder need not wait; None: nothing to write."""
        self.held_until = None
        if lease is None or lease["spec"].get("holderIdentity") != self._identity:
            return None
        spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
        return {**lease, "metadata": _without(lease["metadata"], _CHALLENGE, _CONSOLE), "spec": spec}

    def _absent(self, now: float) -> Move:
        """Decide the action without a Lease: none ever existed, or it was deleted, and another process may still hold it."""
        self._challenge, self.answers = None, False
        if self._absent_since is None:
            self._absent_since = now
        held = self.held_until is not None and now < self.held_until
        if held or not self._known or now - self._absent_since > self._seconds + _DRIFT:
            return Move("take", self._manifest(None))
        return Move("wait")

    def _is_overdue(self, lease: Object, now: float) -> bool:
        """Return whether a challenge has been unanswered for longer than the Lease is valid."""
        if not _is_challenged(lease):
            if self._challenge is not None:
                self._challenge, self._ask_at, self.answers = None, now + _CHALLENGE_AGAIN, True
            return False
        version = lease["metadata"]["resourceVersion"]
        if self._challenge is None or self._challenge[0] != version:
            self._challenge = (version, now)
            return False
        most = max(self._seconds, lease["spec"].get("leaseDurationSeconds") or 0)
        return now - self._challenge[1] > most + _DRIFT

    def _manifest(self, lease: Object | None) -> Object:
        now = datetime.now(UTC).strftime(_FORMAT)
        before = (lease or {}).get("spec") or {}
        is_new = before.get("holderIdentity") != self._identity
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": self._metadata(lease),
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": self._seconds,
                "acquireTime": now if is_new else before.get("acquireTime", now),
                "renewTime": now,
                "leaseTransitions": (before.get("leaseTransitions") or 0) + (1 if is_new and lease else 0),
            },
        }

    def _metadata(self, lease: Object | None) -> Object:
        metadata = _without(lease["metadata"], _CHALLENGE, _CONSOLE) if lease else self._named()
        if not self._address:
            return metadata
        return {**metadata, "annotations": {**metadata.get("annotations", {}), _CONSOLE: self._address}}

    def _named(self) -> Object:
        return {"namespace": self._namespace, "name": self._name}


def _is_challenged(lease: Object) -> bool:
    return _CHALLENGE in (lease["metadata"].get("annotations") or {})


def _without(metadata: Object, *names: str) -> Object:
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in names}
    return {**metadata, "annotations": annotations}
