"""Track whether brokers answer. librdkafka reports an outage once but never the recovery, which is probed here."""

import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaException

__all__ = ["BrokerHealth"]

_SECONDS: Final = 1.0
"""Seconds to wait for an answer."""
_PAUSE: Final = 2.0


class BrokerHealth:
    """Last error of a client's connections, and whether it still applies.

    Args:
        probe: sends any request to any broker; raises KafkaException if none answers within the given seconds.
        clock: returns monotonic seconds.

    Attributes:
        trouble: the error while no broker answers, None while one does; updated by `probe`.
    """

    def __init__(self, probe: Callable[[float], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._probe = probe
        self._clock = clock
        self._error: str | None = None
        self._next_probe = 0.0
        self.trouble: str | None = None

    def failed(self, error: str) -> None:
        """Record an error that the client reported. It may concern any broker, and may already be resolved."""
        self._error = error

    def answered(self) -> None:
        """Record that brokers have answered another request."""
        self.trouble = self._error = None

    def probe(self) -> None:
        """Check whether brokers answer, if an error was reported. Blocks at most one second, at most every two seconds."""
        if self._error is None or self._clock() < self._next_probe:
            return
        try:
            self._probe(_SECONDS)
        except KafkaException:
            self.trouble = self._error
            self._next_probe = self._clock() + _PAUSE
        else:
            self.answered()
