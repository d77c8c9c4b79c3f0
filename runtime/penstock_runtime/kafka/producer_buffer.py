"""Bound a producer's queue and preserve its order, by counting the records that wait in librdkafka by portion.

librdkafka's own limit refuses single records in the middle of a batch and accepts later ones when there is room, which would
change the order within a partition. Here a portion waits as a whole until there is room for it.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import repeat
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.errors import Fenced, TransactionAborted, translated, translating
from penstock_runtime.kafka.producer_losses import Losses
from penstock_runtime.kafka.producer_records import Outgoing, Refused, slices
from penstock_runtime.kafka.refused_records import Refusals
from penstock_runtime.process.liveness import LOOP

__all__ = ["Outgoing", "ProducerBuffer", "Refused"]

OnDelivery = Callable[..., None]
"""Callback that the client calls with error and message of a record."""
_ABSENT_SECONDS: Final = 5.0
"""Seconds for which a topic must be missing to count as missing: brokers do not know a new topic immediately."""
_ANY: Final = -1
"""librdkafka's RD_KAFKA_PARTITION_UA: the partitioner chooses."""
_SLICE: Final = 1.0
_NOT_OF_RECORDS: Final = (RetriableError, Fenced, TransactionAborted)
"""Errors not caused by a record: the whole batch is retried, or left to another process."""


class ProducerBuffer:
    """Queue that passes portions to a `confluent_kafka.Producer` in order, bounded in bytes.

    Args:
        producer: the client; it calls `on_delivery` only for failures, unless `ClientSettings.reports_all`.
        refusals: what the process knows about records that Kafka refuses.
        batch_size: `batch.size` of the producer, in bytes.
        bytes_limit: maximum bytes of records that may wait.
        delivery_seconds: seconds without progress after which the brokers count as unavailable.
        max_block: seconds to wait for an unknown partition.
        servers: `bootstrap.servers`, for messages.
        begin_again: begins a new transaction, since a refused record makes a transaction void. None: no transactions.
    """

    def __init__(
        self,
        producer: Producer,
        *,
        refusals: Refusals,
        batch_size: int,
        bytes_limit: int,
        delivery_seconds: float,
        max_block: float,
        servers: str,
        begin_again: Callable[[], None] | None = None,
    ) -> None:
        self._producer = producer
        self._refusals = refusals
        self._batch_size = batch_size
        self._limit = bytes_limit
        self._delivery_seconds = delivery_seconds
        self._max_block = max_block
        self._servers = servers
        self._begin_again = begin_again
        self._waiting: deque[tuple[int, int]] = deque()  # (records, bytes) of each portion, oldest first
        self._records = 0
        self._bytes = 0
        self._topics: set[str] = set()
        self._absent: dict[str, float] = {}
        self.losses = Losses()
        """Records that were not delivered."""

    def reset(self) -> None:
        """Start a new batch."""
        self._topics.clear()
        self._absent.clear()
        self.losses.clear()

    def replace_producer(self, producer: Producer, batch_size: int) -> None:
        """Use another client from now on. Records that waited in the previous client are lost."""
        self._producer = producer
        self._batch_size = batch_size
        self._waiting.clear()
        self._records = self._bytes = 0

    def check_topics(self) -> None:
        """Check that the topics of this batch exist. Called when its records do not arrive.

        The client waits for a deleted topic until `delivery.timeout.ms` without reporting it. The request for the topic
        makes brokers with automatic topic creation create it again.

        Raises:
            RetriableError: a topic has not existed for some seconds.
        """
        for topic in sorted(self._topics):
            try:
                error = self._producer.list_topics(topic, timeout=1.0).topics[topic].error
            except KafkaException:  # no broker answers: nothing is known about the topics
                self._absent.clear()
                return
            if error is None or error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                self._absent.pop(topic, None)
            elif time.monotonic() - self._absent.setdefault(topic, time.monotonic()) > _ABSENT_SECONDS:
                raise RetriableError(
                    f"cannot write to topic '{topic}': it does not exist at {self._servers}, and the brokers do not create "
                    f"it automatically; create it, and its records will be written"
                )

    def append(self, outgoing: Outgoing, *, keep: bool = False) -> list[Refused]:
        """Pass records to the client. Blocks until there is room.

        Args:
            outgoing: records to write.
            keep: hold the records until they have arrived, so that failed ones can be resent; for few records.

        Returns:
            Records that are not sent, and records that Kafka has refused; all others are queued or sent.

        Raises:
            RetriableError: nothing left the queue for `delivery_seconds`: the brokers accept nothing.
            Fenced, TransactionAborted: the producer, or its transaction, can no longer be used.
        """
        known = self._refusals.known(outgoing, self._producer, self._max_block)
        if not known:
            return self._send(outgoing, keep=keep)
        refused_rows = {r.row for r in known}
        rows = [row for row in range(outgoing.length) if row not in refused_rows]
        more = self._send(outgoing.take(rows), keep=keep) if rows else []
        return sorted([*known, *(Refused(rows[r.row], r.error) for r in more)])

    def send_isolated(self, outgoing: Outgoing, most: int = 0) -> list[Refused]:
        """Send these records and wait for them; resend those that are refused one by one. Raises as `append`.

        Args:
            outgoing: records to send.
            most: batch size in bytes that they fit into, if there are several.
        """
        refused, failed = self._awaited(outgoing)
        if outgoing.length > 1:  # after a single record, the batch would fail here again when it is sent again
            large = {outgoing.at(r)[0] for r, (e, _) in failed.items() if e.code() == KafkaError.MSG_SIZE_TOO_LARGE}
            self._refusals.too_large(large, most)
        for row, (error, partition) in failed.items():
            if outgoing.length == 1:
                refused.append(Refused(row, self._refusals.refused(outgoing, row, error, partition)))
                continue
            record = outgoing.take([row])
            again = self._refusals.known(record, self._producer, self._max_block) or self.send_isolated(record)
            refused += [Refused(row, r.error) for r in again]
        return refused

    def await_all(self, seconds: float) -> int:
        """Wait until every record has arrived or failed, or `seconds` have passed; return how many are still waiting.

        Raises:
            RetriableError: a record waits for a topic that does not exist.
            Fenced: the producer can no longer be used.
        """
        deadline = time.monotonic() + seconds
        with translating(f"Writing to {self._servers}"):
            while (left := self._producer.flush(max(0.1, min(_SLICE, deadline - time.monotonic())))) and (
                time.monotonic() < deadline
            ):
                LOOP.turned()
                self.check_topics()
        self._settle()
        return left

    def _send(self, outgoing: Outgoing, *, keep: bool) -> list[Refused]:
        portion = self._refusals.portion
        if portion is None or (portion >= self._batch_size and not self._refusals.isolating):
            return self._produce(outgoing, self._on_delivery(outgoing, keep=keep))
        refused: list[Refused] = []
        for rows in slices(outgoing, portion):
            part = outgoing if len(rows) == outgoing.length else outgoing.take(rows)
            if self._refusals.isolating:
                more = self.send_isolated(part, portion)
            else:
                more = self._produce(part, self._on_delivery(part, keep=keep))
                self._complete()
            refused += [Refused(rows[r.row], r.error) for r in more]
        return refused

    def _awaited(self, outgoing: Outgoing) -> tuple[list[Refused], dict[int, tuple[KafkaError, int | None]]]:
        """Send and wait; return the records that the client did not accept, and the error and partition of failed rows."""
        failed: dict[int, tuple[KafkaError, int | None]] = {}

        def delivered(row: int, error: KafkaError | None, message: Any) -> None:
            if error is not None:
                failed[row] = (error, message.partition())
            elif outgoing.placed is not None:
                outgoing.placed(outgoing.positions[row], message)

        refused = self._produce(outgoing, [partial(delivered, row) for row in range(outgoing.length)])
        self._complete()
        for error, _ in failed.values():
            if not Losses.of_records(error):
                raise translated(error, f"Writing to {self._servers}")
        if failed and self._begin_again is not None:
            self._begin_again()
        return refused, dict(sorted(failed.items()))

    def _complete(self) -> None:
        if left := self.await_all(self._delivery_seconds):
            raise RetriableError(
                f"Kafka ({self._servers}) has not accepted {left} records within {self._delivery_seconds:.0f} s"
            )

    def _produce(self, outgoing: Outgoing, on_delivery: OnDelivery | list[OnDelivery]) -> list[Refused]:
        size = outgoing.size()
        self._topics |= outgoing.topics
        with translating(f"Writing to {self._servers}"):
            self._await_room(size)
            if _fits_produce_batch(outgoing) and not isinstance(on_delivery, list):
                refused = self._produce_batch(outgoing, on_delivery)
            else:
                refused = self._produce_each(outgoing, on_delivery)
        for r in refused:
            if isinstance(r.error, _NOT_OF_RECORDS):
                raise r.error
        taken = outgoing.length - len(refused)
        self._waiting.append((taken, size))
        self._records += taken
        self._bytes += size
        return refused

    def _await_room(self, size: int) -> None:
        self._settle()
        if self._bytes + size <= self._limit or not self._waiting:
            return
        last_progress, left = time.monotonic(), self._records
        while self._waiting and self._bytes + size > self._limit:
            self._producer.poll(0.002)
            LOOP.turned()
            self._settle()
            if self._records != left:
                last_progress, left = time.monotonic(), self._records
            elif time.monotonic() - last_progress > self._delivery_seconds:
                raise RetriableError(
                    f"Kafka ({self._servers}) accepted none of {left} waiting records for {self._delivery_seconds:.0f} s"
                )

    def _settle(self) -> None:
        gone = self._records - len(self._producer)
        while self._waiting and gone >= self._waiting[0][0]:
            records, size = self._waiting.popleft()
            gone -= records
            self._records -= records
            self._bytes -= size

    def _on_delivery(self, outgoing: Outgoing, *, keep: bool) -> OnDelivery | list[OnDelivery]:
        lost = partial(self._delivered, outgoing) if keep else self._delivered
        placed = outgoing.placed
        if placed is None:
            return lost

        def delivered(row: int, error: KafkaError | None, message: Any) -> None:
            if error is None:
                placed(outgoing.positions[row], message)
            else:
                lost(error, message)

        return [partial(delivered, row) for row in range(outgoing.length)]

    def _delivered(self, *arguments: Any) -> None:
        """Handle a delivery report. The arguments are the sent records, if they are kept, the error, and the message."""
        *sent, error, message = arguments
        if error is not None:
            self.losses.add(error, message, sent[0] if sent else None)

    def _produce_batch(self, out: Outgoing, on_delivery: OnDelivery) -> list[Refused]:
        values = out.value if out.value is not None else [None] * out.length
        messages: list[dict[str, Any]]
        if out.key is not None:
            messages = [{"value": v, "key": k} for v, k in zip(values, out.key, strict=True)]
        else:
            messages = [{"value": v} for v in values]
        more: dict[str, Any] = {"on_delivery": on_delivery}
        if isinstance(out.partition, int):
            more["partition"] = out.partition
        with translating(f"Writing to topic '{out.topic}'"):
            taken = self._producer.produce_batch(str(out.topic), messages, **more)
        if taken == len(messages):
            return []
        return [
            Refused(row, _client_error(out, row, m["_error"]))
            for row, m in enumerate(messages)
            if m.get("_error") is not None
        ]

    def _produce_each(self, out: Outgoing, on_delivery: OnDelivery | list[OnDelivery]) -> list[Refused]:
        """Produce records one by one: the client's batches support no headers, no timestamps and only one topic."""
        refused = []
        produce = self._producer.produce
        columns = (
            _constant_or_each(c)
            for c in (out.topic, out.value, out.key, out.partition, _times(out.timestamp), out.headers, on_delivery)
        )
        for row, (topic, value, key, partition, timestamp, headers, callback) in zip(range(out.length), zip(*columns)):  # noqa: B905 (constants are infinite)
            try:
                produce(
                    topic,
                    value=value,
                    key=key,
                    partition=_ANY if partition is None else partition,
                    timestamp=timestamp or 0,
                    headers=headers or None,
                    on_delivery=callback,
                )
            except KafkaException as e:
                refused.append(Refused(row, _client_error(out, row, e.args[0])))
            except BufferError:
                refused.append(Refused(row, RetriableError(f"Writing to topic '{topic}': the client's queue is full")))
        return refused


def _client_error(out: Outgoing, row: int, error: KafkaError) -> ConnectError:
    """Return the error for a record that the client did not accept."""
    topic, partition = out.at(row)
    doing = f"Writing to topic '{topic}'" + ("" if partition is None else f" partition {partition}")
    if error.code() != KafkaError.MSG_SIZE_TOO_LARGE:
        return translated(error, doing)
    return ConnectError(
        f"{doing}: a record of {out.alone(row)} bytes is larger than the producer sends (max.request.size); raise "
        f"producer.override.max.request.size, and the topic's max.message.bytes if it is smaller."
    )


def _constant_or_each(column: Any) -> Iterable[Any]:
    return repeat(column) if column is None or isinstance(column, (str, int)) or callable(column) else column


def _times(column: int | None | list[int | None]) -> int | None | list[int | None]:
    """Return timestamps for librdkafka, which reads 0 as the current time: 1 ms is the closest that it accepts."""
    if isinstance(column, list):
        return [1 if t == 0 else t for t in column] if 0 in column else column
    return 1 if column == 0 else column


def _fits_produce_batch(out: Outgoing) -> bool:
    """Return whether `produce_batch` accepts the records: one topic, no headers, no timestamps, no partition per record."""
    is_constant = not isinstance(out.topic, list) and not isinstance(out.partition, list)
    return is_constant and out.headers is None and out.timestamp is None
