"""Check periodically that the brokers answer this process: an idle client does not notice an outage."""

import threading
import time
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock_kafka.diagnosis import ClientError, connection_sentence
from penstock_runtime.kafka.connectivity import connection_properties
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["KafkaContact"]

_PERIOD: Final = 5.0
"""Interval and timeout of the requests, in seconds."""
_LOST: Final = 10.0
"""Seconds without an answer after which contact counts as lost. While one broker restarts, another answers."""
_MOST_ERRORS: Final = 20


class KafkaContact:
    """Monitor that requests metadata from the brokers every five seconds, in a daemon thread.

    Args:
        settings: client settings.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._connection = connection_properties(settings.producer)
        self._servers = str(self._connection.get("bootstrap.servers", ""))
        self._answered = time.monotonic()
        self._errors: list[ClientError] = []
        threading.Thread(target=self._run, name="contact", daemon=True).start()

    @property
    def trouble(self) -> str | None:
        """Reason why the brokers do not answer; None if one has answered within the last ten seconds."""
        if time.monotonic() - self._answered < _LOST:
            return None
        return connection_sentence(self._servers, [*self._errors])  # without the time, so that the text stays the same

    def _run(self) -> None:
        client = Producer({**self._connection, "error_cb": self._take_error, "log_level": 0})
        while True:
            began = time.monotonic()
            try:
                client.list_topics("__consumer_offsets", timeout=_PERIOD)
            except KafkaException:
                with suppress(KafkaException):
                    client.poll(0)  # calls back with the cause
            else:
                self._answered = time.monotonic()
                self._errors.clear()
            time.sleep(max(0.0, began + _PERIOD - time.monotonic()))

    def _take_error(self, error: KafkaError) -> None:
        self._errors.append(ClientError.of(error))
        del self._errors[:-_MOST_ERRORS]
