"""Replaces clients that have had no answer for long, which librdkafka does not heal by itself."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer

__all__ = ["CLOSE_SECONDS", "ClientRenewal", "close_in_background"]

CLOSE_SECONDS: Final = 5.0
"""How long the user of a producer waits until it is closed."""

log = logging.getLogger(__name__)


class ClientRenewal:
    """Decides when a client is to be replaced: after half a minute without an answer.

    A broker that its controller takes for lost, for example after its process was paused, lists no brokers at all until
    the controller hears of it again. librdkafka (2.16.1) then forgets every broker that it knew and the bootstrap servers
    too, and never connects again: each request fails with `_TRANSPORT`, for ever.

    Args:
        clock: seconds, monotonic.
    """

    AFTER: Final = 30.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._silent_since: float | None = None

    def answered(self) -> None:
        """Record that the client has had an answer."""
        self._silent_since = None

    def is_due(self, name: str) -> bool:
        """Record that the client has had no answer; return whether to replace it now, which is logged under `name`."""
        now = self._clock()
        if self._silent_since is None:
            self._silent_since = now
        if now - self._silent_since < self.AFTER:
            return False
        self._silent_since = None
        log.info("%s has had no answer for %.0f s: it is made anew", name, self.AFTER)
        return True


def close_in_background(client: Consumer | Producer, *, within: float = 0.0) -> None:
    """Close a client that is no longer used, in a thread of its own. What a producer has not sent is dropped.

    `Producer.close` (confluent-kafka 2.16.1) first aborts an open transaction, and waits for the brokers' answer without
    end. The thread of a client that never connects again (`ClientRenewal`) stays until the process ends.

    Args:
        client: the caller does not use it any more.
        within: seconds to wait until it is closed.
    """

    def close() -> None:
        # A producer that was fenced raises SystemError.
        with suppress(KafkaException, RuntimeError, SystemError):
            if isinstance(client, Producer):
                client.purge()
            client.close()

    thread = threading.Thread(target=close, name="closing a client", daemon=True)
    thread.start()
    thread.join(within)
