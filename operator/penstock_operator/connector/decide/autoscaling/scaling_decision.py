"""Choose the number of a sink's tasks from their load. Pure.

The number grows in proportion to the lag, at most by a factor of two in one step; each change restarts all tasks. It
decreases by one after the tasks have been underused for long enough. Each decrease that had to be undone doubles the wait
for the next one, so that the number does not oscillate.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from penstock_model.resources.autoscaling import Autoscaling
from penstock_operator.connector.decide.autoscaling.load import TaskLoad
from penstock_operator.connector.model.autoscaling import AutoscaledTasks, AutoscalingCondition, AutoscalingDecision
from penstock_operator.reasons import Reason

__all__ = ["choose_number"]

_BUSY: Final = 0.5
"""Share of work from which a task whose lag is too high counts as slow. A less busy task is held up by something else."""
_ROOM: Final = 0.7
"""Maximum share of work of each remaining task after one is removed."""
_AT_ONCE: Final = 2
"""Maximum factor of one step."""
_SOON: Final = 6
"""A decrease was wrong if the lag becomes too high within this multiple of the wait that preceded it."""
_RESTART: Final = 300.0
"""Maximum seconds until restarted tasks have reported a load."""
_MOST_UNDONE: Final = 5


def choose_number(
    loads: Sequence[TaskLoad], terms: Autoscaling, before: AutoscaledTasks, now: float
) -> AutoscalingDecision:
    """Return the number of tasks, which may be unchanged, and when to decide again.

    Args:
        loads: loads of all tasks.
        terms: `spec.autoscaling`.
        before: the current number, and since when it has been too small or too large.
        now: seconds since 1970.
    """
    target = terms.target_lag_seconds
    behind = [load for load in loads if load.seconds > target]
    slow = [load for load in behind if load.busy >= _BUSY]
    if slow:
        return _with_more(loads, slow, terms, before, now)
    if behind:
        text = f"{_tasks(behind)} more than {target} s behind and not busy, so more tasks would not help"
        return _waiting(before.at_rest(), Reason.MORE_TASKS_DO_NOT_HELP, text)
    return _with_fewer(loads, terms, before, now)


def _with_more(
    loads: Sequence[TaskLoad], slow: Sequence[TaskLoad], terms: Autoscaling, before: AutoscaledTasks, now: float
) -> AutoscalingDecision:
    count, target = len(loads), terms.target_lag_seconds
    lag = sum(load.lag for load in loads)
    if before.high_since is None:
        before = replace(before.at_rest(), high_since=now, high_lag=lag)
    since = before.high_since or now
    text = f"the lag is more than the target of {target} s"
    if (useless := _why_useless(loads, slow, before)) is not None:
        return _waiting(before, Reason.MORE_TASKS_DO_NOT_HELP, f"{text}, and {useless}")
    if count >= terms.max:
        return _waiting(before, Reason.AT_MAXIMUM, f"{text}, and {count} tasks are the maximum")
    if (left := since + terms.scale_up_after_seconds - now) > 0:
        return _waiting(before, Reason.LAG_ABOVE_TARGET, f"{text}; tasks are added if that lasts", left)
    allowed = sum(load.rate / load.busy for load in slow) * target
    drained, passed = before.high_lag - lag, now - since
    if drained > 0 and (lag - allowed) * passed <= drained * 2 * terms.scale_up_after_seconds:
        return _waiting(before, Reason.LAG_ABOVE_TARGET, f"{text}, but is decreasing")
    worst = max(slow, key=lambda load: load.seconds)
    wanted = math.ceil(count * min(worst.seconds / target, _AT_ONCE))
    number = min(max(wanted, count + 1), terms.max, _partitions(loads))
    cause = f"task {worst.task} is about {_duration(worst.seconds)} behind, and the target is {target} s"
    undone = min(before.undone + 1, _MOST_UNDONE) if _is_undone(terms, before, now) else 0
    return _changed(before, count, number, cause, now, undone)


def _is_undone(terms: Autoscaling, before: AutoscaledTasks, now: float) -> bool:
    """Return whether an increase undoes a recent decrease."""
    soon = _SOON * terms.scale_down_after_seconds + terms.scale_up_after_seconds + _RESTART
    return before.lowered and now - (before.last_scale_time or 0.0) <= soon


def _why_useless(loads: Sequence[TaskLoad], slow: Sequence[TaskLoad], before: AutoscaledTasks) -> str | None:
    count = len(loads)
    if count < before.tasks:
        return f"the plugin creates only {count} of {before.tasks} tasks"
    if count >= (partitions := _partitions(loads)):
        return f"{count} tasks are enough for the {partitions} partitions"
    if all(load.partitions <= 1 for load in slow):
        return f"{_tasks(slow)} behind with a single partition each"
    return None


def _with_fewer(
    loads: Sequence[TaskLoad], terms: Autoscaling, before: AutoscaledTasks, now: float
) -> AutoscalingDecision:
    count, target = len(loads), terms.target_lag_seconds
    text = f"the lag is within the target of {target} s"
    partitions = max(1, _partitions(loads))
    has_room = (
        sum(load.busy for load in loads) <= _ROOM * (count - 1)
        and max(load.busy for load in loads) <= _ROOM
        and all(load.seconds <= target / 2 for load in loads)
    )
    if count <= terms.min or not (has_room or count > partitions):
        return _waiting(before.at_rest(), Reason.ON_TARGET, text)
    before = before if before.low_since is not None else replace(before.at_rest(), low_since=now)
    wait = terms.scale_down_after_seconds * 2**before.undone
    if (left := (before.low_since or now) + wait - now) > 0:
        return _waiting(before, Reason.ON_TARGET, text, left)
    number = max(terms.min, partitions) if count > partitions else count - 1
    cause = (
        f"there are {partitions} partitions" if count > partitions else f"{number} can keep the lag within {target} s"
    )
    return _changed(before, count, number, cause, now, before.undone, lowered=True)


def _partitions(loads: Sequence[TaskLoad]) -> int:
    return sum(load.partitions for load in loads)


def _waiting(persisted: AutoscaledTasks, reason: Reason, text: str, left: float | None = None) -> AutoscalingDecision:
    return AutoscalingDecision(persisted, AutoscalingCondition(True, reason, text), left)


def _changed(
    before: AutoscaledTasks,
    count: int,
    number: int,
    cause: str,
    now: float,
    undone: int,
    *,
    lowered: bool = False,
) -> AutoscalingDecision:
    text = f"{count} -> {number} tasks: {cause}"
    chosen = AutoscaledTasks(number, float(int(now)), text, tasks_max=before.tasks_max, lowered=lowered, undone=undone)
    return AutoscalingDecision(chosen, AutoscalingCondition(True, Reason.AUTOSCALED, text), 0.0)


def _tasks(loads: Sequence[TaskLoad]) -> str:
    numbers = ", ".join(str(load.task) for load in loads)
    return f"task {numbers} is" if len(loads) == 1 else f"tasks {numbers} are"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
