"""Sink connectors: from Kafka to an outside system.

A sink has two halves, as Spark's own writers have. The *task half* (`Writer`) writes records: in the driver when there
are few, in Spark's Python workers when there are many. The *driver half* (`Sink`) makes a batch final: `commit` gets the
messages of all writers and the offsets reached, and returns the offsets that may be committed to Kafka.

Order: `initialize`, `start`, `open`, then per batch any number of `write`s and one `commit`; `open`/`close` again when
partitions are added or removed; at the end `commit`, `close`, `stop`. A batch may fail after parts of it were written (a
worker was lost, Kafka refused a dead letter). It is then written again, after `commit` for the batches before it, and after
`close` and `open` of all partitions. `close` always comes after the `commit` of what was written.

Delivery is at least once: after a failure the records since the last committed offsets come again. A sink that stores
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
    """The task that a sink writes for. Use it in names of things outside that belong to this task alone.

    The driver half alone has it (`Sink.initialize`): what writers find out reaches it by their messages to `Sink.commit`.

    Attributes:
        connector: the Connect name of the connector.
        task: the number of the task, from 0.
        life: names this start of the task, in letters, digits and `-`. A later start has a greater one, compared as text.
        on_pause: is called by `pause`.
        on_resume: is called by `resume`.
        on_seek: is called by `seek`.
        on_commit: is called by `request_commit`.
        on_report: is called by `report`.
    """

    connector: str
    task: int
    life: str
    on_pause: Callable[[Sequence[TopicPartition]], None] = field(default=lambda of: None, compare=False, repr=False)
    on_resume: Callable[[Sequence[TopicPartition]], None] = field(default=lambda of: None, compare=False, repr=False)
    on_seek: Callable[[Mapping[TopicPartition, int | None]], None] = field(
        default=lambda to: None, compare=False, repr=False
    )
    on_commit: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)
    on_report: Callable[[Record, Exception], "Future[None]"] = field(default=_completed, compare=False, repr=False)

    def pause(self, *partitions: TopicPartition) -> None:
        """Read no more of these partitions, and go on with the others, as the method of Kafka Connect does.

        It holds from the next batch on, until `resume` or until `close` gets the partition. May be called in any thread.
        Records that were written since, or that `Sink.commit` has not returned the offset of, are not lost: it is called
        for them first, and what it does not let be committed then is read again after `resume`. While partitions are
        paused, `Sink.commit` is called now and then though nothing new was written: after 1 s, 2 s, 4 s ... up to
        `offset.flush.interval.ms`.

        Raises:
            ConnectError: a partition is not assigned to the task.
        """
        self.on_pause(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Read these partitions again, from where they stood. Nothing happens to one that is not paused.

        Raises:
            ConnectError: a partition is not assigned to the task.
        """
        self.on_resume(partitions)

    def seek(self, to: Mapping[TopicPartition, int | None]) -> None:
        """Read on from these offsets, from the next batch on, as `offset` of Kafka Connect's context does.

        None is the offset that was committed last. Partitions that the task does not have are passed over. May be called in
        any thread.
        """
        self.on_seek(to)

    def request_commit(self) -> None:
        """Call `Sink.commit` before the next batch, as `requestCommit` of Kafka Connect does. In any thread."""
        self.on_commit()

    def report(self, record: Record, error: Exception) -> "Future[None]":
        """Hand back a record that the outside system refuses, also after the `write` that got it has returned.

        As the `Reporter` of a `write`, but from `open` to `close` of the record's partition and in any thread. `original`
        of the record says which one it is. Nothing of its partition is committed before its dead letter is in Kafka.

        Returns:
            A future that is done when the dead letter is in Kafka. It raises a `ConnectError` if that cannot be; the task
            fails then.

        Raises:
            ConnectError: `errors.tolerance` is `none`. The task fails, even if the exception is swallowed.
        """
        return self.on_report(record, error)


class Reporter(Protocol):
    """The errant record reporter (KIP-610)."""

    def __call__(self, record: Record, error: Exception) -> None:
        """Hand back one record that the outside system refuses: to the dead letter queue and the log.

        May be called from any thread, until the `write` or `stage` that got it returns. A record counts once,
        however often it is handed back, and for all tries of its batch. The dead letter is in Kafka before the record's
        offset is committed.

        Raises:
            ConnectError: `errors.tolerance` is `none`, or `write` has returned already. The task fails and the record's
                offset is not committed, even if the exception is swallowed or a `RetriableError` is raised after it.
        """


class Writer(ABC):
    """The task half of a sink. Its process keeps it from batch to batch, and uses it in one thread."""

    @abstractmethod
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """Write records: durable on return, or staged until the driver half's `commit`.

        Args:
            batches: the records of one or more Kafka partitions; those of one partition are in order.
            report: hands back single records that cannot be written.

        Returns:
            A message for `Sink.commit`, of the types that JSON has and `bytes`; None for no message.

        Raises:
            RetriableError: the same records are written again after a back-off (`sink.retry.timeout.ms` bounds it, not
                `errors.retry.timeout`); in a worker of Spark after a `Sink.open`. No record may be half written.
            Exception: the task fails.

        A writer that stores offsets with the records stores the last one's offset + 1 for each partition of `batches`, in
        one transaction with them, and passes over the records before the offset that is stored, which it never sets back: a
        worker that counts as lost may still be running. It does not refuse them (`RetriableError`), because it would be
        given the same batch again and again. Records that it hands back by `report` reach the dead letter queue only after
        `write`. If a crash between the two must not lose them, store offsets in `Sink.commit`.
        """

    def stage(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        """Write records to a place where they are not visible yet, for `Sink.commit` to make them final.

        Called in place of `write` for a backlog, if the connector is `staged`. Several processes then stage parts of a
        batch, also of one Kafka partition. A part is any number of calls of `stage`, then one of `staged`. One process may
        be given several parts of a batch, and may have ended before they are committed. What was staged and not committed,
        because its batch failed, must be discarded by the next `Sink.open`.

        Arguments and errors are those of `write`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not stage")

    def staged(self) -> Any:
        """Complete a part of the batch. Parts before it may not be committed yet.

        Returns:
            A message for `Sink.commit`, which gets those of all parts in the order of their records; None for no message.

        Raises:
            RetriableError, Exception: as `write`.
        """
        return None

    def close(self) -> None:
        """Release all resources. Called once; nothing is called after it."""


class Sink(ABC):
    """The driver half of a sink."""

    def initialize(self, context: SinkTaskContext) -> None:
        """Get to know the task. Called once, before all other methods. The default does nothing."""

    def start(self) -> None:
        """Start. Called once, before any partition is known. May take an hour in a pod.

        Raises:
            RetriableError: the call is repeated after a back-off.
        """

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Prepare to write these partitions: at the start, when partitions are added, and after a batch that failed.

        Returns:
            The offsets that this sink stored with its data, to start from. Read them where they are stored, not from memory.
            They override the consumer group's offsets and the position that the task itself has reached.

        Raises:
            RetriableError: the call is repeated after a back-off, without a `close` between.
        """
        return {}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Make what was written final.

        Args:
            messages: what `write` and `staged` have returned since the last commit, in the order of the records of each
                partition, None left out.
            offsets: the next offset of each partition; every record before it was written, dropped or handed back.

        Called at most once a second (sooner where the worker's `offset.flush.interval.ms` is shorter) while something new
        was written, and otherwise not at all. If it returned less than `offsets`, it is called again without messages,
        until it returns all: at once when something new was written, otherwise after 1 s, 2 s, 4 s ... up to
        `offset.flush.interval.ms` (60 s).

        Returns:
            The offsets that may be committed to the consumer group: `offsets`, unless some records are not final yet. An
            offset beyond the one in `offsets` is ignored; the log warns of it once, and `commit` is called again for
            that partition only when something new was written of it.

        Raises:
            RetriableError: the call is repeated after a back-off with the same arguments; once only if the task has failed.
        """
        return offsets

    def attend(self) -> None:
        """Do what is due though nothing was written. The default does nothing.

        Called between two batches, several times a second while there is nothing to write, also while the task is paused.

        Raises:
            RetriableError: the task goes on after a back-off.
            Exception: the task fails.
        """

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """End the work on these partitions, which may be opened again. What was written of them is committed before.

        Records beyond what the last `commit` returned may be discarded: they are read again, unless `open` returns greater
        offsets.
        """

    def stop(self) -> None:
        """Release all resources. Called once, also after a failure in `start`; nothing is called after it."""


class FrameSink(Sink):
    """A sink that takes a Spark DataFrame, for any Spark writer. It needs no `Writer`."""

    @property
    def ordered(self) -> bool:
        """Whether the order of the records of a Kafka partition matters. The default is True.

        A frame has one schema, so a batch is cut where the schema changes: records with the schemas v1, v2, v1 are three
        frames, each of which costs a Spark job. A sink that only appends, and for which the order does not matter, returns
        False and gets two.
        """
        return True

    @abstractmethod
    def put_frame(self, frame: "DataFrame") -> None:
        """Write one batch, or a part of it.

        The columns are the fields of a struct value; any other value is the one column `value`. The rows of each Kafka
        partition are in order, within a frame and from one frame to the next, if `ordered`: within a frame they lie in one
        partition of Spark's. The rows must be durable on return, and the frame is of no use afterwards. After a failure the
        same records may come again. A frame holds no more records than `max.poll.records` (else `batch.max.records`, 100,000
        at most), and about `batch.max.bytes`.
        """


class SinkConnector(Connector):
    """A plugin that writes to an outside system."""

    single_writer: ClassVar[bool] = False
    """Whether the whole batch is written by one process, so that two processes never write at once."""

    buffering: ClassVar[bool] = False
    """Whether records stay in memory between `Writer.write` and `Sink.commit`, as in many sinks of Kafka Connect.

    Its writer works in the process of the driver half. `Sink.commit` is called every `offset.flush.interval.ms` (60 s), when
    it is asked for (`SinkTaskContext.request_commit`) and before `close`. A partition that it pauses goes on where it was
    read to.
    """

    staged: ClassVar[bool] = False
    """Whether writers stage a backlog (`Writer.stage`) in all processes, for `Sink.commit` to make it final."""

    @property
    def kind(self) -> str:
        """`sink`."""
        return "sink"

    def writes_anywhere(self, config: Any) -> bool:
        """Whether a writer reaches the outside from any machine: it needs no file, socket or process of the driver's.

        Called with a `Config` that parsed. Where it is True, `penstock run --master` has a backlog written by the executors
        of a Spark cluster; those of a staged sink must stage where the driver half finds it. The default, False, keeps all
        writers on the driver's machine. An executor that is cut off may write on for minutes after its batch was given
        up: at least once doubles that; exactly once takes offsets that are stored with the data. Of a `FrameSink` the jobs
        are meant that it has Spark do: they run on executors, and Spark may run a part of one again when one is lost.
        """
        return False

    @abstractmethod
    def sink(self, config: Any) -> Sink:
        """The driver half, for one task's parsed `Config`."""

    def writer(self, config: Any) -> Writer:
        """The task half. Not called for a `FrameSink`."""
        raise NotImplementedError(f"{type(self).__name__} has no writer for {type(config).__name__}")
