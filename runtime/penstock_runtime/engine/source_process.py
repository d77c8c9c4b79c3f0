"""A process that delivers a source's records: the driver, or one of Spark's Python workers.

It owns one transactional id, keeps its producer, reader and chain from batch to batch, and follows rule 3 of
`incarnation`: after each `init_transactions` it looks whether it may still write.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from penstock.batch import RecordBatch
from penstock.errors import RetriableError
from penstock.record import Record
from penstock.source import InputPartition, PartitionReader, rows
from penstock_runtime.engine.ahead import ReadingThread
from penstock_runtime.engine.delivery import Delivery
from penstock_runtime.engine.incarnation import Life
from penstock_runtime.engine.summary import Summary
from penstock_runtime.kafka.compacted import Entry
from penstock_runtime.kafka.errors import Fenced, TransactionAborted
from penstock_runtime.kafka.outbox import Outgoing
from penstock_runtime.kafka.plain import PlainProducer
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import Incarnation
from penstock_runtime.kafka.transactions import TransactionalProducer

__all__ = ["SourceProcess", "Work"]

Portions = Iterable[RecordBatch | Sequence[Record]]
Work = tuple[InputPartition, Sequence[Entry]]
"""A part of a batch, and the offset records that go with it."""


class SourceProcess:
    """One process's end of a source task.

    Args:
        settings: how to connect.
        delivery: the chain.
        reader: makes the task half of the source; called once, when it is first needed.
        read_ahead: read in a thread of its own (`SourceConnector.read_ahead`).
        offsets_topic: the topic that offsets are written to.
        transactional_id: this process's id; None delivers at least once.
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
        self._plain: PlainProducer | None = None
        self._life: Incarnation | None = None

    def take_over(self, life: Life) -> None:
        """Make the producer for this incarnation and fence, unless it is there: rule 3.

        Raises:
            Superseded: somebody newer is at work.
            RetriableError, ConnectError: Kafka is away, or refuses.
        """
        if self._id is None or (self._producer is not None and self._life == life.current):
            return
        self.drop_producer()
        self._producer = TransactionalProducer(self._settings, self._id, client_id=self._client_id)
        self._life = life.current
        try:
            life.check()
        except BaseException:
            self.drop_producer()
            raise

    def deliver(self, work: Sequence[Work], *, where: str) -> Summary:
        """Deliver these parts and their offsets: in one transaction when exactly once, else the records only.

        Raises:
            Fenced, TransactionAborted, RetriableError: nothing is known; fence and plan again.
            ConnectError: the task fails; nothing of it shows.
        """
        summary = Summary()
        if self._id is None:
            self._at_least_once(work, summary, where)
            return summary
        producer = self._begin()
        try:
            for part, _ in work:
                self._delivery.deliver(self._read(part), producer, summary, where=where)
            self._finish(producer, [e for _, entries in work for e in entries], summary)
        except BaseException:
            self._abandon()
            raise
        return summary

    def deliver_read(self, portions: Portions, entries: Callable[[], Sequence[Entry]], *, where: str) -> Summary:
        """The same for records that are read here; `entries` is asked once all of them are read."""
        summary = Summary()
        if self._id is None:
            with self._plainly():
                self._deliver_plainly(rows(portions), summary, where)
            return summary
        producer = self._begin()
        try:
            self._delivery.deliver(rows(portions), producer, summary, where=where)
            self._finish(producer, entries(), summary)
        except BaseException:
            self._abandon()
            raise
        return summary

    @property
    def reader(self) -> PartitionReader:
        """The task half, made when first asked for."""
        if self._reader is None:
            self._reader = self._make_reader()
        return self._reader

    def drop_producer(self) -> None:
        """Let the producer go, its transaction with it."""
        producer, self._producer, self._life = self._producer, None, None
        if producer is not None:
            producer.close()

    def close(self) -> None:
        """Let go of everything."""
        with suppress(Exception):
            if self._reading is not None:
                self._reading.do(self._close_reader)
                self._reading.close()
            else:
                self._close_reader()
        self.drop_producer()
        self._drop_plain()

    def _begin(self) -> TransactionalProducer:
        if self._producer is None:
            raise TransactionAborted("This process may not write: it has no producer of the present incarnation")
        self._producer.begin()
        return self._producer

    def _read(self, part: InputPartition) -> Iterator[RecordBatch]:
        def read() -> Iterator[RecordBatch]:
            return rows(self.reader.read(part))

        return self._reading.ahead(read) if self._reading is not None else read()

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def _finish(self, producer: TransactionalProducer, entries: Sequence[Entry], summary: Summary) -> None:
        started = time.perf_counter()
        if entries:
            refused = producer.send(_outgoing(self._offsets_topic, entries))
            if refused:
                raise refused[0].error
        producer.commit()
        summary.spend("commit", time.perf_counter() - started)

    def _abandon(self) -> None:
        """Abort when that is possible; the producer is not used again until the driver has fenced."""
        if self._producer is not None:
            with suppress(Exception):
                self._producer.abort()

    def _at_least_once(self, work: Sequence[Work], summary: Summary, where: str) -> None:
        with self._plainly():
            for part, _ in work:
                self._deliver_plainly(self._read(part), summary, where, flush=False)
            self._flush(summary)

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """After a failure another producer goes on: this one may be beyond use, and holds records that come again."""
        try:
            yield
        except BaseException:
            self._drop_plain()
            raise

    def _drop_plain(self) -> None:
        plain, self._plain = self._plain, None
        if plain is not None:
            with suppress(Exception):
                plain.close()

    def _deliver_plainly(
        self, portions: Iterator[RecordBatch], summary: Summary, where: str, *, flush: bool = True
    ) -> None:
        if self._plain is None:
            self._plain = PlainProducer(self._settings, client_id=self._client_id)
        self._delivery.deliver(portions, self._plain, summary, where=where)
        if flush:
            self._flush(summary)

    def _flush(self, summary: Summary) -> None:
        if self._plain is None:
            return
        started = time.perf_counter()
        lost = self._plain.flush()
        summary.spend("commit", time.perf_counter() - started)
        if lost:
            # Trouble that may pass, or that is the producer's, is nothing to pass over, whatever else was lost.
            passing = next((e for e in lost if isinstance(e, RetriableError | Fenced)), None)
            if passing is not None or not self._delivery.policy.tolerate:
                raise passing or lost[0]
            self._delivery.lost(lost, summary)


def _outgoing(topic: str, entries: Sequence[Entry]) -> Outgoing:
    return Outgoing(length=len(entries), topic=topic, key=[k for k, _ in entries], value=[v for _, v in entries])
