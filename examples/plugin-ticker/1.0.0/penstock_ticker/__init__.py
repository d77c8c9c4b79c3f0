"""Ticker: a source that counts, one record for each interval."""

import time
from collections.abc import Callable, Iterator, Sequence

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

__all__ = ["Ticker", "TickerConfig", "TickerSource", "position"]

COUNTER = SourcePartition({"ticker": "counter"})


class TickerConfig(Config):
    topic: str = prop("topic", doc="The topic to write to.", min_length=1)
    interval: int = prop("interval.ms", 1000, doc="Milliseconds from one record to the next.", ge=1, le=86_400_000)


class TickerSource(PollingSource):
    """Reads a counter. A record depends on its number alone, so that one which is read again is the same."""

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
        number = position(start)
        yield [Record(topic=self._config.topic, value=self.value(number))], {COUNTER: {"next": number + 1}}

    def value(self, number: int) -> dict[str, object]:
        return {"tick": number}


class Ticker(SourceConnector):
    """Counts from 0 on, one record for each interval, exactly once."""

    Config = TickerConfig

    def source(self, config: TickerConfig) -> PollingSource:
        return TickerSource(config)


def position(offsets: Offsets) -> int:
    """The number of the next record. Every version reads the offsets of those before it."""
    return int(offsets.get(COUNTER, {}).get("next") or 0)
