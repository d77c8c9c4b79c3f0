"""Key of the work queue: the namespace and name of a Connector."""

from typing import NamedTuple

__all__ = ["Key"]


class Key(NamedTuple):
    """Namespace and name of a Connector."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
