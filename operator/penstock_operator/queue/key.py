"""What the work queue holds: the name of a Connector."""

from typing import NamedTuple

__all__ = ["Key"]


class Key(NamedTuple):
    """Of a Connector."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
