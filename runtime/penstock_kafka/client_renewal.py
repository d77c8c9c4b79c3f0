"""Replace clients that have had no answer for too long, because librdkafka may never reconnect."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer

__all__ = ["CLOSE_SECONDS", "ClientRenewal", "close_in_background"]

CLOSE_SECONDS: Final = 5.0
"""Seconds that the caller waits until a producer is closed."""

log = logging.getLogger(__name__)


class ClientRenewal:
    """Policy for replacing a client: after half a minute without an answer.

    A broker that the controller considers lost, for example after its process was paused, lists no brokers at all until the
    controller hears from it again. librdkafka (2.16.1) then forgets all known brokers, including the bootstrap servers, and
    never connects again: each request fails with `_TRANSPORT`, forever.

    Args:
        clock: returns monotonic seconds.
    """

    AFTER: Final = 30.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._silent_since: float | None = None

    def answered(self) -> None:
        """Record that the client received an answer."""
        self._silent_since = None

    def is_due(self, name: str) -> bool:
        """Record that the client received no answer. Return whether to replace it now, which is logged with `name`."""
        now = self._clock()
        if self._silent_since is None:
            self._silent_since = now
        if now - self._silent_since < self.AFTER:
            return False
        self._silent_since = None
        log.info("%s has received no response for %.0f s; replacing it", name, self.AFTER)
        return True


def close_in_background(client: Consumer | Producer, *, within: float = 0.0) -> None:
    """Close a client that is no longer used, in a new thread. Records that a producer has not sent are dropped.

    `Producer.close` (confluent-kafka 2.16.1) first aborts an open transaction, and waits for the brokers' answer without a
    timeout. The thread of a client that never connects again (`ClientRenewal`) runs until the process exits.

    Args:
        client: the client, which the caller must no longer use.
        within: maximum seconds to wait until it is closed.
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
