"""Number of tasks that autoscaling has chosen (`spec.autoscaling`), kept in the status. Frozen, and pure."""

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
        tasks: the number, which is requested instead of `spec.tasksMax`.
        last_scale_time: when it last changed; None: it never has.
        message: why it last changed.
        tasks_max: the `spec.tasksMax` with which it began.
        high_since: since when the lag of a task is too high; None: none is.
        high_lag: the lag of all tasks then, in records.
        low_since: since when one task less would be enough; None: it would not.
        lowered: the last change was to fewer tasks.
        undone: number of changes to fewer tasks, in a row, that had to be undone soon.
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
        """Return the same number, for which nothing is waited for."""
        return replace(self, high_since=None, high_lag=0, low_since=None)


@dataclass(frozen=True, slots=True)
class AutoscalingCondition:
    """Contents of `Autoscaling`; `works`: the number follows the lag."""

    works: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class AutoscalingDecision:
    """Decision about the number of tasks.

    Attributes:
        persisted: for the status; None: there is no autoscaling.
        condition: for the conditions; None: there is none.
        requeue_after: decide again after this many seconds; None: when something happens.
    """

    persisted: AutoscaledTasks | None = None
    condition: AutoscalingCondition | None = None
    requeue_after: float | None = None


def begun(autoscaling: Autoscaling, tasks_max: int, before: AutoscaledTasks | None) -> AutoscaledTasks:
    """Return the number of tasks within the present limits. It begins again with `spec.tasksMax` if that was changed.

    Args:
        autoscaling: `spec.autoscaling`.
        tasks_max: `spec.tasksMax`.
        before: as the status has it.
    """
    if before is None or before.tasks_max != tasks_max:
        before = AutoscaledTasks(tasks_max, tasks_max=tasks_max)
    if autoscaling.min > autoscaling.max:  # refused, so nothing may change
        return before
    return replace(before, tasks=min(max(before.tasks, autoscaling.min), autoscaling.max))
