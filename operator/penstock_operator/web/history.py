"""Measurements of tasks in the last hour, from their reports in the status topic. Thread-safe.

Kafka keeps earlier reports of a task until it compacts the topic, so an operator that starts gets most of the last hour.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock_model.contracts.task_reports import Report
from penstock_web.source import Measurement

__all__ = ["History"]

_SECONDS: Final = 3_600.0
_POINTS: Final = 60
"""Maximum number of measurements of a task, which measures once a minute."""
_MOST_TASKS: Final = 5_000
"""Maximum number of tasks with measurements, about 40 MB. More tasks get none until others have been silent for an hour."""
_TIMES: Final = re.compile(rb'"(?:figuresAt|since)":([0-9]{1,15})')
_AHEAD: Final = 300.0
"""Maximum seconds that a task's clock may be ahead of this one; reports with a later time are ignored."""


@dataclass(slots=True)
class _Task:
    """Measurements of one task.

    Attributes:
        at: time of the last report, in seconds since 1970.
        incarnation: uid of its pod, and its incarnation.
        delivered: number of records that this incarnation had delivered by then; None: unknown.
        points: measurements, the oldest first.
    """

    at: float
    incarnation: tuple[str, int]
    delivered: int | None
    points: deque[Measurement] = field(default_factory=lambda: deque(maxlen=_POINTS))


class History:
    """Measurements of all tasks of a release, by the uid of the Connector.

    Args:
        on_change: called after each new measurement.
        clock: seconds since 1970.
    """

    def __init__(self, on_change: Callable[[], None], clock: Callable[[], float] = time.time) -> None:
        self._on_change = on_change
        self._clock = clock
        self._lock = threading.Lock()
        self._tasks: dict[str, dict[int, _Task]] = {}
        self._count = 0
        self._sorted: dict[str, tuple[Measurement, ...]] = {}

    def put_record(self, value: bytes) -> None:
        """Process the value of a report record. Records that are more than an hour old are not parsed."""
        now = self._clock()
        times = [int(found) / 1000 for found in _TIMES.findall(value)]
        if not times or max(times) < now - _SECONDS:
            return
        if (report := Report.of(value)) is not None:
            self.put(report)

    def put(self, report: Report) -> None:
        """Process a report.

        Rates are computed between two reports of the same incarnation of a task. When an incarnation starts to run, it has
        delivered no records.
        """
        if report.figures_at is None or report.delivered is None:
            if report.state != "RUNNING" or report.progress != "none":
                return
            at, delivered = report.since / 1000, 0
        else:
            at, delivered = report.figures_at / 1000, report.delivered
        now = self._clock()
        if not now - _SECONDS <= at <= now + _AHEAD:
            return
        with self._lock:
            is_new = self._add(report, at, delivered, now)
        if is_new:
            self._on_change()

    def _add(self, report: Report, at: float, delivered: int, now: float) -> bool:
        incarnation = (report.pod_uid, report.incarnation)
        tasks = self._tasks.get(report.connector_uid, {})
        task = tasks.get(report.task)
        if task is None:
            if self._count >= _MOST_TASKS:
                self._expire(now)
            if self._count >= _MOST_TASKS:
                return False
            self._tasks.setdefault(report.connector_uid, {})[report.task] = _Task(at, incarnation, delivered)
            self._count += 1
            return False
        if at <= task.at:
            return False
        before, since = task.delivered, task.at
        is_same = task.incarnation == incarnation and before is not None and delivered >= before
        task.at, task.incarnation, task.delivered = at, incarnation, delivered
        if not is_same or before is None or report.figures_at is None:
            return False
        task.points.append(Measurement(at, report.task, (delivered - before) / (at - since), report.lag))
        self._sorted.pop(report.connector_uid, None)
        return True

    def of(self, uid: str) -> Sequence[Measurement]:
        """Return the measurements of a Connector's tasks in the last hour, the oldest first.

        The same object is returned as long as nothing has changed.
        """
        begin = self._clock() - _SECONDS
        with self._lock:
            found = self._sorted.get(uid)
            if found is None or (found and found[0].at < begin):
                points = (p for t in self._tasks.get(uid, {}).values() for p in t.points if p.at >= begin)
                found = tuple(sorted(points, key=lambda p: (p.at, p.task)))
                if uid in self._tasks:
                    self._sorted[uid] = found
            return found

    def forget(self, uid: str) -> None:
        """Remove the measurements of a Connector that no longer exists."""
        with self._lock:
            self._count -= len(self._tasks.pop(uid, ()))
            self._sorted.pop(uid, None)

    def _expire(self, now: float) -> None:
        """Remove tasks that have not reported for an hour."""
        for uid, tasks in [*self._tasks.items()]:
            for number in [n for n, task in tasks.items() if task.at < now - _SECONDS]:
                del tasks[number]
                self._count -= 1
                self._sorted.pop(uid, None)
            if not tasks:
                del self._tasks[uid]
