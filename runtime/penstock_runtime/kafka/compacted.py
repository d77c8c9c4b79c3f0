"""Reading a compacted topic to its end, and writing single records to it: the offsets topic and the status topic."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as Position

from penstock.errors import ConnectError, RetriableError
from penstock_runtime.kafka.consumers import available
from penstock_runtime.kafka.errors import translated, translating
from penstock_runtime.kafka.murmur2 import partition_of
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["Entry", "StatusWriter", "read_to_end"]

Entry = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""

_SECONDS: Final = 60.0
# As Kafka Connect writes them. An idempotent producer would wait half a second for its id before the first record.
_ONE_BY_ONE: Final = {
    "enable.idempotence": False,
    "acks": "all",
    "max.in.flight.requests.per.connection": 1,
    "linger.ms": 0,
}


def read_to_end(
    settings: ClientSettings, topic: str, *, key: bytes | None = None, servers: str | None = None
) -> list[Entry]:
    """Every committed record up to the end that the topic has now, oldest first within each partition.

    Args:
        settings: how to connect.
        topic: must exist.
        key: read only the partition that this key lies in.
        servers: of another cluster than the consumers'.

    Raises:
        RetriableError: the brokers did not answer in time.
        ConnectError: no such topic, not authorised.
    """
    config = settings.for_consumer(
        group_id="penstock-reader", isolation_level="read_committed", auto_offset_reset="earliest"
    )
    if servers is not None:
        config["bootstrap.servers"] = servers
    deadline = time.monotonic() + _SECONDS
    with translating(f"Reading topic '{topic}'"):
        consumer = Consumer({**config, "fetch.wait.max.ms": 50})
        try:
            partitions = _partitions(consumer, topic)
            if key is not None:
                partitions = [partition_of(key, len(partitions))]
            pending = _unfinished(consumer, topic, partitions)
            entries: list[Entry] = []
            if pending:
                consumer.assign([Position(topic, p, OFFSET_BEGINNING) for p in pending])
            while pending:
                if time.monotonic() > deadline:
                    raise RetriableError(f"Reading topic '{topic}': not at its end after {_SECONDS:.0f} s")
                _consume(consumer, topic, pending, entries)
            return entries
        finally:
            consumer.close()


def _unfinished(consumer: Consumer, topic: str, partitions: Sequence[int]) -> set[int]:
    """The partitions that hold anything. Their end events come after the last stable offset of this moment."""
    return {
        p
        for p in partitions
        for low, high in [consumer.get_watermark_offsets(Position(topic, p), timeout=_SECONDS / 2)]
        if high > low
    }


def _consume(consumer: Consumer, topic: str, pending: set[int], entries: list[Entry]) -> None:
    for message in available(consumer, 5_000, 1.0):
        error = message.error()
        if error is None:
            message_key = message.key()
            if message_key is not None:
                entries.append((bytes(message_key), message.value()))
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (librdkafka's own name of the code)
            pending.discard(message.partition())
        elif not error.retriable() and error.code() not in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):  # noqa: SLF001
            raise translated(error, f"Reading topic '{topic}'")


def _partitions(consumer: Consumer, topic: str) -> list[int]:
    metadata = consumer.list_topics(topic, timeout=_SECONDS / 2).topics[topic]
    if metadata.error is not None:
        raise translated(metadata.error, f"Reading topic '{topic}'")
    return sorted(metadata.partitions)


class StatusWriter:
    """A plain producer for records of compacted topics; each write is acknowledged before it returns."""

    def __init__(self, settings: ClientSettings, *, client_id: str) -> None:
        self._settings = settings
        config = settings.for_producer(client_id=client_id)
        config.pop("transactional.id", None)
        with translating("Starting a producer"):
            self._producer = Producer({**config, **_ONE_BY_ONE})

    def write(self, topic: str, entries: Iterable[Entry], *, timeout: float = 30.0) -> None:
        """Write records and wait for their acknowledgement.

        Raises:
            RetriableError: not acknowledged in time; they may still arrive.
            ConnectError: refused.
        """
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is not None:
                failed.append(error)

        with translating(f"Writing to topic '{topic}'"):
            for key, value in entries:
                self._producer.produce(topic, key=key, value=value, on_delivery=delivered)
            if self._producer.flush(timeout):
                self._producer.purge()
                raise RetriableError(f"Writing to topic '{topic}': no answer from {self._settings.bootstrap}")
        if failed:
            raise translated(failed[0], f"Writing to topic '{topic}'")

    def close(self) -> None:
        """Let go of the connection."""
        try:
            self._producer.purge()
            self._producer.close()
        except ConnectError:
            return
