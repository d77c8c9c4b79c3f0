"""Write records to compacted topics, and wait until they are acknowledged."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import KafkaError, Producer

from penstock.errors import RetriableError
from penstock_kafka.client_renewal import CLOSE_SECONDS, ClientRenewal, close_in_background
from penstock_kafka.errors import passing, translated, translating
from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import partitions_of

__all__ = ["CompactedWriter"]

_BY_KEY: Final = -1
"""librdkafka's RD_KAFKA_PARTITION_UA."""
_ANSWER_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.1
# Same as in Kafka Connect. An idempotent producer would wait half a second for its ID before the first record.
_FIXED: Final[Mapping[str, Any]] = {
    "enable.idempotence": False,
    "acks": "all",
    "max.in.flight.requests.per.connection": 1,
    "linger.ms": 0,
    "batch.size": 16_384,
}


class CompactedWriter:
    """Producer of single records. Connects on first use, and again after `close`. Thread-safe.

    Args:
        properties: returns librdkafka's properties for each new producer; those that determine how it writes are fixed here.
        delivery_seconds: seconds after which the client drops a record (`delivery.timeout.ms`). None: as configured, and
            `write` makes the client drop records that were not acknowledged in time.
    """

    def __init__(self, properties: Callable[[], Mapping[str, Any]], *, delivery_seconds: float | None = None) -> None:
        self._properties = properties
        self._delivery_seconds = delivery_seconds
        self._lock = threading.Lock()
        self._producer: Producer | None = None
        self._servers = ""
        self._renewal = ClientRenewal()

    def partitions(self, topic: str) -> int:
        """Return the current number of partitions of a topic. From then on records are distributed by that number.

        Raises:
            RetriableError, ConnectError: see `partitions_of`.
        """
        producer = self._connected()
        try:
            count = len(partitions_of(producer, topic, _ANSWER_SECONDS))
        except RetriableError:
            self._unanswered(producer)
            raise
        self._renewal.answered()
        return count

    def write(self, topic: str, entries: Iterable[Entry], *, timeout: float = 30.0, partition: int = _BY_KEY) -> None:
        """Write records and wait until all are acknowledged. If the topic rejects the batch as too large, split it.

        Args:
            topic: must exist; otherwise brokers may create it without compaction.
            entries: records to write.
            timeout: seconds to wait.
            partition: partition to write to; by default, the partition that each key maps to.

        Raises:
            RetriableError: records were not acknowledged in time; they may still arrive.
            ConnectError: the brokers rejected a record.
        """
        entries = list(entries)
        errors = self._produce(topic, entries, timeout, partition)
        if len(entries) > 1 and any(e.code() == KafkaError.MSG_SIZE_TOO_LARGE for e in errors):
            middle = len(entries) // 2
            self.write(topic, entries[:middle], timeout=timeout, partition=partition)
            self.write(topic, entries[middle:], timeout=timeout, partition=partition)
        elif errors:
            raise translated(errors[0], f"Writing to topic '{topic}'")

    def close(self) -> None:
        """Close the connection; records that were not acknowledged are dropped."""
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            close_in_background(producer, within=CLOSE_SECONDS)

    def _produce(self, topic: str, entries: Sequence[Entry], timeout: float, partition: int) -> list[KafkaError]:
        """Write records and return the errors of rejected records."""
        producer = self._connected()
        outcomes: list[KafkaError | None] = []
        deadline = time.monotonic() + timeout
        try:
            with translating(f"Writing to topic '{topic}'"):
                for key, value in entries:
                    producer.produce(
                        topic, key=key, value=value, partition=partition, on_delivery=lambda e, _: outcomes.append(e)
                    )
                while len(outcomes) < len(entries) and (left := deadline - time.monotonic()) > 0:
                    producer.poll(min(left, _POLL_SECONDS))
                if len(outcomes) < len(entries) and self._delivery_seconds is None:
                    producer.purge()
        except RuntimeError as e:  # the producer is closed
            raise RetriableError(f"Writing to topic '{topic}': another thread has closed the connection") from e
        errors = [error for error in outcomes if error is not None]
        if len(outcomes) < len(entries) or any(map(passing, errors)):
            self._unanswered(producer)
        elif not errors:
            self._renewal.answered()
        if len(outcomes) < len(entries) and not errors:
            raise RetriableError(f"Writing to topic '{topic}': no answer from {self._servers}")
        return errors

    def _connected(self) -> Producer:
        with self._lock:
            if self._producer is None:
                properties = {**self._properties(), **_FIXED}
                properties.pop("transactional.id", None)
                if self._delivery_seconds is not None:
                    properties["delivery.timeout.ms"] = int(self._delivery_seconds * 1000)
                self._servers = str(properties.get("bootstrap.servers", ""))
                with translating("Starting a producer"):
                    self._producer = Producer(properties)
            return self._producer

    def _unanswered(self, producer: Producer) -> None:
        with self._lock:
            if self._producer is not producer or not self._renewal.is_due("The producer of single records"):
                return
            self._producer = None
        close_in_background(producer)
