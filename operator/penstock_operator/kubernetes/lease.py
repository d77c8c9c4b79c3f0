"""Lease of a release: one operator acts for a release at a time (`election` describes how it is held)."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from penstock_operator.errors import Conflict, Unavailable
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.election import HELD_SECONDS, Election
from penstock_operator.kubernetes.kinds import LEASE

__all__ = ["Lease"]

_RELEASE_ATTEMPTS: Final = 5
"""Besides the holder only candidates write, one challenge at a time: more than two conflicts are not expected."""


class Lease:
    """Leader-election lease of a release. `attempt` and `release` are for one thread, the rest for any.

    Args:
        kube: of the API server.
        namespace: namespace of the release.
        name: name of the Lease.
        identity: of this process; a container that restarts in its pod keeps it.
        seconds: how long the Lease holds after it was last read.
        clock: monotonic.
        address: address of this process's console, which is written into the Lease; empty: it has none.
    """

    def __init__(
        self,
        kube: Kube,
        namespace: str,
        name: str,
        identity: str,
        *,
        seconds: int = HELD_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        address: str = "",
    ) -> None:
        self._kube = kube
        self._namespace = namespace
        self._name = name
        self._clock = clock
        self._election = Election(namespace, name, identity, seconds=seconds, address=address)

    @property
    def holder(self) -> str | None:
        """Holder at the last reading."""
        return self._election.holder

    @property
    def holder_address(self) -> str | None:
        """Address of the console of another process that held the Lease at the last reading; None: there is none."""
        return None if self.is_held else self._election.holder_address

    @property
    def uid(self) -> str:
        """Uid of the Lease, as it was last read or written; empty before that."""
        return self._election.uid

    @property
    def is_standby(self) -> bool:
        """Return whether another operator holds the Lease and is known to be alive, so that this one can take over."""
        return not self.is_held and self._election.answers

    @property
    def is_held(self) -> bool:
        """Return whether this process certainly holds the Lease now; no other process can take it yet."""
        return self.covers(0.0)

    def covers(self, seconds: float) -> bool:
        """Return whether this process certainly holds the Lease for this many more seconds."""
        until = self._election.held_until
        return until is not None and self._clock() + seconds < until

    def check(self, seconds: float = 0.0) -> None:
        """Check before a write that may take this many seconds to arrive.

        Raises:
            Unavailable: this process does not hold the Lease for that long.
        """
        if not self.covers(seconds):
            raise Unavailable("Nothing is written: this operator does not hold the Lease of its release now")

    def attempt(self) -> bool:
        """Take the Lease, or see that it is still held; False: another process holds it, and is challenged.

        Raises:
            LeaseLost: this process held it, and now another one does.
            Unavailable, NotYet, Refused: the request to the API server failed.
        """
        asked = self._clock()
        lease = self._kube.get(LEASE, self._namespace, self._name)
        move = self._election.look(lease, now=self._clock())
        written = None
        try:
            if move.manifest is not None:
                write = self._kube.create if lease is None else self._kube.replace
                written = write(move.manifest)
        except Conflict:
            pass  # another process was faster; the next attempt sees which
        return self._election.wrote(move, written, asked=asked, now=self._clock())

    def release(self) -> None:
        """Give the Lease back, so that the next operator need not wait.

        A challenge that arrives between the reading and the write causes a conflict: the Lease is read again.
        """
        if not self.is_held:
            return
        for _ in range(_RELEASE_ATTEMPTS):
            manifest = self._election.give_back(self._kube.get(LEASE, self._namespace, self._name))
            if manifest is None:
                return
            with suppress(Conflict):
                self._kube.replace(manifest)
                return
