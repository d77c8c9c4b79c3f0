"""One operator per release at a time: a Lease (coordination.k8s.io/v1) that is written only when somebody asks.

Leader election as client-go does it writes every few seconds for ever. Here a holder only reads its Lease, and holds it
for so many seconds after each reading that finds no challenge. Whoever wants it writes a challenge into it, or waits on
one that another has written: there is one challenge at a time, and it is nobody's own. A holder that lives finds the
challenge and answers it by a write. A challenge that has stood for longer than a Lease holds, by the clock of the one
who waits and from when that one first saw it, ends the Lease: the holder's last reading without it was before it was
written. No time of another machine is ever compared.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from penstock_operator.errors import Conflict, OperatorError, Unavailable
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import LEASE

__all__ = ["Election", "Lease", "LeaseLost", "Move"]

_SECONDS: Final = 15
_DRIFT: Final = 1.0
"""Seconds for which whoever waits waits longer: clocks of two machines do not go at quite the same rate."""
_ASK_AGAIN: Final = 5.0
"""Seconds after an answer before the holder is asked anew: so long may its end be unknown to those who wait."""
_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
_CHALLENGE: Final = "penstock.dev/challenged-by"

Object = dict[str, Any]


class LeaseLost(OperatorError):
    """Another operator has taken over; this one must end."""


@dataclass(frozen=True, slots=True)
class Move:
    """What to write after a reading.

    Attributes:
        aim: `take` or keep the Lease, `ask` whether its holder lives, or `wait`: nothing is written.
        manifest: to be created, where it has no `resourceVersion`, else to replace what was read.
    """

    aim: Literal["take", "ask", "wait"]
    manifest: Object | None = None


class Election:
    """What one process makes of what it reads. No input, no output: times are given, of one monotonic clock.

    Args:
        namespace: the Lease's.
        name: likewise.
        identity: of this process.
        seconds: how long the Lease holds after it was read.
    """

    def __init__(self, namespace: str, name: str, identity: str, *, seconds: int = _SECONDS) -> None:
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._seconds = seconds
        self._challenge: tuple[str, float] | None = None  # its resourceVersion, and when it was first seen
        self._ask_at: float | None = None
        self._absent_since: float | None = None
        self._known = False
        self.held_until: float | None = None
        """Until when it is ours; None: it never was, or was given back."""
        self.holder: str | None = None
        """Who had it when it was looked at last."""
        self.uid = ""
        """The Lease's own, as it was read or written last."""
        self.answers = False
        """Whether the holder has answered since we watch, and the last challenge has not stood for too long."""

    def look(self, found: Object | None, *, now: float) -> Move:
        """What follows from a reading.

        Args:
            found: the Lease; None: there is none.
            now: when the reading had ended.

        Raises:
            LeaseLost: it was ours, and now is somebody else's.
        """
        before, self.holder = self.holder, ((found or {}).get("spec") or {}).get("holderIdentity") or None
        if found is None:
            return self._absent(now)
        self.uid = found["metadata"].get("uid", "")
        self._known, self._absent_since = True, None
        if self.holder == self._identity:
            return Move("take", self._manifest(found) if _challenged(found) else None)
        if self.held_until is not None:
            raise LeaseLost(
                f"The operator {self.holder or '(none now)'} has taken the Lease {self._namespace}/{self._name}; this one "
                f"ends"
            )
        if self.holder != before:
            self.answers = False
        if self._stands_too_long(found, now):
            self.answers = False
            return Move("take", self._manifest(found))
        if self.holder is None:
            return Move("take", self._manifest(found))
        if self._challenge is None and (self._ask_at is None or now >= self._ask_at):
            metadata = found["metadata"]
            annotations = {**(metadata.get("annotations") or {}), _CHALLENGE: self._identity}
            return Move("ask", {**found, "metadata": {**metadata, "annotations": annotations}})
        return Move("wait")

    def wrote(self, move: Move, written: Object | None, *, asked: float, now: float) -> bool:
        """Learn what became of a move; whether the Lease is ours now.

        Args:
            move: what `look` has said.
            written: the Lease as it was written; None: it was not, somebody else was faster.
            asked: when the reading began that `move` followed from.
            now: when the answer to the write was there.
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

    def give_back(self, found: Object | None) -> Object | None:
        """It is ours no more from now on; what to write so that the next need not wait, None: nothing."""
        self.held_until = None
        if found is None or found["spec"].get("holderIdentity") != self._identity:
            return None
        spec = {**found["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
        return {**found, "metadata": _without_challenge(found["metadata"]), "spec": spec}

    def _absent(self, now: float) -> Move:
        """There is none: at the first start of a release. One that was deleted may be held by whoever has read it."""
        self._challenge, self.answers = None, False
        if self._absent_since is None:
            self._absent_since = now
        held = self.held_until is not None and now < self.held_until
        if held or not self._known or now - self._absent_since > self._seconds + _DRIFT:
            return Move("take", self._manifest(None))
        return Move("wait")

    def _stands_too_long(self, found: Object, now: float) -> bool:
        """Whether a challenge, ours or another's, stands there unanswered for longer than anybody may hold on."""
        if not _challenged(found):
            if self._challenge is not None:
                self._challenge, self._ask_at, self.answers = None, now + _ASK_AGAIN, True
            return False
        version = found["metadata"]["resourceVersion"]
        if self._challenge is None or self._challenge[0] != version:
            self._challenge = (version, now)
            return False
        most = max(self._seconds, found["spec"].get("leaseDurationSeconds") or 0)
        return now - self._challenge[1] > most + _DRIFT

    def _manifest(self, found: Object | None) -> Object:
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

    def _named(self) -> Object:
        return {"namespace": self._namespace, "name": self._name}


class Lease:
    """The right to act for a release. `attempt` and `release` are for one thread, the rest for any.

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
        self._clock = clock
        self._election = Election(namespace, name, identity, seconds=seconds)

    @property
    def holder(self) -> str | None:
        """Who had it when it was looked at last."""
        return self._election.holder

    @property
    def uid(self) -> str:
        """The Lease's own, as it was read or written last; empty before that."""
        return self._election.uid

    @property
    def stands_by(self) -> bool:
        """Whether another operator has it, has shown that it lives, and this one would take over."""
        return not self.is_held and self._election.answers

    @property
    def is_held(self) -> bool:
        """Whether it is ours at this moment, whatever others do."""
        return self.covers(0.0)

    def covers(self, seconds: float) -> bool:
        """Whether it is ours for so many seconds from now, whatever others do."""
        until = self._election.held_until
        return until is not None and self._clock() + seconds < until

    def check(self, seconds: float = 0.0) -> None:
        """Ask before every write that may take so many seconds to arrive.

        Raises:
            Unavailable: it is not ours for so long.
        """
        if not self.covers(seconds):
            raise Unavailable("Nothing is written: this operator does not hold the Lease of its release now")

    def attempt(self) -> bool:
        """Take it, or see that it is still ours; False: somebody else has it, and is asked whether it lives.

        Raises:
            LeaseLost: it was ours, and now is somebody else's.
            Unavailable, NotYet, Refused: no use in an answer.
        """
        asked = self._clock()
        found = self._kube.get(LEASE, self._namespace, self._name)
        move = self._election.look(found, now=self._clock())
        written = None
        try:
            if move.manifest is not None:
                write = self._kube.create if found is None else self._kube.replace
                written = write(move.manifest)
        except Conflict:
            pass  # somebody was faster; the next attempt sees who
        return self._election.wrote(move, written, asked=asked, now=self._clock())

    def release(self) -> None:
        """Give it back, so that the next operator need not wait."""
        if not self.is_held:
            return
        manifest = self._election.give_back(self._kube.get(LEASE, self._namespace, self._name))
        if manifest is not None:
            try:
                self._kube.replace(manifest)
            except Conflict:
                return


def _challenged(found: Object) -> bool:
    return _CHALLENGE in (found["metadata"].get("annotations") or {})


def _without_challenge(metadata: Object) -> Object:
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != _CHALLENGE}
    return {**metadata, "annotations": annotations}
