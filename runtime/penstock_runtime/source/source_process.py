"""Process that delivers a source's records, in one transaction with their offsets: the driver, or a Python worker of Spark.

It owns one transactional id and keeps its producer, reader and chain from batch to batch. It follows rule 3 of
`incarnation`: after each `init_transactions` it checks whether it may still write.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.errors import RetriableError
from penstock.source import InputPartition, PartitionReader
from penstock_kafka.errors import TransactionAborted, TransactionExpired
from penstock_kafka.records import Entry
from penstock_runtime.fencing.incarnation import TaskFence
from penstock_runtime.kafka.producer import PlainProducer
from penstock_runtime.kafka.producer_buffer import Outgoing
from penstock_runtime.kafka.refused_records import Refusals
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import Incarnation
from penstock_runtime.kafka.transactional_producer import TransactionalProducer
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.source.delivery import Delivery
from penstock_runtime.source.open_transaction import OpenTransaction
from penstock_runtime.source.prefetch import ReadingThread

__all__ = ["SourceProcess", "Work"]

Work = tuple[InputPartition, Sequence[Entry]]
"""Part of a batch, and the records for the offsets topic that contain its source offsets."""


class SourceProcess:
    """State of a source task in one process.

    Args:
        settings: connection to Kafka.
        delivery: configured chain.
        reader: creates the source's reader; called once, when the reader is first needed.
        read_ahead: whether to read in a second thread (`SourceConnector.read_ahead`).
        offsets_topic: topic to which the transaction's source offsets are written.
        transactional_id: id of this process; None: it delivers at least once.
        client_id: name shown to the brokers.
    """

    def __init__(
        self,
        settings: ClientSettings,
        delivery: Delivery,
        reader: Callable[[], PartitionReader],
        *,
        read_ahead: bool,
        offsets_topic: str,
        transactional_id: str | None,
        client_id: str,
    ) -> None:
        self._settings = settings
        self._delivery = delivery
        self._make_reader = reader
        self._reader: PartitionReader | None = None
        self._reading: ReadingThread[RecordBatch] | None = ReadingThread() if read_ahead else None
        self._offsets_topic = offsets_topic
        self._id = transactional_id
        self._client_id = client_id
        self._producer: TransactionalProducer | None = None
        self._transaction: OpenTransaction | None = None
        self._plain: PlainProducer | None = None
        self._refusals = Refusals(settings, delivery.stopping)
        self._incarnation: Incarnation | None = None

    def write_as(self, transactional_id: str, *, kept: bool) -> None:
        """Use this transactional id from the next `take_over` on; keep the producer if it was `kept` and has that id."""
        if not kept or self._id != transactional_id:
            self.drop_producer()
            self._id = transactional_id

    def take_over(self, fence: TaskFence) -> None:
        """Create the producer for this incarnation, which fences earlier ones, unless it exists (rule 3 of `incarnation`).

        Raises:
            Superseded: a newer incarnation exists.
            RetriableError, ConnectError: Kafka does not answer, or refuses.
        """
        if self._id is None or (self._producer is not None and self._incarnation == fence.current):
            return
        self.drop_producer()
        self._producer = TransactionalProducer(
            self._settings, self._id, client_id=self._client_id, refusals=self._refusals, check=fence.check
        )
        self._transaction = OpenTransaction(self._producer)
        self._incarnation = fence.current

    def deliver_batch(self, work: Sequence[Work], *, where: str) -> Summary:
        """Deliver these parts and their offsets in one transaction; with at-least-once delivery, only the records.

        Raises: as `add` and `commit`.
        """
        summary = Summary()
        self.add([part for part, _ in work], summary, where=where)
        self.commit([e for _, entries in work for e in entries], summary)
        return summary

    def add(self, parts: Sequence[InputPartition], summary: Summary, *, where: str) -> None:
        """Deliver these parts in the open transaction, or in a new one that starts with the first record.

        With at-least-once delivery, the records are in Kafka on return. `summary` counts them as they are delivered.

        Raises:
            Fenced, TransactionAborted, RetriableError: the outcome is unknown; fence and plan again. If `void` is false,
                no record of these parts was sent, and the open transaction with earlier parts is still valid.
            ConnectError: the task fails; no consumer sees a record of the transaction.
        """
        self._add(map(self._read, parts), summary, where)

    def add_read(self, portions: Iterator[RecordBatch], summary: Summary, *, where: str) -> None:
        """Deliver records that the caller reads, as `add` does."""
        self._add([portions], summary, where)

    def commit(self, entries: Sequence[Entry], summary: Summary) -> None:
        """Add these offset records to the transaction and commit it. With at-least-once delivery, do nothing.

        Raises:
            Fenced, TransactionAborted, RetriableError: the outcome is unknown; fence and plan again.
            ConnectError: the task fails; no consumer sees a record of the transaction.
        """
        if self._id is None:
            return
        started = time.perf_counter()
        with self._abandoning() as transaction:
            refused = transaction.send(_outgoing(self._offsets_topic, entries)) if entries else ()
            if refused:
                raise refused[0].error
            transaction.commit()
        summary.add_time("commit", time.perf_counter() - started)

    def roll_back(self, summary: Summary) -> None:
        """Abort the open transaction, if there is one. Records that are sent later begin a new one.

        Args:
            summary: counts of its records. Those of written records are reset to zero.

        Raises: as `commit`.
        """
        with self._abandoning() as transaction:
            transaction.roll_back()
        summary.written = summary.bytes = summary.dead_letters = 0
        summary.topics = []

    def check(self) -> None:
        """Check that the open transaction, if there is one, can still be committed.

        Raises:
            TransactionExpired: it was open for too long; it is abandoned.
        """
        with self._abandoning() as transaction:
            transaction.check()

    def abandon(self) -> None:
        """Abort the open transaction, and write nothing more before `take_over`."""
        if self._transaction is not None:
            self._transaction.abandon()

    @property
    def void(self) -> bool:
        """Return whether a transaction failed or its outcome is unknown: nothing may be written before `take_over`."""
        return self._id is not None and (self._transaction is None or self._transaction.void)

    @property
    def isolating(self) -> bool:
        """Return whether the process is searching for records that Kafka refuses.

        Then each batch has a separate transaction, because a refused record aborts the whole transaction.
        """
        return self._refusals.isolating

    @property
    def reader(self) -> PartitionReader:
        """Reader of the source; created when it is first needed."""
        if self._reader is None:
            self._reader = self._make_reader()
        return self._reader

    def drop_producer(self) -> None:
        """Close the producer; its transaction ends with it."""
        producer, self._producer, self._transaction, self._incarnation = self._producer, None, None, None
        if producer is not None:
            producer.close()

    def close(self) -> None:
        """Close reader and producers."""
        with suppress(Exception):
            if self._reading is not None:
                self._reading.do(self._close_reader)
                self._reading.close()
            else:
                self._close_reader()
        self.drop_producer()
        self._drop_plain_producer()

    @contextmanager
    def _abandoning(self) -> Iterator[OpenTransaction]:
        """Yield the transaction, and abandon it after an error."""
        transaction = self._writable()
        try:
            yield transaction
        except BaseException:
            transaction.abandon()
            raise

    def _writable(self) -> OpenTransaction:
        if self._transaction is None or self._transaction.void:
            raise TransactionAborted("cannot write: this process has no producer of the current incarnation")
        return self._transaction

    def _add(self, parts: Iterable[Iterator[RecordBatch]], summary: Summary, where: str) -> None:
        if self._id is None:
            with self._dropping_plain_producer():
                for portions in parts:
                    self._deliver_without_transaction(portions, summary, where)
                self._flush(summary)
            return
        transaction = self._writable()
        before = transaction.sent
        try:
            for portions in parts:
                self._delivery.run_stage(portions, transaction, summary, where=where)
        except BaseException as e:
            if transaction.sent > before or not isinstance(e, RetriableError):
                transaction.abandon()
            if isinstance(e, TransactionExpired):
                raise TransactionExpired(f"{e}; {summary.read} records of its last batch were read by then") from e
            raise

    def _read(self, part: InputPartition) -> Iterator[RecordBatch]:
        def read() -> Iterator[RecordBatch]:
            reader = self.reader
            return returned.portions(reader.read(part), returned.name(reader, "read"), lambda: _place(part))

        return self._reading.ahead(read) if self._reading is not None else read()

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()

    @contextmanager
    def _dropping_plain_producer(self) -> Iterator[None]:
        """Drop the producer after a failure: it may be unusable, and it holds records that will be sent again."""
        try:
            yield
        except BaseException:
            self._drop_plain_producer()
            raise

    def _drop_plain_producer(self) -> None:
        plain, self._plain = self._plain, None
        if plain is not None:
            with suppress(Exception):
                plain.close()

    def _deliver_without_transaction(self, portions: Iterator[RecordBatch], summary: Summary, where: str) -> None:
        if self._plain is None:
            self._plain = PlainProducer(self._settings, client_id=self._client_id, refusals=self._refusals)
        self._delivery.run_stage(portions, self._plain, summary, where=where)

    def _flush(self, summary: Summary) -> None:
        if self._plain is None:
            return
        started = time.perf_counter()
        self._plain.flush()
        summary.add_time("commit", time.perf_counter() - started)


def _place(part: InputPartition) -> str:
    """Return the source partitions and offsets of a part of a batch, for messages."""
    places = [f"{dict(p)} up to {None if o is None else dict(o)}" for p, o in islice(part.offsets.items(), 3)]
    return f" in the part of {', '.join(places)}" if places else ""


def _outgoing(topic: str, entries: Sequence[Entry]) -> Outgoing:
    return Outgoing(length=len(entries), topic=topic, key=[k for k, _ in entries], value=[v for _, v in entries])
