"""Whether brokers answer, asked of a client that tells once that they do not, and never that they do again."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer

__all__ = ["Doubt", "Renewal", "let_go"]

log = logging.getLogger(__name__)

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


class Renewal:
    """Says when a client is to be made anew: where it has had no answer for half a minute.

    A broker that its controller takes for lost, after a pause of its process say, lists no brokers at all until it is
    heard of again. librdkafka (2.16.1) then forgets each one that it knew and the bootstrap servers too, and never
    connects again: every question fails with `_TRANSPORT`, for ever.

    Args:
        clock: seconds, monotonic.
    """

    AFTER: Final = 30.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: float | None = None

    def answered(self) -> None:
        """The client has had an answer."""
        self._since = None

    def due(self, name: str) -> bool:
        """The client has had no answer; whether to make it anew now. It is said in the log."""
        now = self._clock()
        if self._since is None:
            self._since = now
        if now - self._since < self.AFTER:
            return False
        self._since = None
        log.info("%s has had no answer for %.0f s: it is made anew", name, self.AFTER)
        return True


def let_go(client: Consumer | Producer) -> None:
    """Close a client that is used no more, without waiting for it."""

    def close() -> None:
        with suppress(KafkaException, RuntimeError):
            if isinstance(client, Producer):
                client.purge()
            client.close()

    threading.Thread(target=close, name="closing a client", daemon=True).start()
