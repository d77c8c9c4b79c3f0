"""Ticker: a source that counts, with one record per interval, independently in each task."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from penstock import (
    Config,
    Limits,
    Offsets,
    OffsetUpdates,
    PollingSource,
    Record,
    RecordBatch,
    SourceConnector,
    SourcePartition,
    prop,
)

__all__ = ["Ticker", "TickerConfig", "TickerSource", "partition", "position"]


class TickerConfig(Config):
    topic: str = prop("topic", doc="The topic to write to.", min_length=1)
    interval: int = prop("interval.ms", 1000, doc="Milliseconds from one record to the next.", ge=1, le=86_400_000)
    counters: int = prop("counters", 1, doc="Number of counters, limited by tasksMax.", ge=1, le=100)
    counter: int = prop("counter", 0, doc="The counter that a task reads. Set by the connector for each task.", ge=0)


class TickerSource(PollingSource):
    """Reader of a counter. A record depends only on its number, so it is the same when it is read again."""

    def __init__(self, config: TickerConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._due = 0.0

    def start(self, offsets: Offsets) -> None:
        self._due = self._clock()

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[RecordBatch | Sequence[Record], OffsetUpdates]]:
        now = self._clock()
        if now < self._due:
            return
        self._due = now + self._config.interval / 1000
        own = partition(self._config.counter)
        number = position(start, own)
        record = Record(topic=self._config.topic, key=str(self._config.counter), value=self.value(number))
        yield [record], {own: {"next": number + 1}}

    def value(self, number: int) -> dict[str, object]:
        return {"tick": number}


class Ticker(SourceConnector):
    """Counts from 0, one record per interval, exactly once, with a separate task for each counter."""

    Config = TickerConfig

    def task_configs(
        self, config: TickerConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        """Return the same properties as all other versions, so that tasks read the same counters."""
        return [{**properties, "counter": str(number)} for number in range(min(config.counters, max_tasks))]

    def source(self, config: TickerConfig) -> PollingSource:
        return TickerSource(config)


def partition(counter: int) -> SourcePartition:
    """Return the source partition of a counter."""
    return SourcePartition({"counter": counter})


def position(offsets: Offsets, own: SourcePartition) -> int:
    """Return the number of the next record. Every version reads the offsets of earlier ones."""
    return int(offsets.get(own, {}).get("next") or 0)
