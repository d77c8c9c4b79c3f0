"""Write records of the operator to the status topic."""

from collections.abc import Callable, Sequence
from typing import Final

from confluent_kafka import KafkaError

from penstock.errors import ConfigError, ConnectError
from penstock_kafka.compacted_writer import CompactedWriter
from penstock_kafka.errors import kafka_error_of
from penstock_kafka.records import Entry
from penstock_operator.errors import Unavailable
from penstock_operator.kafka.clients import producer_properties
from penstock_operator.kafka.connectivity import needs_other_settings
from penstock_operator.settings import Worker

__all__ = ["Writer"]

_SECONDS: Final = 5.0


class Writer:
    """Producer that connects when it is first used, and again after its credentials were refused. Thread-safe.

    Args:
        worker: returns the current worker configuration.
        topic: the topic, which must exist.
        sentence: returns a message for an error.
        seconds: seconds after which the client gives up a record; the caller of `write` may give up earlier.
        permit: called before a write, with the seconds that it may take; raises if it must not be sent.
    """

    def __init__(
        self,
        worker: Callable[[], Worker],
        topic: str,
        sentence: Callable[[KafkaError], str],
        *,
        seconds: float = _SECONDS,
        permit: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self._topic = topic
        self._sentence = sentence
        self._seconds = seconds
        self._permit = permit
        self._error: KafkaError | None = None
        """Last error that the client reported in the background; a cause has precedence over its consequence."""
        self._writer = CompactedWriter(
            lambda: producer_properties(worker(), self._take_error), delivery_seconds=seconds
        )

    def write(self, entries: Sequence[Entry], timeout: float) -> None:
        """Write records and wait until all are acknowledged.

        Raises:
            Unavailable: they were not acknowledged in time, or refused, and may still be written later; or the write is not
                permitted.
            ConfigError: the worker configuration cannot be resolved.
        """
        self._permit(self._seconds)
        try:
            self._writer.write(self._topic, entries, timeout=timeout)
        except ConfigError:
            raise
        except ConnectError as e:
            error = self._error or kafka_error_of(e)
            message = str(e) if error is None else self._message(error)
            if self._error is not None and needs_other_settings(self._error):
                self.close()
            raise Unavailable(message) from e
        self._error = None

    def close(self) -> None:
        """Close the connections; records that were not acknowledged are dropped."""
        self._writer.close()
        self._error = None

    def _take_error(self, error: KafkaError) -> None:
        if self._error is None or error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 (librdkafka's own name)
            self._error = error

    def _message(self, error: KafkaError) -> str:
        doing = f"Writing to topic {self._topic}"
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return f"{doing}: Kafka does not allow the operator to write to topic {self._topic} (Write is needed)"
        return f"{doing}: {self._sentence(error)}"
