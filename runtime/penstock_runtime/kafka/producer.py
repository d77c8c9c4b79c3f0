"""A producer without transactions: at-least-once sources, and dead letter queues."""

from collections.abc import Sequence
from math import inf
from typing import Final

from confluent_kafka import Producer

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.errors import translating
from penstock_runtime.kafka.producer_buffer import Outbox, Outgoing, Refused
from penstock_runtime.kafka.refused_records import Refusals
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["LAST_WORDS", "PlainProducer", "write_alone"]

LAST_WORDS: Final = 30.0
"""Seconds that a task which is about to fail waits for Kafka to take what it has to say."""


class PlainProducer:
    """In order and bounded. `send` any number of times, then `flush` to know what arrived.

    Args:
        settings: how to connect.
        client_id: as brokers see it.
        refusals: what was known of refused records before; None begins anew.
        keep: hold the records until they have arrived, and send those that were refused again, one by one. For few; else
            a batch in which something was refused must come again as a whole.
    """

    def __init__(
        self, settings: ClientSettings, *, client_id: str, refusals: Refusals | None = None, keep: bool = False
    ) -> None:
        self._settings = settings
        self._client_id = client_id
        self._refusals = refusals or Refusals(settings)
        self._keep = keep
        self._make()

    def send(self, outgoing: Outgoing) -> list[Refused]:
        """Give records to the client; those that it or Kafka refuses come back. Raises as `Outbox.give`."""
        return self._outbox.give(outgoing, keep=self._keep)

    def flush(self, *, within: float = inf) -> Sequence[ConnectError]:
        """Wait until every record has arrived or failed; the errors of the kept ones that Kafka refused, each by itself.

        Args:
            within: seconds, where that is less than `delivery.timeout.ms`.

        Raises:
            RetriableError: records are still waiting after that time, or for a topic that is not there; or Kafka refused
                some that are not kept: the next producer with these `refusals` finds out which.
            Fenced: the producer is of no more use.
        """
        patience = min(within, self._patience)
        left = self._outbox.await_all(patience)
        losses = self._outbox.losses
        if left:
            self._outbox.forget()
            raise RetriableError(
                f"Kafka ({self._settings.bootstrap}) has not taken {left} records for {patience:.0f} s"
            )
        refused: list[Refused] = []
        try:
            if losses.other is not None:
                raise losses.other
            if losses.refused:
                self._refusals.isolate(losses.too_large, self._batch_size)
                if not self._keep:
                    raise RetriableError(
                        f"Kafka refused {losses.refused} records at once, which are sent again, one by one where that "
                        f"is needed: {losses.first}"
                    )
                for one in losses.kept[:]:
                    refused += self._outbox.alone(one)
        finally:
            self._outbox.forget()
        self._refusals.settled()
        if self._refusals.outdates(self._batch_size, isolating=self._isolating):
            self.close()
            self._make()
        return [r.error for r in refused]

    def close(self) -> None:
        """Let go of the connections, and of what was not flushed."""
        with translating("Closing a producer"):
            self._producer.purge()
            self._producer.close()

    def _make(self) -> None:
        settings = self._settings
        config = self._refusals.fit(settings.for_plain_producer(client_id=self._client_id))
        # Without it the client makes a report for every record that arrived.
        config["delivery.report.only.error"] = True
        self._patience = float(config.get("delivery.timeout.ms", config.get("message.timeout.ms", 300_000))) / 1000
        self._batch_size = int(config["batch.size"])
        self._isolating = self._refusals.isolating
        with translating(f"Starting a producer for {settings.bootstrap}"):
            self._producer = Producer(config)
        self._outbox = Outbox(
            self._producer, refusals=self._refusals, batch_size=self._batch_size, bytes_limit=settings.queue_bytes,
            patience=self._patience, block=settings.max_block, servers=settings.bootstrap,
        )  # fmt: skip


def write_alone(settings: ClientSettings, client_id: str, outgoing: Outgoing, *, within: float = LAST_WORDS) -> None:
    """Write these records with a producer of their own; on return they are in Kafka.

    Raises:
        ConnectError: Kafka is away, or refuses one.
    """
    producer = PlainProducer(settings, client_id=client_id, keep=True)
    try:
        refused = producer.send(outgoing)
        lost = [*(r.error for r in refused), *producer.flush(within=within)]
    finally:
        producer.close()
    if lost:
        raise lost[0]
