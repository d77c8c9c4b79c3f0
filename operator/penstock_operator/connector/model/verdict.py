"""Contents of the conditions of a Connector. Pure.

They follow kstatus: `Reconciling=True` is in progress, `Stalled=True` needs a user; otherwise `Ready` counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

__all__ = ["Config", "Kind", "Pending", "Verdict"]


class Kind(Enum):
    """Progress of a connector towards its `spec`."""

    READY = "ready"
    UNDER_WAY = "under way"
    STALLED = "stalled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Contents of `Ready`, with `Reconciling` and `Stalled`.

    Attributes:
        kind: progress of the connector towards its `spec`.
        reason: a `Reason`, or a word of Kubernetes.
        message: a sentence with the cause and, if there is one, the remedy.
    """

    kind: Kind
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Config:
    """Contents of `ConfigValid`; `valid` is None while the configuration has not been checked."""

    valid: bool | None
    reason: str
    messages: Sequence[str]


@dataclass(frozen=True, slots=True)
class Pending:
    """Contents of `UpdatePending`: why a change has not reached all tasks of this Connector.

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
