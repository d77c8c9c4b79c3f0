"""Whether brokers answer, asked of a client that tells once that they do not, and never that they do again."""

import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaException

__all__ = ["Doubt"]

_SECONDS: Final = 1.0
"""How long a broker has to answer."""
_PAUSE: Final = 2.0


class Doubt:
    """An error of a client's connections, and whether it still holds.

    Args:
        ask: asks any broker for anything; raises KafkaException when none has answered within so many seconds.
        clock: seconds, monotonic.
    """

    def __init__(self, ask: Callable[[float], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._error: str | None = None
        self._next = 0.0
        self.trouble: str | None = None
        """The error while no broker answers, None while one does; as of the last `settle`."""

    def arise(self, error: str) -> None:
        """The client has told of an error. Any broker may be meant, and it may be over already."""
        self._error = error

    def end(self) -> None:
        """Brokers have answered something else."""
        self.trouble = self._error = None

    def settle(self) -> None:
        """Find out whether brokers answer, where that is in doubt; every two seconds, and a second long, at most."""
        if self._error is None or self._clock() < self._next:
            return
        try:
            self._ask(_SECONDS)
        except KafkaException:
            self.trouble = self._error
            self._next = self._clock() + _PAUSE
        else:
            self.end()
