"""Number of tasks that autoscaling has chosen (`spec.autoscaling`), stored in the status. Immutable, and pure."""

from dataclasses import dataclass, field, replace
from typing import Final

from penstock_model.resources.autoscaling import Autoscaling
from penstock_operator.status_fields import in_status

__all__ = ["AutoscaledTasks", "AutoscalingCondition", "AutoscalingDecision", "begun"]

_OWN: Final = in_status(is_own=True)


@dataclass(frozen=True, slots=True)
class AutoscaledTasks:
    """Number of tasks that autoscaling has chosen. Times are in seconds since 1970.

    Attributes:
        tasks: the number, which replaces `spec.tasksMax`.
        last_scale_time: when it last changed; None: it never has.
        message: why it last changed.
        tasks_max: value of `spec.tasksMax` from which it started.
        high_since: since when the lag of a task has been too high; None: it is not.
        high_lag: total lag of all tasks at that time, in records.
        low_since: since when one task less would have been sufficient; None: it would not.
        lowered: whether the last change was a decrease.
        undone: number of consecutive decreases that soon had to be undone.
    """

    tasks: int
    last_scale_time: float | None = None
    message: str = ""
    tasks_max: int = field(default=0, metadata=_OWN)
    high_since: float | None = field(default=None, metadata=_OWN)
    high_lag: int = field(default=0, metadata=_OWN)
    low_since: float | None = field(default=None, metadata=_OWN)
    lowered: bool = field(default=False, metadata=_OWN)
    undone: int = field(default=0, metadata=_OWN)

    def at_rest(self) -> "AutoscaledTasks":
        """Return the same number without pending changes."""
        return replace(self, high_since=None, high_lag=0, low_since=None)


@dataclass(frozen=True, slots=True)
class AutoscalingCondition:
    """Status, reason and message of condition `Autoscaling`; `works`: whether the number follows the lag."""

    works: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class AutoscalingDecision:
    """Decision about the number of tasks.

    Attributes:
        persisted: number for the status; None: there is no autoscaling.
        condition: condition for the status; None: there is none.
        requeue_after: decide again after this many seconds; None: when something happens.
    """

    persisted: AutoscaledTasks | None = None
    condition: AutoscalingCondition | None = None
    requeue_after: float | None = None


def begun(autoscaling: Autoscaling, tasks_max: int, before: AutoscaledTasks | None) -> AutoscaledTasks:
    """Return the number of tasks within the current limits. It restarts from `spec.tasksMax` if that was changed.

    Args:
        autoscaling: `spec.autoscaling`.
        tasks_max: `spec.tasksMax`.
        before: the number in the status; None: there is none.
    """
    if before is None or before.tasks_max != tasks_max:
        before = AutoscaledTasks(tasks_max, tasks_max=tasks_max)
    if autoscaling.min > autoscaling.max:  # the spec is refused, so the number does not change
        return before
    return replace(before, tasks=min(max(before.tasks, autoscaling.min), autoscaling.max))
