"""Source connectors: from an external system to Kafka.

A source has two halves. The *driver half* runs in the task's driver from `start` to `stop`: it determines the end of the
next batch (`latest_offsets`) and splits the batch into partitions (`partitions`). The *task half* reads one partition: in
the driver for small batches, in Spark's Python workers for large ones. Only plain data passes between the halves.

Call order for each batch: `latest_offsets`, `partitions`, any number of `read` calls (in parallel, in several processes),
then `commit` after records and offsets are in Kafka. With `transaction.boundary=interval`, several batches precede one
`commit`, each planned from the end of the previous one. After a failed batch, the next `latest_offsets` call receives the
offsets stored in Kafka, which may precede those of the last call: start from them, not from the last record read. With
`transaction.boundary=connector`, a `PollingSource` ends the transactions itself (`TransactionEnd`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, TypeAlias

from penstock.batch import RecordBatch
from penstock.connector import Connector
from penstock.offsets import Offsets, OffsetUpdates
from penstock.record import Record

__all__ = [
    "Backlog",
    "InputPartition",
    "Limits",
    "PartitionReader",
    "PollingSource",
    "Portion",
    "Source",
    "SourceConnector",
    "TransactionEnd",
    "record_batches",
]


class TransactionEnd(Enum):
    """End of a transaction after a portion, with `transaction.boundary=connector` (KIP-618).

    Attributes:
        COMMIT: the records and offsets of the transaction become visible together.
        ABORT: the records never become visible, but the offsets are committed: the records are not read again, as in Kafka
            Connect.
    """

    COMMIT = "commit"
    ABORT = "abort"


Portion: TypeAlias = (
    tuple[RecordBatch | Sequence[Record], OffsetUpdates]
    | tuple[RecordBatch | Sequence[Record], OffsetUpdates, TransactionEnd | None]
)
"""Records of a `PollingSource`, the offsets after them, and optionally the end of their transaction."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum records and bytes of one batch. May be exceeded up to twofold; a single larger record is allowed."""

    records: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """Amount of data that a source has not read yet, in those units that are cheap to determine; None for the others.

    Attributes:
        records: number of records.
        bytes: number of bytes.
        seconds: age of the oldest record.
    """

    records: int | None = None
    bytes: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class InputPartition:
    """Part of a batch that one process reads in order.

    Attributes:
        data: arguments for `read`, of JSON types and `bytes`, because they are sent to another process.
        offsets: offsets of the source partitions after all records are delivered; None removes one. With exactly-once
            delivery, a source partition may occur in only one input partition of a batch, and its records and this offset
            are committed in one transaction.
        local: whether only the driver's process can read it, for example because of an open file or connection.
    """

    data: Mapping[str, Any]
    offsets: OffsetUpdates = field(default_factory=dict)
    local: bool = False


class PartitionReader(ABC):
    """Task half of a source. One instance per process, reused across batches and called from one thread."""

    @abstractmethod
    def read(self, partition: InputPartition) -> Iterator[RecordBatch | Sequence[Record]]:
        """Yield the records of a partition in order, in portions of a few thousand.

        The same partition must yield the same records every time, because a failed batch is read again.

        Raises:
            RetriableError: the batch is planned again after a back-off; the task stays running.
            Exception: the task fails.
        """

    def close(self) -> None:
        """Release all resources. Called once, as the last method."""


class Source(ABC):
    """Driver half of a source that knows its offsets before it reads."""

    @abstractmethod
    def start(self, offsets: Offsets) -> None:
        """Start reading at `offsets`: all source partitions of this connector in Kafka, including those of other tasks.

        Raises:
            RetriableError: the call is repeated after a back-off.
        """

    @abstractmethod
    def latest_offsets(self, start: Offsets, limits: Limits) -> OffsetUpdates:
        """Return the end offsets of the next batch.

        Source partitions without new records are absent or unchanged; None removes one. The method is called repeatedly,
        with adaptive pauses, and must return immediately when there are no new records.

        Raises:
            RetriableError: the call is repeated after a back-off; the task stays running.
        """

    @abstractmethod
    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Split the records between two offsets into partitions.

        Each changed offset of `end` belongs to exactly one partition. `end` is the result of `latest_offsets`, including its
        None values.
        """

    def backlog(self, offsets: Offsets) -> Backlog | None:
        """Return the amount of data after `offsets` in the external system, or None if unknown, the default.

        Called between batches, at most every ten seconds, for the metrics `penstock_source_task_backlog_*`. It delays the
        next batch, so it must return immediately. An exception counts as None.
        """
        return None

    def commit(self, offsets: Offsets) -> None:
        """Acknowledge records in the external system: those up to `offsets`, and their offsets, are committed in Kafka.

        A crash may prevent the call. It is never made before the records and offsets are committed.
        """

    def stop(self) -> None:
        """Release all resources. Called once, as the last method, even if `start` failed."""


class PollingSource(ABC):
    """Source that learns its offsets only while it reads. It runs entirely in the driver."""

    @abstractmethod
    def start(self, offsets: Offsets) -> None:
        """Start reading at `offsets`, like `Source.start`."""

    @abstractmethod
    def read(self, start: Offsets, limits: Limits) -> Iterator[Portion]:
        """Yield portions of records, each with the offsets after it, up to `limits` or the end.

        All records of one call form one batch, and one transaction with exactly-once delivery. A call that far exceeds
        `limits`, or takes half of `transaction.timeout.ms`, is ended between two portions (the generator is closed), if
        each portion came with its offsets; the next call starts there. After a failed batch, `start` holds the offsets
        stored in Kafka.

        If `context.defines_transactions`, a portion may have a `TransactionEnd` as its third element. The transaction that
        ends there started after the previous end, and may contain records of several calls. The call is ended after such a
        portion (the generator is closed), and the next one starts at the portion's offsets.

        Raises:
            RetriableError: the call is repeated after a back-off; portions yielded before are delivered.
        """

    def lost(self) -> None:
        """Discard the records yielded by `read` since the last `commit`: they did not reach Kafka.

        Called after a failed batch, or after a pause within a transaction that the source has not ended, possibly more than
        once, before the next `read`, whose `start` precedes those records. Only a source that keeps its own position needs
        this: offsets are not sufficient, because records may come without new ones. Must not raise.
        """

    def backlog(self, offsets: Offsets) -> Backlog | None:
        """Return the amount of data after `offsets` in the external system, like `Source.backlog`."""
        return None

    def commit(self, offsets: Offsets) -> None:
        """Acknowledge records, like `Source.commit`."""

    def stop(self) -> None:
        """Release all resources, like `Source.stop`."""


class SourceConnector(Connector):
    """Plugin that reads from an external system."""

    read_ahead: ClassVar[bool] = True
    """Whether a separate thread reads the next portion while the previous one is delivered. This helps when reading waits
    for the external system; set it to False when reading is bound by the CPU. The reader is created, used and closed in that
    thread."""

    @property
    def kind(self) -> str:
        """Return `source`."""
        return "source"

    def exactly_once(self, config: Any) -> bool:
        """Return whether reading from the same offset yields the same records, as exactly-once delivery requires.

        Called with a parsed `Config`. With `exactly.once.support=required`, a connector that returns False is rejected.
        """
        return True

    def can_define_transaction_boundaries(self, config: Any) -> bool:
        """Return whether the source is a `PollingSource` that can end its transactions itself (`TransactionEnd`).

        Called with a parsed `Config`. `transaction.boundary=connector` is rejected if False, the default.
        """
        return False

    def reads_anywhere(self, config: Any) -> bool:
        """Return whether a reader can run on any machine, because it needs no file, socket or process of the driver.

        Called with a parsed `Config`. If True, executors read a backlog: in pods (`spec.spark.executors`), or on a Spark
        cluster (`penstock run --master`). The default, False, keeps all readers on the driver's machine.
        """
        return False

    def standard_input(self, config: Any) -> str | None:
        """Return the property whose absence makes the source read standard input, or None if it never does.

        Called with a parsed `Config`. `penstock run` passes its standard input to one such task. In a pod, standard input is
        empty, and the plan contains a warning.
        """
        return None

    @abstractmethod
    def source(self, config: Any) -> Source | PollingSource:
        """Return the driver half for one task's parsed `Config`."""

    def reader(self, config: Any) -> PartitionReader:
        """Return the task half. Not called for a `PollingSource`."""
        raise NotImplementedError(f"{type(self).__name__} has no reader for {type(config).__name__}")


def record_batches(portions: Iterable[RecordBatch | Sequence[Record]]) -> Iterator[RecordBatch]:
    """Convert the portions of a reader to record batches, without empty ones."""
    for portion in portions:
        if len(portion):
            yield portion if isinstance(portion, RecordBatch) else RecordBatch.of(portion)
