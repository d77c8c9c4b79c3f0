"""What a reconciliation is given: made once, by the composition root."""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ParamSpec, Protocol, TypeVar

from penstock_operator.kafka import StatusTopic
from penstock_operator.key import Key
from penstock_operator.kube import Kube
from penstock_operator.metrics import Metrics
from penstock_operator.settings import Settings

__all__ = ["Context", "JobSlots", "Key", "Reconcile", "Run"]

P = ParamSpec("P")
T = TypeVar("T")


class Run(Protocol):
    """Runs what blocks in a thread of the operator's own pool."""

    async def __call__(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The call's result.

        Raises:
            Unavailable: it took longer than the time limit; the thread is left to its own time-outs.
        """
        ...


class JobSlots:
    """How many short pods may live at once: those that are known to live, and those that are about to be made.

    Used in the event loop's thread only. A slot is taken by name and given back by it; taking twice is once.

    Args:
        most: slots.
        wake: told of a connector that waited for a slot, when one is free.
    """

    def __init__(self, most: int, wake: Callable[[Key], None] = lambda key: None) -> None:
        self._most = most
        self._wake = wake
        self._taken: dict[str, Key] = {}
        self._waiting: dict[Key, None] = {}

    def take(self, pod: str, key: Key) -> bool:
        """Take a slot for a pod, `<namespace>/<name>`; False: there is none, try again later."""
        if pod not in self._taken and len(self._taken) >= self._most:
            return False
        self._taken[pod] = key
        return True

    def give_back(self, pod: str) -> None:
        """The pod has ended, or was never made."""
        if self._taken.pop(pod, None) is not None:
            self._call()

    def wait(self, key: Key) -> None:
        """Be woken when a slot is free, in the order of waiting; once."""
        self._waiting.setdefault(key)
        self._call()

    def _call(self) -> None:
        """Wake as many as there are free slots; who needs none after all leaves it to the next call."""
        for key in list(self._waiting)[: max(0, self._most - len(self._taken))]:
            del self._waiting[key]
            self._wake(key)

    def keep_only(self, key: Key, pods: frozenset[str]) -> None:
        """Give back what this connector has taken but for these."""
        over = [p for p, k in self._taken.items() if k == key and p not in pods]
        for pod in over:
            del self._taken[pod]
        if over:
            self._call()

    def __len__(self) -> int:
        return len(self._taken)

    @contextmanager
    def making(self, pod: str, key: Key) -> Iterator[bool]:
        """Take a slot, and give it back if making the pod fails."""
        taken = self.take(pod, key)
        try:
            yield taken
        except BaseException:
            self.give_back(pod)
            raise


@dataclass(frozen=True)
class Context:
    """What `reconcile` works with.

    Attributes:
        kube: the API server; blocking, so call it through `run`.
        status: the status topic; its reads do not block, `write` and `forget` do.
        settings: of the release.
        hmac_key: of the release, for hashes of secrets.
        run: runs a blocking call in the operator's pool.
        metrics: the connectors' and the operator's.
        job_slots: how many short pods may live at once.
        clock: seconds since 1970.
    """

    kube: Kube
    status: StatusTopic
    settings: Settings
    hmac_key: bytes = field(repr=False)
    run: Run
    metrics: Metrics
    job_slots: JobSlots
    clock: Callable[[], float] = time.time


Reconcile = Callable[[Key, Context], Awaitable[float | None]]
"""Brings a Connector and what belongs to it to what is asked; seconds until it wants to run again, None: no wish."""
