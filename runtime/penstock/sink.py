"""Sink connectors: from Kafka to an outside system.

A sink has two halves, as Spark's own writers have. The *task half* (`Writer`) writes records, in the driver when there
are few, in Spark's Python workers when there are many. The *driver half* (`Sink`) makes a batch final: `commit` gets every
writer's messages and the offsets reached, and returns the offsets that may be committed to Kafka.

Order: `initialize`, `start`, `open`, then per batch any number of `write`s and one `commit`; `open`/`close` again when
partitions come or go; at the end `commit`, `close`, `stop`. A batch that fails under way (a worker was lost, Kafka does not
take its dead letters) is begun again, and perhaps parts of it are written: before that come `commit` for the batches before
it, `close` and `open` of all partitions. `close` always comes after the `commit` of what was written.

Delivery is at least once: after a failure the records since the last committed offsets come again. A sink that stores
offsets with its data returns them from `open` and gets exactly once, whether `Sink.commit` stores them (what was staged,
and the offsets that it is given) or `Writer.write` does.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from penstock.batch import RecordBatch
from penstock.connector import Connector
from penstock.record import Record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FrameSink", "Reporter", "Sink", "SinkConnector", "SinkTaskContext", "TopicPartition", "Writer"]


class TopicPartition(NamedTuple):
    """A partition of a Kafka topic."""

    topic: str
    partition: int


class SinkTaskContext(NamedTuple):
    """Which task a sink writes for, for what it keeps outside that must not be another's.

    Attributes:
        connector: the connector's name in Kafka Connect's sense.
        task: the task's number, from 0.
        life: names one life of the task, in letters, digits and `-`; that of a later life is greater, as texts compare.
    """

    connector: str
    task: int
    life: str


class Reporter(Protocol):
    """The errant record reporter (KIP-610)."""

    def __call__(self, record: Record, error: Exception) -> None:
        """Hand back one record that the outside system refuses: to the dead letter queue and the log.

        From any thread, but only until the `write` or `stage` that it was given to returns. A record counts as handed back
        from the first try of a batch to the last, and once, however often it is named. The dead letter is in Kafka before
        the record's offset is committed.

        Raises:
            ConnectError: `errors.tolerance` is `none`: the task fails, and the record's offset is not committed. Swallowing
                it does not help, nor does `RetriableError` after it. Or `write` has returned, with the same end.
        """


class Writer(ABC):
    """The task half of a sink. Kept by its process from batch to batch; used by one thread."""

    @abstractmethod
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """Write records: durable on return, or staged until the driver half's `commit`.

        Args:
            batches: the records of one or more Kafka partitions; those of one partition are in order.
            report: hands back single records that cannot be written.

        Returns:
            A message for `Sink.commit`, as JSON would hold it (`bytes` are allowed); None when there is nothing to say.

        Raises:
            RetriableError: the same records come again after a back-off (`errors.retry` does not apply; see
                `sink.retry.timeout.ms`), from a worker of Spark by way of `Sink.open`. Nothing of them may be half written.
            Exception: the task fails.

        A writer that stores offsets with the records stores the last one's offset + 1 for each partition of `batches`, in
        one transaction with them, and refuses (`RetriableError`) a batch that begins before the offset that is stored: a
        worker that was given up for lost may still be at work. Records that it hands back by `report` are in the dead
        letter queue only after `write`; where even a crash between the two may lose none, store offsets in `Sink.commit`.
        """

    def stage(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        """Write records where they do not count yet, for `Sink.commit` to make them final.

        Asked instead of `write` for a backlog, where the connector says that it is `staged`: then several processes stage
        parts of a batch, ranges of one Kafka partition among them. A part is any number of calls of `stage`, then one of
        `staged`. One process may be given several parts of a batch, and be gone before they are committed. What is staged
        and never committed, because its batch failed, is void with the next `Sink.open`.

        Arguments and errors are those of `write`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not stage")

    def staged(self) -> Any:
        """A part of the batch is complete. Parts before it may wait for their commit, or be under way to it.

        Returns:
            A message for `Sink.commit`, which gets those of all parts in the order of their records; None for nothing.

        Raises:
            RetriableError, Exception: as `write`.
        """
        return None

    def close(self) -> None:
        """Let go of everything. Called once, nothing is called after it."""


class Sink(ABC):
    """The driver half of a sink."""

    def initialize(self, context: SinkTaskContext) -> None:
        """Learn which task this is. Called once, before all else; the default does nothing."""

    def start(self) -> None:
        """Begin. Called once, before any partition is known.

        Raises:
            RetriableError: called again after a back-off.
        """

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """These partitions will be written from now on: at first, when new ones come, and after a batch that failed.

        Returns:
            The offsets to start from where this sink stored them with its data, read where they are stored, not from
            memory; they go before the consumer group's, and before the place that the task itself has reached.

        Raises:
            RetriableError: called again after a back-off, without a `close` between.
        """
        return {}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Make what was written final.

        Args:
            messages: what `write` and `staged` have returned since the last commit, in the order of the records of each
                partition, None left out.
            offsets: the next offset of each partition, everything before it written, dropped or handed back.

        Called at most once a second (sooner where the worker's `offset.flush.interval.ms` is shorter) while something new
        was written, and not while nothing is. Where it has returned less than it was given it is called again, without
        messages: at once when something new was written, else after 1 s, 2 s, 4 s ... up to `offset.flush.interval.ms`
        (60 s), until it returns all.

        Returns:
            The offsets that may be committed to the consumer group; `offsets` unless some of it is not final yet. One
            beyond what it was given is ignored, with a warning that is told once, and it is called again only when
            something new was written of that partition.

        Raises:
            RetriableError: called again after a back-off with the same arguments; once only when the task has failed.
        """
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions are written no more, or opened again. What was written of them is committed before.

        What the last `commit` did not return may be dropped: it is read again, unless `open` says otherwise.
        """

    def stop(self) -> None:
        """Let go of everything. Called once, also after a failure in `start`; nothing is called after it."""


class FrameSink(Sink):
    """A sink that takes a Spark DataFrame, for any Spark writer. It needs no `Writer`."""

    @property
    def ordered(self) -> bool:
        """Whether it matters which of two records of a Kafka partition is written first; True unless it is overridden.

        A frame has one schema, so that a batch is cut where the schema changes: records with the schemas v1, v2, v1 are
        three frames, each of which costs a Spark job. A sink that only appends, and to which the order means nothing, says
        False and gets two.
        """
        return True

    @abstractmethod
    def put_frame(self, frame: "DataFrame") -> None:
        """Write one batch, or a part of it.

        The columns are the fields of a struct value; any other value is the one column `value`. The rows of each Kafka
        partition are in order, within a frame and from one to the next, where `ordered` says so. Durable on return; it may
        be called again with the same records after a failure. A frame holds no more records than `max.poll.records` (else
        `batch.max.records`, 100,000 at most), and about `batch.max.bytes`.
        """


class SinkConnector(Connector):
    """A plugin that writes to an outside system."""

    single_writer: ClassVar[bool] = False
    """The whole batch is written in one place, so that two processes never write at once."""

    staged: ClassVar[bool] = False
    """Its writers stage a backlog (`Writer.stage`), in as many processes as there are, and `Sink.commit` makes it final."""

    @property
    def kind(self) -> str:
        """`sink`."""
        return "sink"

    @abstractmethod
    def sink(self, config: Any) -> Sink:
        """The driver half, for one task's parsed `Config`."""

    def writer(self, config: Any) -> Writer:
        """The task half. Not asked of a `FrameSink`."""
        raise NotImplementedError(f"{type(self).__name__} has no writer for {type(config).__name__}")
