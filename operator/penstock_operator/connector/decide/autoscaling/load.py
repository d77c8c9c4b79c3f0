"""Load of a sink's tasks, from their reports. Pure."""

from dataclasses import dataclass
from typing import Final

from penstock_model.contracts.task_reports import Report

__all__ = ["TaskLoad", "load_of"]

_STALE: Final = 300.0
"""Seconds after which the figures of a task are outdated, unless it is idle: a task reports them only while they change."""
_LEAST: Final = 0.005
"""Share of work of a task whose percentage is rounded to zero."""


@dataclass(frozen=True, slots=True)
class TaskLoad:
    """Load of one task.

    Attributes:
        task: its number.
        lag: records that it has not written yet.
        rate: records that it has read per second.
        busy: share of the time in which it did not wait for records.
        partitions: number of partitions that it reads.
    """

    task: int
    lag: int
    rate: float
    busy: float
    partitions: int

    @property
    def seconds(self) -> float:
        """Seconds that it needs for its lag, if no more records come."""
        return 0.0 if not self.lag else self.lag * max(self.busy, _LEAST) / self.rate


def load_of(report: Report | None, pod_uid: str, now: float) -> TaskLoad | str:
    """Return the load of a task, or why it is not known.

    Args:
        report: the last one of the task.
        pod_uid: uid of its pod.
        now: seconds since 1970.
    """
    if report is None or report.pod_uid != pod_uid or report.figures_at is None:
        return "has not reported figures yet"
    if report.read_rate is None or report.busy is None:
        return "has not run for long enough"
    if report.lag is None or report.partitions is None:
        return "does not know its lag"
    is_idle = report.lag == 0 and report.read_rate == 0
    if not is_idle and now - report.figures_at / 1000 > _STALE:
        return "has not reported its figures for five minutes"
    if report.lag and not report.read_rate:
        return "has a lag, and has read nothing"
    return TaskLoad(report.task, report.lag, report.read_rate, report.busy / 100, report.partitions)
