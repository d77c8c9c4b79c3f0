"""Cache of stored plans of all Connectors, with a size limit in bytes."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock_operator.connector.model.plans import Plan
from penstock_operator.key import Key

__all__ = ["CachedPlan", "PlanCache"]

_MOST_BYTES: Final = 48 << 20


@dataclass(frozen=True, slots=True)
class CachedPlan:
    """Plan that was read from a ConfigMap, which is immutable.

    Attributes:
        plan: the plan; None: the ConfigMap has none that this operator can read.
        size: its size in bytes.
    """

    plan: Plan | None
    size: int


@dataclass
class _PlansOfNamespace:
    plans: OrderedDict[Key, Mapping[str, CachedPlan]] = field(default_factory=OrderedDict)
    size: int = 0


class PlanCache:
    """Cache of plans by Connector and uid of the ConfigMap. An evicted plan is read again when it is needed.

    Above the limit, the namespace whose plans are largest in total loses those of its Connector that were cached longest
    ago. So huge plans of one tenant do not cause requests for other tenants.

    Args:
        most: maximum bytes of the stored form; in memory, plans take about three times as much.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._size = 0
        self._namespaces: dict[str, _PlansOfNamespace] = {}

    def of(self, key: Key) -> Mapping[str, CachedPlan]:
        """Return the cached plans of a Connector, by the uid of their ConfigMap."""
        return self._namespaces.get(key.namespace, _PlansOfNamespace()).plans.get(key, {})

    def keep(self, key: Key, plans: Mapping[str, CachedPlan]) -> None:
        """Cache these plans of a Connector, and drop its others."""
        self.drop(key)
        if not plans:
            return
        namespace, size = self._namespaces.setdefault(key.namespace, _PlansOfNamespace()), _size(plans)
        namespace.plans[key] = plans
        namespace.size += size
        self._size += size
        while self._size > self._most:
            largest = max(self._namespaces.values(), key=lambda namespace: namespace.size)
            self.drop(next(iter(largest.plans)))

    def drop(self, key: Key) -> None:
        """Drop all plans of a Connector."""
        namespace = self._namespaces.get(key.namespace)
        plans = None if namespace is None else namespace.plans.pop(key, None)
        if namespace is None or plans is None:
            return
        namespace.size -= _size(plans)
        self._size -= _size(plans)
        if not namespace.plans:
            del self._namespaces[key.namespace]


def _size(plans: Mapping[str, CachedPlan]) -> int:
    return sum(p.size for p in plans.values())
