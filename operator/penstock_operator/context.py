"""Context of a reconciliation: created once, by `operator.py`."""

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
from penstock_operator.queue.plugin_offer_index import PluginOfferIndex
from penstock_operator.rollout import RolloutLimiter
from penstock_operator.settings import Settings

__all__ = ["Context", "Key", "Reconcile", "Run"]

P = ParamSpec("P")
T = TypeVar("T")


class Run(Protocol):
    """Callable that runs a blocking call in a thread of the operator's pool."""

    async def __call__(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the call's result.

        Raises:
            Unavailable: the call exceeded the time limit; it continues in its thread until one of its timeouts.
        """
        ...


@dataclass(frozen=True)
class Context:
    """Dependencies of `reconcile`.

    Attributes:
        kube: the API server; blocking, so call it through `run`.
        status: the status topic; its reads do not block, `write` and `forget` do.
        connectors: all Connectors, as the watch saw them last.
        plugins: the offers of all PluginVersions, as the watch saw them last.
        settings: settings of the release.
        hmac_key: HMAC key of the release, for hashes of secrets.
        run: runs a blocking call in the operator's pool.
        metrics: metrics of the operator and of its connectors.
        job_slots: limits how many job pods exist in parallel.
        rollout: limits how many Connectors restart in parallel for a change of the release.
        release: the hash of everything that the release contributes to every plan.
        wake: schedules a reconciliation of a Connector before others that wait.
        clock: seconds since 1970.
    """

    kube: Kube
    status: StatusTopic
    connectors: ConnectorIndex
    plugins: PluginOfferIndex
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
"""Callable that reconciles a Connector and returns the seconds until the next time; None: only at an event."""
