"""Source connectors: from an outside system to Kafka.

A source has two halves. The *driver half* lives in the task's driver from `start` to `stop`: it says how far there is
something to read (`latest_offsets`) and cuts that into partitions (`partitions`). The *task half* reads one partition:
in the driver when there is little, in Spark's Python workers when there is much. What passes between them is plain data.

For each batch, in this order: `latest_offsets`, `partitions`, any number of `read`s (in parallel, in several processes),
then `commit` once records and offsets are in Kafka. With `transaction.boundary=interval` several batches go before one
`commit`, each planned from the end of the one before. After a batch that failed, the next `latest_offsets` gets the offsets
that Kafka holds. They may lie before those of the last call: start from them, not from the record that was read last.
With `transaction.boundary=connector` a `PollingSource` ends the transactions itself (`TransactionEnd`).
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
    """How a source ends its transaction after a portion, with `transaction.boundary=connector` (KIP-618).

    Attributes:
        COMMIT: its records and offsets become visible, together.
        ABORT: its records never do, but its offsets are committed: they are not read again, as in Kafka Connect.
    """

    COMMIT = "commit"
    ABORT = "abort"


Portion: TypeAlias = (
    tuple[RecordBatch | Sequence[Record], OffsetUpdates]
    | tuple[RecordBatch | Sequence[Record], OffsetUpdates, TransactionEnd | None]
)
"""Records of a `PollingSource`, the offsets after them, and perhaps the end of the transaction that they are in."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most records and bytes of one batch. Keep to them within a factor of two; a single larger record is allowed."""

    records: int
    bytes: int


@dataclass(frozen=True, slots=True)
class InputPartition:
    """A part of a batch that one process reads in order.

    Attributes:
        data: what `read` needs, of the types that JSON has and `bytes`, since it is sent to another process.
        offsets: of its source partitions once all of its records are delivered; None removes one. With exactly once, a
            source partition occurs in one input partition of a batch at most, and its records and this offset are
            committed in one transaction.
        local: only the process of the driver half can read it (it holds an open file, a connection).
    """

    data: Mapping[str, Any]
    offsets: OffsetUpdates = field(default_factory=dict)
    local: bool = False


class PartitionReader(ABC):
    """The task half of a source. Its process keeps it from batch to batch, and uses it in one thread."""

    @abstractmethod
    def read(self, partition: InputPartition) -> Iterator[RecordBatch | Sequence[Record]]:
        """The records of a partition, in order, in portions of some thousands.

        The same partition must give the same records each time: a batch that failed is read again, and must be the same.

        Raises:
            RetriableError: the batch is planned again after a back-off; the task stays running.
            Exception: the task fails.
        """

    def close(self) -> None:
        """Release all resources. Called once; nothing is called after it."""


class Source(ABC):
    """The driver half of a source that knows its offsets before it reads."""

    @abstractmethod
    def start(self, offsets: Offsets) -> None:
        """Start. `offsets` holds all source partitions of this connector that Kafka has, those of other tasks included.

        Raises:
            RetriableError: the call is repeated after a back-off.
        """

    @abstractmethod
    def latest_offsets(self, start: Offsets, limits: Limits) -> OffsetUpdates:
        """The end offsets of the next batch.

        Source partitions with nothing new are absent or unchanged; None removes one. The method is called repeatedly, with
        adaptive pauses, and must return at once when there is nothing new.

        Raises:
            RetriableError: the call is repeated after a back-off; the task stays running.
        """

    @abstractmethod
    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Cut the records between two offsets into partitions.

        Each changed offset of `end` belongs to one of the partitions. `end` is the result of `latest_offsets`, with its
        None values.
        """

    def commit(self, offsets: Offsets) -> None:
        """Acknowledge records outside, if needed: those up to `offsets` are in Kafka, and their offsets committed.

        The call may be missing after a crash. It never comes too early.
        """

    def stop(self) -> None:
        """Release all resources. Called once, also after a failure in `start`; nothing is called after it."""


class PollingSource(ABC):
    """A source that knows its offsets only while it reads. All of it runs in the driver."""

    @abstractmethod
    def start(self, offsets: Offsets) -> None:
        """As `Source.start`."""

    @abstractmethod
    def read(self, start: Offsets, limits: Limits) -> Iterator[Portion]:
        """Portions of records, each with the offsets that hold once it is delivered, up to `limits` or the end.

        All records of one call are one batch, in one transaction with exactly once. A call that goes far beyond `limits`, or
        takes half of `transaction.timeout.ms`, is ended between two portions (the generator is closed), if each portion came
        with its offsets; the next call starts there. After a batch that failed, `start` is what Kafka holds.

        Where `context.defines_transactions`, a portion may have a `TransactionEnd` as its third part. The transaction that
        ends there began after the end before it, and may hold records of several calls. The call is ended after such a
        portion (the generator is closed), and the next one starts at the portion's offsets.

        Raises:
            RetriableError: the call is repeated after a back-off; portions that were yielded before are delivered.
        """

    def lost(self) -> None:
        """Forget the records that `read` has yielded since the last `commit`: they did not reach Kafka.

        Called after a batch that failed, or a pause within a transaction that the source has not ended, possibly more than
        once, before the next `read`, whose `start` lies before those records. Only a source that keeps a position of its own
        needs this: offsets do not always tell, because records may come without new ones. It must not raise.
        """

    def commit(self, offsets: Offsets) -> None:
        """As `Source.commit`."""

    def stop(self) -> None:
        """As `Source.stop`."""


class SourceConnector(Connector):
    """A plugin that reads from an outside system."""

    read_ahead: ClassVar[bool] = True
    """Whether a separate thread reads the next portion while the one before is delivered. That pays where reading waits for
    the outside system; set False where reading is only work for the CPU. The reader is made, used and closed in that
    thread."""

    @property
    def kind(self) -> str:
        """`source`."""
        return "source"

    def exactly_once(self, config: Any) -> bool:
        """Whether reading from an offset again gives the same records, which exactly once needs.

        Called with a `Config` that parsed. `exactly.once.support=required` refuses a connector that returns False.
        """
        return True

    def can_define_transaction_boundaries(self, config: Any) -> bool:
        """Whether the source is a `PollingSource` that ends its transactions itself (`TransactionEnd`) when it is asked to.

        Called with a `Config` that parsed. `transaction.boundary=connector` is refused where it is False, the default.
        """
        return False

    def reads_anywhere(self, config: Any) -> bool:
        """Whether a reader finds everything from any machine: it needs no file, socket or process of the driver's.

        Called with a `Config` that parsed. Where it is True, `penstock run --master` has a backlog read by the executors of
        a Spark cluster. The default, False, keeps all readers on the driver's machine.
        """
        return False

    def standard_input(self, config: Any) -> str | None:
        """The property whose absence makes the source read standard input; None if it does not read it.

        Called with a `Config` that parsed. `penstock run` passes its standard input on to one such task. In a pod standard
        input is empty, and the plan warns of that.
        """
        return None

    @abstractmethod
    def source(self, config: Any) -> Source | PollingSource:
        """The driver half, for one task's parsed `Config`."""

    def reader(self, config: Any) -> PartitionReader:
        """The task half. Not called for a `PollingSource`."""
        raise NotImplementedError(f"{type(self).__name__} has no reader for {type(config).__name__}")


def record_batches(portions: Iterable[RecordBatch | Sequence[Record]]) -> Iterator[RecordBatch]:
    """What a reader yields, as record batches; empty portions are left out."""
    for portion in portions:
        if len(portion):
            yield portion if isinstance(portion, RecordBatch) else RecordBatch.of(portion)
