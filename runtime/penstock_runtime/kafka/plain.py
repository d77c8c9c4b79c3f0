"""A producer without transactions: at-least-once sources, and dead letter queues."""

import time
from collections.abc import Sequence
from math import inf
from typing import Any, Final

from confluent_kafka import KafkaError, Producer

from penstock.errors import ConnectError, RetriableError
from penstock_runtime.kafka.errors import translated, translating
from penstock_runtime.kafka.outbox import Outbox, Outgoing, Refused
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["LAST_WORDS", "PlainProducer", "write_alone"]

_KEPT: Final = 100
_SLICE: Final = 1.0
LAST_WORDS: Final = 30.0
"""Seconds that a task which is about to fail waits for Kafka to take what it has to say."""


class PlainProducer:
    """In order and bounded. `send` any number of times, then `flush` to know what arrived."""

    def __init__(self, settings: ClientSettings, *, client_id: str) -> None:
        config = settings.for_plain_producer(client_id=client_id)
        # Without it the client makes a report for every record that arrived.
        config["delivery.report.only.error"] = True
        self._servers = settings.bootstrap
        self._patience = float(config.get("delivery.timeout.ms", config.get("message.timeout.ms", 300_000))) / 1000
        with translating(f"Starting a producer for {self._servers}"):
            self._producer = Producer(config)
        self._outbox = Outbox(
            self._producer, bytes_limit=settings.queue_bytes, patience=self._patience, servers=self._servers
        )
        self._lost: list[ConnectError] = []

    def send(self, outgoing: Outgoing) -> list[Refused]:
        """Give records to the client; those that it refuses come back."""
        return self._outbox.give(outgoing, self._failed)

    def flush(self, *, within: float = inf) -> Sequence[ConnectError]:
        """Wait until every record has arrived or failed; the errors of those that failed, at most a hundred.

        Args:
            within: seconds, where that is less than `delivery.timeout.ms`.

        Raises:
            RetriableError: records are still waiting after that time, or for a topic that is not there.
        """
        patience = min(within, self._patience)
        deadline = time.monotonic() + patience
        with translating("Writing records"):
            while (left := self._producer.flush(max(0.1, min(_SLICE, deadline - time.monotonic())))) and (
                time.monotonic() < deadline
            ):
                self._outbox.ask()
        self._outbox.forget()
        if left:
            raise RetriableError(f"Kafka ({self._servers}) has not taken {left} records for {patience:.0f} s")
        lost, self._lost = self._lost, []
        return lost

    def close(self) -> None:
        """Let go of the connections, and of what was not flushed."""
        self._producer.purge()
        self._producer.close()

    def _failed(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            return
        ours = translated(error, f"Writing to topic '{message.topic()}'")
        if len(self._lost) < _KEPT:
            self._lost.append(ours)
        elif isinstance(ours, RetriableError):  # it decides what becomes of the batch, so it is not lost among many
            self._lost[-1] = ours


def write_alone(settings: ClientSettings, client_id: str, outgoing: Outgoing, *, within: float = LAST_WORDS) -> None:
    """Write these records with a producer of their own; on return they are in Kafka.

    Raises:
        ConnectError: Kafka is away, or refuses one.
    """
    producer = PlainProducer(settings, client_id=client_id)
    try:
        refused = producer.send(outgoing)
        lost = [*(r.error for r in refused), *producer.flush(within=within)]
    finally:
        producer.close()
    if lost:
        raise lost[0]
