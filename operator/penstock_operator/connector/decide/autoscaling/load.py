"""Load of a sink's tasks, from their reports. Pure."""

from dataclasses import dataclass
from typing import Final

from penstock_model.contracts.task_reports import Report

__all__ = ["TaskLoad", "load_of"]

_STALE: Final = 300.0
"""Seconds after which the figures of a task are outdated, unless it is idle: a task reports them only while they change."""
_LEAST: Final = 0.005
"""Share of work assumed for a task whose percentage is rounded to zero."""


@dataclass(frozen=True, slots=True)
class TaskLoad:
    """Load of one task.

    Attributes:
        task: number of the task.
        lag: number of records that it has not written yet.
        rate: records that it reads per second.
        busy: share of time in which it does not wait for records, from 0 to 1.
        partitions: number of partitions that it reads.
    """

    task: int
    lag: int
    rate: float
    busy: float
    partitions: int

    @property
    def seconds(self) -> float:
        """Return the seconds that it needs to process its lag, if no more records are added."""
        return 0.0 if not self.lag else self.lag * max(self.busy, _LEAST) / self.rate


def load_of(report: Report | None, pod_uid: str, now: float) -> TaskLoad | str:
    """Return the load of a task, or the reason why it is unknown.

    Args:
        report: last report of the task; None: there is none.
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
        return "has a lag, but has read no records"
    return TaskLoad(report.task, report.lag, report.read_rate, report.busy / 100, report.partitions)
