"""Gauges of a source task's backlog, as its plugin reports it; absent when the report is too old."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock.source import Backlog

__all__ = ["BacklogGauges"]

log = logging.getLogger(__name__)
_STALE: Final = 60.0
"""Seconds after which a backlog is outdated, and not exported."""
_DOCS: Final = {
    "records": "Records that the source has not read yet.",
    "bytes": "Bytes that the source has not read yet.",
    "seconds": "Age of the oldest record that the source has not read yet.",
}


class BacklogGauges(Collector):
    """Last backlog of one task, in the units that its plugin reports.

    Args:
        labels: labels of its metrics: `connector` and `task`.
        clock: seconds, monotonic.
    """

    def __init__(self, labels: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._labels = dict(labels)
        self._clock = clock
        self._last: tuple[Backlog, float] | None = None

    def report(self, backlog: Backlog) -> None:
        """Store the plugin's answer, unless a value is not a number, which could not be exported."""
        for unit in _DOCS:
            value = getattr(backlog, unit)
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
                log.debug("Cannot export the backlog: its %s are of type %s", unit, type(value).__name__)
                return
        self._last = backlog, self._clock()

    def collect(self) -> Iterable[Metric]:
        """Return the backlog and its age; only the age if the backlog is too old."""
        if self._last is None:
            return
        (backlog, at), names, values = self._last, list(self._labels), list(self._labels.values())
        age = self._clock() - at
        aged = GaugeMetricFamily(
            "penstock_source_task_backlog_age_seconds", "Seconds since the backlog was known.", labels=names
        )
        aged.add_metric(values, age)
        yield aged
        for unit, doc in _DOCS.items() if age < _STALE else ():
            if (value := getattr(backlog, unit)) is not None:
                found = GaugeMetricFamily(f"penstock_source_task_backlog_{unit}", doc, labels=names)
                found.add_metric(values, value)
                yield found
