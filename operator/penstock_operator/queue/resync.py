"""What no event tells: every connector is looked at again now and then, and records of those that are gone are found."""

import asyncio
import random
from collections.abc import Callable, Collection, Iterator
from typing import Final

from penstock_operator.connector.observe.connect_names import is_claim_of
from penstock_operator.kafka import StatusTopic
from penstock_operator.queue.index import ConnectorIndex
from penstock_operator.queue.key import Key
from penstock_operator.settings import Settings

__all__ = ["orphans", "resync", "spread"]

PERIOD: Final = 600.0


def spread(
    keys: Collection[Key], seconds: float, chance: Callable[[], float] = random.random
) -> Iterator[tuple[Key, float]]:
    """Each key with its own part of the time, in no order, so that they do not all come at once."""
    part = seconds / max(len(keys), 1)
    order = sorted(keys, key=lambda _: chance())
    for n, key in enumerate(order):
        yield key, (n + chance()) * part


def orphans(status: StatusTopic, index: ConnectorIndex, settings: Settings) -> Iterator[Key]:
    """Connectors that are gone and whose claim this release wrote: their records are to be forgotten.

    A claim that names no cluster may be that of a Connector which lives in another one.
    """
    live = frozenset(index.uids())
    for name in status.names():
        claim = status.claim(name)
        if claim is None or not is_claim_of(claim, settings.release) or claim.connector_uid in live:
            continue
        if not settings.watch_namespaces or claim.namespace in settings.watch_namespaces:
            yield Key(claim.namespace, claim.name)


async def resync(
    add: Callable[[Key, float], None], index: ConnectorIndex, status: StatusTopic, settings: Settings, *,
    period: float = PERIOD,
) -> None:  # fmt: skip
    """Add every key once in a period, for ever; orphans with each."""
    while True:
        keys = {*index.all(), *(orphans(status, index, settings) if status.caught_up else ())}
        for key, delay in spread(keys, period):
            add(key, delay)
        await asyncio.sleep(period)
