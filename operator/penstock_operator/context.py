"""The context of a reconciliation: created once, by `operator.py`."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import ParamSpec, Protocol, TypeVar

from penstock_operator.job_slots import JobSlots
from penstock_operator.kafka import StatusTopic
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.metrics import Metrics
from penstock_operator.queue.index import ConnectorIndex
from penstock_operator.queue.plugin_offers import PluginOffers
from penstock_operator.rollout import RolloutLimiter
from penstock_operator.settings import Settings

__all__ = ["Context", "Key", "Reconcile", "Run"]

P = ParamSpec("P")
T = TypeVar("T")


class Run(Protocol):
    """Runs a blocking call in a thread of the operator's pool."""

    async def __call__(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The call's result.

        Raises:
            Unavailable: it took longer than the time limit; the thread is left to its own time-outs.
        """
        ...


@dataclass(frozen=True)
class Context:
    """What `reconcile` works with.

    Attributes:
        kube: the API server; blocking, so call it through `run`.
        status: the status topic; its reads do not block, `write` and `forget` do.
        connectors: all Connectors, as the watch saw them last.
        plugins: what the PluginVersions offer, likewise.
        settings: of the release.
        hmac_key: of the release, for hashes of secrets.
        run: runs a blocking call in the operator's pool.
        metrics: the connectors' and the operator's.
        job_slots: limits how many job pods exist at once.
        rollout: limits how many Connectors restart at once for a change of the release.
        release: the hash of what the release gives to every plan.
        wake: lets a Connector be reconciled soon.
        clock: seconds since 1970.
    """

    kube: Kube
    status: StatusTopic
    connectors: ConnectorIndex
    plugins: PluginOffers
    settings: Settings
    hmac_key: bytes = field(repr=False)
    run: Run
    metrics: Metrics
    job_slots: JobSlots
    rollout: RolloutLimiter
    release: str
    wake: Callable[[Key], None] = lambda key: None
    clock: Callable[[], float] = time.time


Reconcile = Callable[[Key, Context], Awaitable[float | None]]
"""Reconciles a Connector; returns the seconds after which to do so again, None: only at an event."""
