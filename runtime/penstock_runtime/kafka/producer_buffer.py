"""A producer with a bound that keeps order: what waits in librdkafka is counted here, in portions as they were given.

librdkafka's own bound refuses single records in the middle of a batch and takes later ones when room appears, which would
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
from penstock_runtime.kafka.lost_records import Losses
from penstock_runtime.kafka.producer_records import Outgoing, Refused, slices
from penstock_runtime.kafka.refused_records import Refusals
from penstock_runtime.task.liveness import LOOP

__all__ = ["Outbox", "Outgoing", "Refused"]

Told = Callable[..., None]
"""Called by the client with error and message of a record."""
_ABSENT: Final = 5.0
"""Seconds for which a topic must be missing: one that was just created is not known at once."""
_ANY: Final = -1
"""librdkafka's RD_KAFKA_PARTITION_UA: the partitioner chooses."""
_SLICE: Final = 1.0
_BLAMELESS: Final = (RetriableError, Fenced, TransactionAborted)
"""No fault of a record: the whole batch is tried again, or left to others."""


class Outbox:
    """Gives portions to a `confluent_kafka.Producer` in order, with a bound in bytes on what waits.

    Args:
        producer: the client; `on_delivery` is told of failures only.
        refusals: what is known of records that Kafka does not take.
        batch_size: the producer's.
        bytes_limit: of records that wait.
        patience: seconds without any progress until the brokers count as away.
        block: seconds for which a partition that is not known is waited for.
        servers: for messages.
        anew: begins a new transaction, as one in which something was refused is void. None: there are no transactions.
    """

    def __init__(
        self, producer: Producer, *, refusals: Refusals, batch_size: int, bytes_limit: int, patience: float, block: float,
        servers: str, anew: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        self._producer = producer
        self._refusals = refusals
        self._batch_size = batch_size
        self._limit = bytes_limit
        self._patience = patience
        self._block = block
        self._servers = servers
        self._anew = anew
        self._waiting: deque[tuple[int, int]] = deque()  # (records, bytes) of each portion, oldest first
        self._records = 0
        self._bytes = 0
        self._topics: set[str] = set()
        self._absent: dict[str, float] = {}
        self.losses = Losses()
        """What the brokers did not take of what was given."""

    def forget(self) -> None:
        """What comes from now on is a batch of its own."""
        self._topics.clear()
        self._absent.clear()
        self.losses.clear()

    def go_on_with(self, producer: Producer, batch_size: int) -> None:
        """Another client stands in for the one before, and what that held is gone."""
        self._producer = producer
        self._batch_size = batch_size
        self._waiting.clear()
        self._records = self._bytes = 0

    def ask(self) -> None:
        """Look for the topics of this batch, when its records do not arrive.

        The client waits for a topic that was deleted until `delivery.timeout.ms`, and does not say so. To ask for it by
        name makes a broker that creates topics create it again.

        Raises:
            RetriableError: a topic is not there, and has not been for some seconds.
        """
        for topic in sorted(self._topics):
            try:
                error = self._producer.list_topics(topic, timeout=1.0).topics[topic].error
            except KafkaException:  # no broker answers, which is another matter
                self._absent.clear()
                return
            if error is None or error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                self._absent.pop(topic, None)
            elif time.monotonic() - self._absent.setdefault(topic, time.monotonic()) > _ABSENT:
                raise RetriableError(
                    f"Topic '{topic}' is not there (any more) at {self._servers}, and the brokers do not create it by "
                    f"themselves. Create it; its records are written then."
                )

    def give(self, outgoing: Outgoing, *, keep: bool = False) -> list[Refused]:
        """Hand records to the client, waiting for room.

        Args:
            outgoing: the records.
            keep: hold them until they have arrived, so that those that do not can be sent again; for few.

        Returns:
            The records that are not sent, and those that Kafka has refused; all others are on their way.

        Raises:
            RetriableError: nothing left the queue for `patience` seconds: the brokers take nothing.
            Fenced, TransactionAborted: the producer, or its transaction, is of no more use.
        """
        known = self._refusals.known(outgoing, self._producer, self._block)
        if not known:
            return self._send(outgoing, keep=keep)
        gone = {r.row for r in known}
        rows = [row for row in range(outgoing.length) if row not in gone]
        more = self._send(outgoing.take(rows), keep=keep) if rows else []
        return sorted([*known, *(Refused(rows[r.row], r.error) for r in more)])

    def alone(self, outgoing: Outgoing, most: int = 0) -> list[Refused]:
        """Send these records and await them; where something is refused, one by one. Raises as `give`.

        Args:
            outgoing: the records.
            most: the bytes that they fit into, where they are several.
        """
        refused, failed = self._awaited(outgoing)
        if outgoing.length > 1:  # else the batch, which comes again, would fail here again
            large = {outgoing.at(r)[0] for r, (e, _) in failed.items() if e.code() == KafkaError.MSG_SIZE_TOO_LARGE}
            self._refusals.too_large(large, most)
        for row, (error, partition) in failed.items():
            if outgoing.length == 1:
                refused.append(Refused(row, self._refusals.refused(outgoing, row, error, partition)))
                continue
            one = outgoing.take([row])
            again = self._refusals.known(one, self._producer, self._block) or self.alone(one)
            refused += [Refused(row, r.error) for r in again]
        return refused

    def await_all(self, patience: float) -> int:
        """Wait until every record has arrived or failed; how many have not after so many seconds.

        Raises:
            RetriableError: one waits for a topic that is not there.
            Fenced: the producer is of no more use.
        """
        deadline = time.monotonic() + patience
        with translating(f"Writing to {self._servers}"):
            while (left := self._producer.flush(max(0.1, min(_SLICE, deadline - time.monotonic())))) and (
                time.monotonic() < deadline
            ):
                LOOP.turned()
                self.ask()
        self._settle()
        return left

    def _send(self, outgoing: Outgoing, *, keep: bool) -> list[Refused]:
        portion = self._refusals.portion
        if portion is None or (portion >= self._batch_size and not self._refusals.isolating):
            return self._pass(outgoing, partial(self._failed, outgoing) if keep else self._failed)
        refused: list[Refused] = []
        for rows in slices(outgoing, portion):
            part = outgoing if len(rows) == outgoing.length else outgoing.take(rows)
            if self._refusals.isolating:
                more = self.alone(part, portion)
            else:
                more = self._pass(part, partial(self._failed, part) if keep else self._failed)
                self._complete()
            refused += [Refused(rows[r.row], r.error) for r in more]
        return refused

    def _awaited(self, outgoing: Outgoing) -> tuple[list[Refused], dict[int, tuple[KafkaError, int | None]]]:
        """Send and wait: what the client did not take, and the rows that failed, in order, with the partition of each."""
        failed: dict[int, tuple[KafkaError, int | None]] = {}

        def note(row: int, error: KafkaError | None, message: Any) -> None:
            if error is not None:
                failed[row] = (error, message.partition())

        refused = self._pass(outgoing, [partial(note, row) for row in range(outgoing.length)])
        self._complete()
        for error, _ in failed.values():
            if not Losses.of_records(error):
                raise translated(error, f"Writing to {self._servers}")
        if failed and self._anew is not None:
            self._anew()
        return refused, dict(sorted(failed.items()))

    def _complete(self) -> None:
        if left := self.await_all(self._patience):
            raise RetriableError(f"Kafka ({self._servers}) has not taken {left} records for {self._patience:.0f} s")

    def _pass(self, outgoing: Outgoing, on_failure: Told | list[Told]) -> list[Refused]:
        size = outgoing.size()
        self._topics |= outgoing.topics
        with translating(f"Writing to {self._servers}"):
            self._await_room(size)
            if _plain(outgoing) and not isinstance(on_failure, list):
                refused = self._batch(outgoing, on_failure)
            else:
                refused = self._singly(outgoing, on_failure)
        for r in refused:
            if isinstance(r.error, _BLAMELESS):
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
            elif time.monotonic() - last_progress > self._patience:
                raise RetriableError(
                    f"Kafka ({self._servers}) took none of {left} waiting records for {self._patience:.0f} s"
                )

    def _settle(self) -> None:
        gone = self._records - len(self._producer)
        while self._waiting and gone >= self._waiting[0][0]:
            records, size = self._waiting.popleft()
            gone -= records
            self._records -= records
            self._bytes -= size

    def _failed(self, *told: Any) -> None:
        """Told by the client: what was sent, if that is kept, the error, the message."""
        *sent, error, message = told
        if error is not None:
            self.losses.add(error, message, sent[0] if sent else None)

    def _batch(self, out: Outgoing, on_failure: Told) -> list[Refused]:
        values = out.value if out.value is not None else [None] * out.length
        messages: list[dict[str, Any]]
        if out.key is not None:
            messages = [{"value": v, "key": k} for v, k in zip(values, out.key, strict=True)]
        else:
            messages = [{"value": v} for v in values]
        more: dict[str, Any] = {"on_delivery": on_failure}
        if isinstance(out.partition, int):
            more["partition"] = out.partition
        with translating(f"Writing to topic '{out.topic}'"):
            taken = self._producer.produce_batch(str(out.topic), messages, **more)
        if taken == len(messages):
            return []
        return [
            Refused(row, _not_taken(out, row, m["_error"]))
            for row, m in enumerate(messages)
            if m.get("_error") is not None
        ]

    def _singly(self, out: Outgoing, on_failure: Told | list[Told]) -> list[Refused]:
        """One by one: the client's batches take no headers, no timestamps, one topic."""
        refused = []
        produce = self._producer.produce
        columns = (
            _each(c)
            for c in (out.topic, out.value, out.key, out.partition, _times(out.timestamp), out.headers, on_failure)
        )
        for row, (topic, value, key, partition, timestamp, headers, told) in zip(range(out.length), zip(*columns)):  # noqa: B905 (constants have no end)
            try:
                produce(
                    topic, value=value, key=key, partition=_ANY if partition is None else partition,
                    timestamp=timestamp or 0, headers=headers or None, on_delivery=told,
                )  # fmt: skip
            except KafkaException as e:
                refused.append(Refused(row, _not_taken(out, row, e.args[0])))
            except BufferError:
                refused.append(Refused(row, RetriableError(f"Writing to topic '{topic}': the client's queue is full")))
        return refused


def _not_taken(out: Outgoing, row: int, error: KafkaError) -> ConnectError:
    """What to say of a record that the client did not take."""
    topic, partition = out.at(row)
    doing = f"Writing to topic '{topic}'" + ("" if partition is None else f" partition {partition}")
    if error.code() != KafkaError.MSG_SIZE_TOO_LARGE:
        return translated(error, doing)
    return ConnectError(
        f"{doing}: a record of {out.alone(row)} bytes is larger than the producer sends (max.request.size). Raise "
        f"producer.override.max.request.size, and the topic's max.message.bytes where that is smaller."
    )


def _each(column: Any) -> Iterable[Any]:
    return repeat(column) if column is None or isinstance(column, (str, int)) or callable(column) else column


def _times(column: int | None | list[int | None]) -> int | None | list[int | None]:
    """Librdkafka takes 0 for now; a millisecond later is the least that can be said."""
    if isinstance(column, list):
        return [1 if t == 0 else t for t in column] if 0 in column else column
    return 1 if column == 0 else column


def _plain(out: Outgoing) -> bool:
    """Whether `produce_batch` can take it: one topic, no headers, no timestamps, no partition per record."""
    plain = out.headers is None and out.timestamp is None
    return plain and not isinstance(out.topic, list) and not isinstance(out.partition, list)
