"""Producer without transactions, for at-least-once sources and dead letter queues."""

from collections.abc import Sequence
from math import inf
from typing import Final

from confluent_kafka import Producer

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.client_renewal import CLOSE_SECONDS, close_in_background
from penstock_kafka.errors import translating
from penstock_runtime.kafka.producer_buffer import Outgoing, ProducerBuffer, Refused
from penstock_runtime.kafka.refused_records import Refusals
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["FINAL_WRITE_SECONDS", "PlainProducer", "write_alone"]

FINAL_WRITE_SECONDS: Final = 30.0
"""Seconds that a failing task waits for Kafka to accept its last records."""


class PlainProducer:
    """Producer that keeps the order of records and bounds its queue.

    Call `send` any number of times, then `flush` to learn which records were delivered.

    Args:
        settings: client settings.
        client_id: `client.id`, as brokers see it.
        refusals: refused records that earlier producers have found; None for none.
        keep: hold the records until they have arrived, and resend refused ones one by one. Only for few records. Otherwise,
            the caller must resend the whole batch if a record was refused.
    """

    def __init__(
        self, settings: ClientSettings, *, client_id: str, refusals: Refusals | None = None, keep: bool = False
    ) -> None:
        self._settings = settings
        self._client_id = client_id
        self._refusals = refusals or Refusals(settings)
        self._keep = keep
        self._start()

    def send(self, outgoing: Outgoing) -> list[Refused]:
        """Pass records to the client; return those that the client or Kafka refuses. Raises as `ProducerBuffer.append`."""
        return self._buffer.append(outgoing, keep=self._keep)

    def flush(self, *, within: float = inf) -> Sequence[ConnectError]:
        """Wait until every record has arrived or failed; return the errors of kept records that Kafka refused individually.

        Args:
            within: seconds to wait, if less than `delivery.timeout.ms`.

        Raises:
            RetriableError: records are still waiting after that time, or their topic does not exist; or Kafka refused
                records that are not kept: the next producer with these `refusals` finds out which.
            Fenced: the producer can no longer be used.
        """
        seconds = min(within, self._delivery_seconds)
        left = self._buffer.await_all(seconds)
        losses = self._buffer.losses
        if left:
            self._buffer.reset()
            raise RetriableError(
                f"Kafka ({self._settings.bootstrap}) has not accepted {left} records within {seconds:.0f} s"
            )
        refused: list[Refused] = []
        try:
            if losses.other is not None:
                raise losses.other
            if losses.refused:
                self._refusals.isolate(losses.too_large, self._batch_size)
                if not self._keep:
                    raise RetriableError(
                        f"Kafka refused {losses.refused} records that were sent together; they are sent again, one by one "
                        f"where necessary: {losses.first}"
                    )
                for records in losses.kept[:]:
                    refused += self._buffer.send_isolated(records)
        finally:
            self._buffer.reset()
        self._refusals.settled()
        if self._refusals.outdates(self._batch_size, isolating=self._isolating):
            self.close()
            self._start()
        return [r.error for r in refused]

    def close(self) -> None:
        """Close the connections; records that were not flushed are dropped."""
        close_in_background(self._producer, within=CLOSE_SECONDS)

    def _start(self) -> None:
        settings = self._settings
        config = self._refusals.fit(settings.for_plain_producer(client_id=self._client_id))
        # Otherwise the client creates a report for every record that arrived.
        config["delivery.report.only.error"] = not settings.reports_all
        self._delivery_seconds = (
            float(config.get("delivery.timeout.ms", config.get("message.timeout.ms", 300_000))) / 1000
        )
        self._batch_size = int(config["batch.size"])
        self._isolating = self._refusals.isolating
        with translating(f"Starting a producer for {settings.bootstrap}"):
            self._producer = Producer(config)
        self._buffer = ProducerBuffer(
            self._producer,
            refusals=self._refusals,
            batch_size=self._batch_size,
            bytes_limit=settings.queue_bytes,
            delivery_seconds=self._delivery_seconds,
            max_block=settings.max_block,
            servers=settings.bootstrap,
        )


def write_alone(
    settings: ClientSettings, client_id: str, outgoing: Outgoing, *, within: float = FINAL_WRITE_SECONDS
) -> None:
    """Write these records with a separate producer. On return all of them are in Kafka.

    Raises:
        ConnectError: Kafka is unreachable, or refuses a record.
    """
    producer = PlainProducer(settings, client_id=client_id, keep=True)
    try:
        refused = producer.send(outgoing)
        lost = [*(r.error for r in refused), *producer.flush(within=within)]
    finally:
        producer.close()
    if lost:
        raise lost[0]
