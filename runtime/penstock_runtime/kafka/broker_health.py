"""Tracks whether brokers answer. librdkafka reports once that they do not, and never reports recovery: that is probed."""

import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaException

__all__ = ["BrokerHealth"]

_SECONDS: Final = 1.0
"""How long a broker has to answer."""
_PAUSE: Final = 2.0


class BrokerHealth:
    """The last error of a client's connections, and whether it still holds.

    Args:
        probe: asks any broker for anything; raises KafkaException if none has answered within so many seconds.
        clock: seconds, monotonic.

    Attributes:
        trouble: the error while no broker answers, None while one does; as of the last `probe`.
    """

    def __init__(self, probe: Callable[[float], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._probe = probe
        self._clock = clock
        self._error: str | None = None
        self._next_probe = 0.0
        self.trouble: str | None = None

    def failed(self, error: str) -> None:
        """Record an error that the client reported. It may concern any broker, and may be over already."""
        self._error = error

    def answered(self) -> None:
        """Record that brokers have answered something else."""
        self.trouble = self._error = None

    def probe(self) -> None:
        """Ask whether brokers answer, if an error was reported; every two seconds, and for a second, at most."""
        if self._error is None or self._clock() < self._next_probe:
            return
        try:
            self._probe(_SECONDS)
        except KafkaException:
            self.trouble = self._error
            self._next_probe = self._clock() + _PAUSE
        else:
            self.answered()
