"""Contents of the conditions of a Connector. Pure.

`decide/tasks_verdict.py` determines the verdict of running tasks. If a connector waits or fails before its tasks run, the
steps of `decide.py` determine its verdict.

The conditions follow kstatus: `Reconciling=True` means in progress, `Stalled=True` that a user must act; otherwise `Ready`
applies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

__all__ = ["Config", "Kind", "Pending", "Verdict"]


class Kind(Enum):
    """Progress of a connector towards its `spec`."""

    READY = "ready"
    IN_PROGRESS = "in progress"
    STALLED = "stalled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Contents of `Ready`, with `Reconciling` and `Stalled`.

    Attributes:
        kind: progress of the connector towards its `spec`.
        reason: a `Reason`, or a reason of Kubernetes.
        message: the cause and, if there is one, the remedy.
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
        reason: a `Reason`, or a reason of Kubernetes.
        message: the cause.
        planning: whether planning for the change is in progress.
        canary: whether the first tasks have the change, and the others wait for them. If not, it is a change of the release.
    """

    reason: str
    message: str
    planning: bool = False
    canary: bool = False
