"""Who uses which Connect name, among the Connectors that this operator sees. The older one owns it."""

from typing import Any, NamedTuple

from penstock.resources import Connector
from penstock_operator.key import Key

__all__ = ["Names", "older"]

Age = tuple[str, str]
"""`creationTimestamp`, then uid."""


def older(one: Age, other: Age) -> bool:
    """Whether the first has the older right; of two made in the same second the smaller uid."""
    return one < other


class _Known(NamedTuple):
    connect_name: str
    age: Age


class Names:
    """A hint, as complete as the Connectors that were reconciled since the start: each is, at the start."""

    def __init__(self) -> None:
        self._known: dict[Key, _Known] = {}

    def put(self, key: Key, connector: Connector, document: dict[str, Any]) -> None:
        """A Connector is there."""
        age = (document["metadata"].get("creationTimestamp", ""), connector.metadata.uid or "")
        self._known[key] = _Known(connector.connect_name, age)

    def drop(self, key: Key) -> None:
        """It is no more."""
        self._known.pop(key, None)

    def connect_name(self, key: Key) -> str:
        """Its name in Kafka, as far as that is known: `<namespace>.<name>`."""
        known = self._known.get(key)
        return known.connect_name if known is not None else f"{key.namespace}.{key.name}"

    def older(self, key: Key, connect_name: str) -> Key | None:
        """Another Connector with the older right to a name."""
        own = self._known[key].age
        others = [(k.age, n) for n, k in self._known.items() if n != key and k.connect_name == connect_name]
        found = min(others, default=None)
        return found[1] if found is not None and older(found[0], own) else None

    def age(self, key: Key) -> Age:
        """Of a Connector that is there."""
        return self._known[key].age

    def rivals(self, key: Key, connect_name: str) -> list[Key]:
        """Every other Connector with this name: what becomes of it depends on this one."""
        return [n for n, k in self._known.items() if n != key and k.connect_name == connect_name]

    def only(self, key: Key, connect_name: str) -> bool:
        """Whether nobody else uses the name."""
        return not self.rivals(key, connect_name)

    def sees(self, uid: str) -> bool:
        """Whether a Connector of this uid is there."""
        return any(k.age[1] == uid for k in self._known.values())
