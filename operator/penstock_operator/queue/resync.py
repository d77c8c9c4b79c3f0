"""Resync: reconcile every connector once per period, and find records of deleted ones, in case events were missed."""

import asyncio
import random
from collections.abc import Callable, Collection, Iterator
from typing import Final

from penstock_operator.kafka import StatusTopic
from penstock_operator.key import Key
from penstock_operator.name_ownership import is_claim_of
from penstock_operator.queue.index import ConnectorIndex
from penstock_operator.settings import Settings

__all__ = ["orphans", "resync", "spread"]

PERIOD: Final = 600.0


def spread(
    keys: Collection[Key], seconds: float, chance: Callable[[], float] = random.random
) -> Iterator[tuple[Key, float]]:
    """Yield each key with a delay within `seconds`, evenly distributed and in random order."""
    part = seconds / max(len(keys), 1)
    order = sorted(keys, key=lambda _: chance())
    for n, key in enumerate(order):
        yield key, (n + chance()) * part


def orphans(status: StatusTopic, index: ConnectorIndex, settings: Settings) -> Iterator[Key]:
    """Yield deleted Connectors with a claim of this release, whose records must be removed.

    A claim of another installation is skipped, since its Connector may exist in another cluster.
    """
    live = frozenset(index.uids())
    for name in status.names():
        claim = status.claim(name)
        if claim is None or not is_claim_of(claim, settings.release) or claim.connector_uid in live:
            continue
        if not settings.watch_namespaces or claim.namespace in settings.watch_namespaces:
            yield Key(claim.namespace, claim.name)


async def resync(
    add: Callable[[Key, float], None],
    index: ConnectorIndex,
    status: StatusTopic,
    settings: Settings,
    *,
    period: float = PERIOD,
) -> None:
    """Add every connector and every orphan once per period, until cancelled."""
    while True:
        keys = {*index.all(), *(orphans(status, index, settings) if status.caught_up else ())}
        for key, delay in spread(keys, period):
            add(key, delay)
        await asyncio.sleep(period)
