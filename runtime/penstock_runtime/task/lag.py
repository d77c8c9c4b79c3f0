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
from penstock_runtime.task.lag_growth import LagGrowth

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
        self._lock = threading.Lock()
        self._growth = LagGrowth()
        self.on_growth: Callable[[str | None], None] = lambda text: None
        """Called with each lag, from several threads: how the lag grows; None: it does not."""
        self._lag: int | None = None
        self._known_at = clock()
        self._is_lost: Callable[[], bool] = lambda: False

    def report(self, records: int) -> None:
        """Take what the loop knows, unless Kafka does not answer: the ends that it knows are those of the last fetch."""
        if not self._is_lost():
            self._take(records)

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
                        self._take(task.lag_to(found))

        threading.Thread(target=run, name="lag", daemon=True).start()

    def _take(self, lag: int) -> None:
        with self._lock:
            self._lag, self._known_at = lag, self._clock()
            self._growth.add(lag, self._known_at)
            text = self._growth.text
        self.on_growth(text)

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
