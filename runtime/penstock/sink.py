"""Sink connectors: from Kafka to an external system.

A sink has two halves, like Spark's own writers. The *task half* (`Writer`) writes records: in the driver for small
batches, in Spark's Python workers for large ones. The *driver half* (`Sink`) finalizes a batch: `commit` receives the
messages of all writers and the offsets reached, and returns the offsets that may be committed to Kafka.

Call order: `initialize`, `start`, `open`, then for each batch any number of `write` calls and one `commit`; `open` and
`close` again when partitions are assigned or revoked; finally `commit`, `close`, `stop`. A batch may fail after parts of it
were written (a worker was lost, Kafka rejected a dead letter). It is then written again, after `commit` for the batches
before it, and after `close` and `open` of all partitions. `close` always follows the `commit` of the written records.

Delivery is at least once: after a failure, records after the last committed offsets are delivered again. A sink that stores
offsets with its data, in `Sink.commit` or in `Writer.write`, and returns them from `open`, delivers exactly once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
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


def _completed(record: Record, error: Exception) -> "Future[None]":
    future: Future[None] = Future()
    future.set_result(None)
    return future


@dataclass(frozen=True, slots=True)
class SinkTaskContext:
    """Context of a sink task. Use it to name external objects that belong to one task.

    Only the driver half receives it (`Sink.initialize`). Writers send what they learn as messages to `Sink.commit`.

    Attributes:
        connector: the Connect name of the connector.
        task: the task number, starting at 0.
        start_id: identifies this start of the task, in letters, digits and `-`. A later start has a greater value in text
            order.
        on_pause: called by `pause`.
        on_resume: called by `resume`.
        on_seek: called by `seek`.
        on_commit: called by `request_commit`.
        on_report: called by `report`.
    """

    connector: str
    task: int
    start_id: str
    on_pause: Callable[[Sequence[TopicPartition]], None] = field(default=lambda of: None, compare=False, repr=False)
    on_resume: Callable[[Sequence[TopicPartition]], None] = field(default=lambda of: None, compare=False, repr=False)
    on_seek: Callable[[Mapping[TopicPartition, int | None]], None] = field(
        default=lambda to: None, compare=False, repr=False
    )
    on_commit: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)
    on_report: Callable[[Record, Exception], "Future[None]"] = field(default=_completed, compare=False, repr=False)

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop reading these partitions and continue with the others, like `pause` of Kafka Connect's context.

        Takes effect with the next batch, until `resume`, or until `close` receives the partition. May be called from any
        thread. No record is lost: `Sink.commit` is called first for records that were written but not committed, and
        records whose offsets it does not return are read again after `resume`. While partitions are paused, `Sink.commit`
        is also called when no record was written: after 1 s, 2 s, 4 s ... up to `offset.flush.interval.ms`.

        Raises:
            ConnectError: a partition is not assigned to the task.
        """
        self.on_pause(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Resume reading these partitions at their current positions. Partitions that are not paused are ignored.

        Raises:
            ConnectError: a partition is not assigned to the task.
        """
        self.on_resume(partitions)

    def seek(self, to: Mapping[TopicPartition, int | None]) -> None:
        """Continue reading at these offsets, starting with the next batch, like `offset` of Kafka Connect's context.

        None means the last committed offset. Partitions that are not assigned to the task are ignored. May be called from
        any thread.
        """
        self.on_seek(to)

    def request_commit(self) -> None:
        """Request a call of `Sink.commit` before the next batch, like `requestCommit` of Kafka Connect's context.

        May be called from any thread.
        """
        self.on_commit()

    def report(self, record: Record, error: Exception) -> "Future[None]":
        """Report a record that the external system rejects, even after the `write` call that received it has returned.

        Like the `Reporter` of a `write` call, but valid from `open` to `close` of the record's partition, from any thread.
        The record is identified by its `original`. No offset of its partition is committed before its dead letter is in
        Kafka.

        Returns:
            A future that completes when the dead letter is in Kafka, or raises a `ConnectError` if the dead letter cannot be
            written; the task then fails.

        Raises:
            ConnectError: `errors.tolerance` is `none`. The task fails, even if the exception is swallowed.
        """
        return self.on_report(record, error)


class Reporter(Protocol):
    """The errant record reporter (KIP-610)."""

    def __call__(self, record: Record, error: Exception) -> None:
        """Report one record that the external system rejects, to the dead letter queue and the log.

        May be called from any thread, until the `write` or `stage` call that received the record returns. A record counts
        once, regardless of how often it is reported and of retries of its batch. The dead letter is in Kafka before the
        record's offset is committed.

        Raises:
            ConnectError: `errors.tolerance` is `none`, or `write` has returned already. The task fails and the record's
                offset is not committed, even if the exception is swallowed or a `RetriableError` is raised after it.
        """


class Writer(ABC):
    """Task half of a sink. One instance per process, reused across batches and called from one thread."""

    @abstractmethod
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """Write records. They must be durable on return, or finalized later by `Sink.commit`.

        Args:
            batches: records of one or more Kafka partitions, in order within each partition.
            report: reports single records that cannot be written.

        Returns:
            A message for `Sink.commit`, of JSON types and `bytes`; None for no message.

        Raises:
            RetriableError: the same records are written again after a back-off (limited by `sink.retry.timeout.ms`, not by
                `errors.retry.timeout`); in a Spark worker, after another `Sink.open`. No record may be partially written.
            Exception: the task fails.

        A writer that stores offsets with the records stores, for each partition in `batches`, the last record's offset + 1
        in the same transaction. It skips records before the stored offset and never decreases that offset, because a worker
        considered lost may still be running. It must not reject such records (`RetriableError`), because the same batch
        would be delivered repeatedly. Records passed to `report` reach the dead letter queue only after `write` returns. If
        a crash before that must not lose them, store offsets in `Sink.commit` instead.
        """

    def stage(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        """Write records to a location where they are not visible yet, to be published by `Sink.commit`.

        Called instead of `write` for a backlog, if the connector is `staged`. Several processes then stage parts of a batch,
        possibly of the same Kafka partition. A part consists of any number of `stage` calls followed by one `staged` call.
        A process may receive several parts of a batch, and may have exited before they are committed. The next `Sink.open`
        must discard records that were staged but not committed because their batch failed.

        Arguments and errors are the same as for `write`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not stage")

    def staged(self) -> Any:
        """Complete a part of the batch. Earlier parts may not be committed yet.

        Returns:
            A message for `Sink.commit`, which receives the messages of all parts in record order; None for no message.

        Raises:
            RetriableError, Exception: same as for `write`.
        """
        return None

    def close(self) -> None:
        """Release all resources. Called once, as the last method."""


class Sink(ABC):
    """Driver half of a sink."""

    def initialize(self, context: SinkTaskContext) -> None:
        """Receive the context of the task. Called once, before all other methods. The default does nothing."""

    def start(self) -> None:
        """Start the task. Called once, before partitions are assigned. May take up to an hour in a pod.

        Raises:
            RetriableError: the call is repeated after a back-off.
        """

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Prepare to write these partitions: at startup, when partitions are assigned, and after a failed batch.

        Returns:
            The offsets that this sink stored with its data, at which reading starts. Read them from the external system, not
            from memory. They override the consumer group's offsets and the task's current position.

        Raises:
            RetriableError: the call is repeated after a back-off, without calling `close` first.
        """
        return {}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Finalize the records written since the last commit.

        Args:
            messages: the values returned by `write` and `staged` since the last commit, in record order within each
                partition, without None.
            offsets: the next offset of each partition; every record before it was written, dropped or reported.

        Called at most once per second (more often if the worker's `offset.flush.interval.ms` is shorter), and only if
        records were written. If it returned less than `offsets`, it is called again without messages until it returns all
        of them: immediately when more records were written, otherwise after 1 s, 2 s, 4 s ... up to
        `offset.flush.interval.ms` (60 s).

        Returns:
            The offsets that may be committed to the consumer group: `offsets`, unless some records are not final yet. An
            offset greater than the one in `offsets` is ignored; a warning is logged once, and `commit` is called again for
            that partition only after more of its records were written.

        Raises:
            RetriableError: the call is repeated after a back-off with the same arguments; only once if the task has failed.
        """
        return offsets

    def attend(self) -> None:
        """Do periodic work that does not depend on new records. The default does nothing.

        Called between batches, several times per second while there is nothing to write, including while the task is
        paused.

        Raises:
            RetriableError: the task continues after a back-off.
            Exception: the task fails.
        """

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Stop writing these partitions, which may be opened again. Their written records have been committed.

        Records after the offsets that the last `commit` returned may be discarded: they are read again, unless `open`
        returns greater offsets.
        """

    def stop(self) -> None:
        """Release all resources. Called once, as the last method, even if `start` failed."""


class FrameSink(Sink):
    """Sink that accepts Spark DataFrames, for any Spark writer. It needs no `Writer`."""

    @property
    def ordered(self) -> bool:
        """Return whether the record order within a Kafka partition matters. The default is True.

        A frame has one schema, so a batch is split where the schema changes: records with the schemas v1, v2, v1 become
        three frames, each of which needs a Spark job. A sink that only appends should return False if order does not matter;
        it then receives two frames.
        """
        return True

    @abstractmethod
    def put_frame(self, frame: "DataFrame") -> None:
        """Write a batch or a part of it.

        The columns are the fields of a struct value; any other value becomes a single column named `value`. If `ordered`,
        the rows of each Kafka partition are in order within a frame and across frames: within a frame they are in one Spark
        partition. The rows must be durable on return; do not use the frame after that. After a failure the same
        records may be delivered again. A frame holds at most `max.poll.records` records (or, if that is not set,
        `batch.max.records`, at most 100,000), and about `batch.max.bytes`.
        """


class SinkConnector(Connector):
    """Plugin that writes to an external system."""

    single_writer: ClassVar[bool] = False
    """Whether a single process writes the whole batch, so that two processes never write concurrently."""

    buffering: ClassVar[bool] = False
    """Whether records stay in memory between `Writer.write` and `Sink.commit`, as in many Kafka Connect sinks.

    The writer runs in the process of the driver half. `Sink.commit` is called every `offset.flush.interval.ms` (60 s), on
    request (`SinkTaskContext.request_commit`) and before `close`. A paused partition resumes at the position it was read to.
    """

    staged: ClassVar[bool] = False
    """Whether writers in all processes stage a backlog (`Writer.stage`), which `Sink.commit` then publishes."""

    @property
    def kind(self) -> str:
        """Return `sink`."""
        return "sink"

    def writes_anywhere(self, config: Any) -> bool:
        """Return whether a writer can run on any machine, because it needs no file, socket or process of the driver.

        Called with a parsed `Config`. If True, executors write a backlog: in pods (`spec.spark.executors`), or on a Spark
        cluster (`penstock run --master`). The writers of a staged sink must then stage where the driver half can read it.
        The default, False, keeps all writers on the driver's machine. An executor that is cut off may continue writing for
        minutes after its batch was abandoned: with at-least-once delivery this causes duplicates; exactly-once delivery
        requires offsets stored with the data. For a `FrameSink`, the result applies to the Spark jobs that it starts: they
        run on executors, and Spark may run a task of such a job again when an executor is lost.
        """
        return False

    @abstractmethod
    def sink(self, config: Any) -> Sink:
        """Return the driver half for one task's parsed `Config`."""

    def writer(self, config: Any) -> Writer:
        """Return the task half. Not called for a `FrameSink`."""
        raise NotImplementedError(f"{type(self).__name__} has no writer for {type(config).__name__}")
