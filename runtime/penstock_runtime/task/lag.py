"""Lag of a sink's task: as its loop reports it, measured while the loop is silent, and absent where it is not known."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final, Protocol

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock.sink import TopicPartition
from penstock_runtime.kafka.end_offsets import EndOffsets

__all__ = ["LagWatch"]

_SILENT: Final = 10.0
"""Seconds without a report of the loop after which the lag is measured apart from it; also between two measurements."""
_STALE: Final = 60.0
"""Seconds after which a lag is no longer true, and not exported."""


class Positions(Protocol):
    """What is known of the positions of a task, in any thread."""

    @property
    def partitions(self) -> list[TopicPartition]:
        """Those that the task reads now."""

    def lag_to(self, ends: Mapping[TopicPartition, int]) -> int:
        """Return how many records are not written yet up to these ends. Raises KeyError if one is missing."""


class LagWatch(Collector):
    """Knows the lag of one task. Used by several threads.

    Args:
        labels: of its metrics: `connector` and `task`.
        clock: monotonic.
    """

    def __init__(self, labels: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._labels = dict(labels)
        self._clock = clock
        self._lag: int | None = None
        self._known_at = clock()
        self._is_lost: Callable[[], bool] = lambda: False

    def report(self, records: int) -> None:
        """Take what the loop knows, unless Kafka does not answer: the ends that it knows are those of the last fetch."""
        if not self._is_lost():
            self._lag, self._known_at = records, self._clock()

    def watch(self, task: Positions, ends: EndOffsets, is_lost: Callable[[], bool]) -> None:
        """Measure in a thread whenever the loop is silent.

        Args:
            task: whose lag it is.
            ends: knows end offsets.
            is_lost: whether Kafka does not answer this process.
        """
        self._is_lost = is_lost

        def run() -> None:
            while True:
                time.sleep(_SILENT / 2)
                if self._clock() - self._known_at < _SILENT or not (partitions := task.partitions):
                    continue
                if (found := ends.of(partitions)) is not None:
                    with suppress(KeyError):  # another partition was assigned meanwhile
                        self._lag, self._known_at = task.lag_to(found), self._clock()

        threading.Thread(target=run, name="lag", daemon=True).start()

    def collect(self) -> Iterable[Metric]:
        """Return the lag and its age, and no lag that is too old."""
        age, names, values = self._clock() - self._known_at, list(self._labels), list(self._labels.values())
        if self._lag is None:
            return
        aged = GaugeMetricFamily(
            "kafka_connect_sink_task_lag_age_seconds", "Seconds since the lag was known.", labels=names
        )
        aged.add_metric(values, age)
        yield aged
        if age < _STALE:
            found = GaugeMetricFamily(
                "kafka_connect_sink_task_lag", "Records in Kafka that are not written yet.", labels=names
            )
            found.add_metric(values, self._lag)
            yield found
