"""The plans that were read, of all Connectors together: no more than so many bytes, whoever keeps how many."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock_operator.connector.plans import Plan
from penstock_operator.queue.key import Key

__all__ = ["CachedPlan", "PlanCache"]

_MOST: Final = 48 << 20


@dataclass(frozen=True, slots=True)
class CachedPlan:
    """A ConfigMap as it was read, which is immutable.

    Attributes:
        plan: None: it holds none that can be read.
        size: bytes of its texts.
    """

    plan: Plan | None
    size: int


@dataclass
class _OfNamespace:
    plans: OrderedDict[Key, Mapping[str, CachedPlan]] = field(default_factory=OrderedDict)
    size: int = 0


class PlanCache:
    """Plans by Connector and the uid of their ConfigMap. What is dropped here is read again when it is looked at.

    Where there are too many, the namespace that holds most of them gives up those of its Connector that was looked at
    longest ago: huge plans of one tenant cost no other one requests.

    Args:
        most: bytes of their texts; as objects they take some three times as much.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._size = 0
        self._of: dict[str, _OfNamespace] = {}

    def of(self, key: Key) -> Mapping[str, CachedPlan]:
        """What is kept of a Connector, by uid."""
        return self._of.get(key.namespace, _OfNamespace()).plans.get(key, {})

    def keep(self, key: Key, plans: Mapping[str, CachedPlan]) -> None:
        """Keep these of a Connector and no others."""
        self.drop(key)
        if not plans:
            return
        of, size = self._of.setdefault(key.namespace, _OfNamespace()), _size(plans)
        of.plans[key] = plans
        of.size += size
        self._size += size
        while self._size > self._most:
            largest = max(self._of.values(), key=lambda one: one.size)
            self.drop(next(iter(largest.plans)))

    def drop(self, key: Key) -> None:
        """Keep none of a Connector."""
        of = self._of.get(key.namespace)
        plans = None if of is None else of.plans.pop(key, None)
        if of is None or plans is None:
            return
        of.size -= _size(plans)
        self._size -= _size(plans)
        if not of.plans:
            del self._of[key.namespace]


def _size(plans: Mapping[str, CachedPlan]) -> int:
    return sum(p.size for p in plans.values())
