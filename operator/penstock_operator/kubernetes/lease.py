"""Lease of a release, so that only one operator acts for it at a time (`election` describes the protocol)."""

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
"""Maximum number of attempts to release the Lease. Besides the holder, only candidates write, one challenge at a time, so
more than two conflicts are not expected.
"""


class Lease:
    """Leader-election lease of a release. `attempt` and `release` are for one thread; the rest is thread-safe.

    Args:
        kube: the API server.
        namespace: namespace of the release.
        name: name of the Lease.
        identity: identity of this process, which a restarted container of the pod keeps.
        seconds: seconds for which the Lease is valid after it was last read.
        clock: monotonic clock.
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
        """Return the holder at the last read."""
        return self._election.holder

    @property
    def holder_address(self) -> str | None:
        """Return the address of the console of another process that held the Lease at the last read; None: there is none."""
        return None if self.is_held else self._election.holder_address

    @property
    def uid(self) -> str:
        """Return the uid of the Lease when it was last read or written; empty before that."""
        return self._election.uid

    @property
    def is_standby(self) -> bool:
        """Return whether another operator holds the Lease and has answered, so that this one is ready to take over."""
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
        """Check that the Lease is held for a write that may take this many seconds to arrive.

        Raises:
            Unavailable: this process does not hold the Lease for that long.
        """
        if not self.covers(seconds):
            raise Unavailable("cannot write: this operator does not hold the Lease of its release now")

    def attempt(self) -> bool:
        """Take the Lease, or check that it is still held; False: another process holds it, and is challenged.

        Raises:
            LeaseLost: this process held it, but no longer does.
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
            pass  # another process was faster; the next attempt shows which
        return self._election.wrote(move, written, asked=asked, now=self._clock())

    def release(self) -> None:
        """Release the Lease, so that the next operator need not wait.

        A challenge between the read and the write causes a conflict, and the Lease is read again.
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
