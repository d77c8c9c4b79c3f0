"""What the conditions of a Connector say. Pure.

They follow kstatus: `Reconciling=True` is under way, `Stalled=True` needs a person; otherwise `Ready` counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

__all__ = ["Config", "Kind", "Pending", "Verdict"]


class Kind(Enum):
    """How far a connector is from what `spec` asks."""

    READY = "ready"
    UNDER_WAY = "under way"
    STALLED = "stalled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `Ready` says, with `Reconciling` and `Stalled`.

    Attributes:
        kind: how far the connector is from what `spec` asks.
        reason: a `Reason`, or a word of Kubernetes.
        message: a sentence with the cause and, where there is one, the remedy.
    """

    kind: Kind
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Config:
    """What `ConfigValid` says; `valid` is None while the configuration has not been checked."""

    valid: bool | None
    reason: str
    messages: Sequence[str]


@dataclass(frozen=True, slots=True)
class Pending:
    """What `UpdatePending` says: why a change has not reached all tasks of this Connector.

    Attributes:
        reason: a `Reason`, or a word of Kubernetes.
        message: a sentence.
        planning: the new plan is still being made.
        canary: some tasks have it, and the others wait for them; otherwise it is a change of the release.
    """

    reason: str
    message: str
    planning: bool = False
    canary: bool = False
