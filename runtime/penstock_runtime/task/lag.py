"""Lag of a sink task: reported by its loop, measured while the loop is silent, and absent if it is unknown."""

import heapq
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
"""Seconds without a report of the loop after which a thread measures the lag; also the time between measurements."""
_STALE: Final = 60.0
"""Seconds after which a lag is outdated, and not exported."""
_MOST_PARTITIONS: Final = 100
"""Number of partitions whose lag is exported, largest first: a task may read thousands, and each is a time series."""


class Positions(Protocol):
    """Positions of a task. They may be read from any thread."""

    @property
    def partitions(self) -> list[TopicPartition]:
        """Partitions that the task reads now."""

    def lag_to(self, ends: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return how many records of each partition up to these ends are not written yet. Raises KeyError without an end."""


class LagWatch(Collector):
    """Lag of one task. Used by several threads.

    Args:
        labels: labels of its metrics: `connector` and `task`.
        clock: seconds, monotonic.
    """

    def __init__(self, labels: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._labels = dict(labels)
        self._clock = clock
        self._lock = threading.Lock()
        self._growth = LagGrowth()
        self.on_lag: Callable[[int, str | None], None] = lambda records, growth: None
        """Called from several threads with each lag, and a description of its growth; None: it does not grow."""
        self.is_paused = False
        """Whether the task is paused: its lag is known, but its growth is meaningless."""
        self._lags: Mapping[TopicPartition, int] | None = None
        self._known_at = clock()
        self._is_lost: Callable[[], bool] = lambda: False
        self._task: Positions | None = None
        self._ends: Mapping[TopicPartition, int] = {}
        self._measured_at = self._known_at

    def report(self, lags: Mapping[TopicPartition, int]) -> None:
        """Store the lag that the loop has computed. Ignored while Kafka does not answer: its end offsets are outdated then.

        The loop knows the end offsets of the last fetch. The consumer of a slow sink has a full queue and may not fetch for
        minutes, so measured end offsets count as well.
        """
        if self._is_lost():
            return
        with suppress(KeyError):
            known = {} if self._task is None else self._task.lag_to(self._ends)
            lags = {of: max(lag, known.get(of, 0)) for of, lag in lags.items()}
        self._take(lags)

    @property
    def is_due(self) -> bool:
        """Return whether to ask the brokers for end offsets: the loop is silent, or the task has a lag."""
        now, has_lag = self._clock(), any((self._lags or {}).values())
        return now - self._known_at >= _SILENT or (has_lag and now - self._measured_at >= _SILENT)

    def measured(self, ends: Mapping[TopicPartition, int]) -> None:
        """Store the lag up to these end offsets, which the brokers have returned."""
        self._ends, self._measured_at = ends, self._clock()
        with suppress(KeyError):  # these ends lack a partition that was assigned since
            if self._task is not None:
                self._take(self._task.lag_to(ends))

    def watch(self, task: Positions, ends: EndOffsets, is_lost: Callable[[], bool]) -> None:
        """Measure the lag in a thread whenever the loop is silent or the task has a lag.

        Args:
            task: task whose lag is measured.
            ends: looks up end offsets.
            is_lost: returns whether Kafka does not answer this process.
        """
        self._task, self._is_lost = task, is_lost

        def run() -> None:
            while True:
                time.sleep(_SILENT / 2)
                if self.is_due and (partitions := task.partitions) and (found := ends.of(partitions)) is not None:
                    self.measured(found)

        threading.Thread(target=run, name="lag", daemon=True).start()

    def _take(self, lags: Mapping[TopicPartition, int]) -> None:
        with self._lock:
            self._lags, self._known_at = lags, self._clock()
            total = sum(lags.values())
            if self.is_paused:
                self._growth = LagGrowth()
            else:
                self._growth.add(total, self._known_at)
            text = self._growth.text
        self.on_lag(total, text)

    def collect(self) -> Iterable[Metric]:
        """Return the lag, in total and by partition, and its age; only the age if the lag is too old."""
        lags, age, names, values = (
            self._lags,
            self._clock() - self._known_at,
            list(self._labels),
            list(self._labels.values()),
        )
        if lags is None:
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
            found.add_metric(values, sum(lags.values()))
            yield found
            parts = GaugeMetricFamily(
                "penstock_sink_task_partition_lag",
                f"Lag of each partition, for the {_MOST_PARTITIONS} partitions with the largest lag.",
                labels=[*names, "topic", "partition"],
            )
            for of in heapq.nlargest(_MOST_PARTITIONS, sorted(lags), key=lags.__getitem__):
                parts.add_metric([*values, of.topic, str(of.partition)], lags[of])
            yield parts
