"""Source connectors: from an outside system to Kafka.

A source has two halves. The *driver half* lives in the task's driver from `start` to `stop`: it says how far there is
something to read (`latest_offsets`) and cuts that into partitions (`partitions`). The *task half* reads one partition:
in the driver when there is little, in Spark's Python workers when there is much. What passes between them is plain data.

For each batch, in this order: `latest_offsets`, `partitions`, any number of `read`s (in parallel, in several processes),
then `commit` once records and offsets are in Kafka. With `transaction.boundary=interval` several batches go before one
`commit`, each planned from the end of the one before. After a batch that failed, the next `latest_offsets` gets the offsets
that Kafka holds, which may lie before those of the last call: go by them, not by what was read last.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.batch import RecordBatch
from penstock.connector import Connector
from penstock.offsets import Offsets, OffsetUpdates
from penstock.record import Record

__all__ = [
    "InputPartition",
    "Limits",
    "PartitionReader",
    "PollingSource",
    "Source",
    "SourceConnector",
    "record_batches",
]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one batch should hold at most. Keep to them within a factor of two; a single larger record may pass."""

    records: int
    bytes: int


@dataclass(frozen=True, slots=True)
class InputPartition:
    """A part of a batch that one process reads in order.

    Attributes:
        data: what `read` needs, as JSON would hold it (`bytes` are allowed): it travels to another process.
        offsets: where its source partitions stand once all of its records are delivered; None forgets one. Exactly
            once, a source partition occurs in one input partition of a batch at most, and its records and this offset
            are committed in one transaction.
        local: only the process of the driver half can read it (it holds an open file, a connection).
    """

    data: Mapping[str, Any]
    offsets: OffsetUpdates = field(default_factory=dict)
    local: bool = False


class PartitionReader(ABC):
    """The task half of a source. Kept by its process from batch to batch; used by one thread."""

    @abstractmethod
    def read(self, partition: InputPartition) -> Iterator[RecordBatch | Sequence[Record]]:
        """The records of a partition, in order, in portions of some thousands.

        The same partition read again gives the same records, or a batch that failed would not be repeated exactly.

        Raises:
            RetriableError: the batch is planned again after a while; the task stays running.
            Exception: the task fails.
        """

    def close(self) -> None:
        """Let go of everything. Called once, nothing is called after it."""


class Source(ABC):
    """The driver half of a source that knows its offsets before it reads."""

    @abstractmethod
    def start(self, offsets: Offsets) -> None:
        """Begin. `offsets` holds every source partition of this connector (all tasks) that Kafka knows.

        Raises:
            RetriableError: called again after a back-off.
        """

    @abstractmethod
    def latest_offsets(self, start: Offsets, limits: Limits) -> OffsetUpdates:
        """Up to where the next batch may go; partitions with nothing new are absent or unchanged, None forgets one.

        Called again and again, with adaptive pauses in between: must return at once when there is nothing.

        Raises:
            RetriableError: called again after a back-off; the task stays running.
        """

    @abstractmethod
    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Cut what lies between into partitions; each of `end`'s changed offsets belongs to one of them.

        `end` is what `latest_offsets` has answered, None where that said so.
        """

    def commit(self, offsets: Offsets) -> None:
        """Records up to here are in Kafka and their offsets committed: acknowledge them outside, if need be.

        May be missing after a crash; never comes early.
        """

    def stop(self) -> None:
        """Let go of everything. Called once, also after a failure in `start`; nothing is called after it."""


class PollingSource(ABC):
    """A source that knows its offsets only while it reads, and so lives in the driver as a whole."""

    @abstractmethod
    def start(self, offsets: Offsets) -> None:
        """Begin; as `Source.start`."""

    @abstractmethod
    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[RecordBatch | Sequence[Record], OffsetUpdates]]:
        """Records and the offsets that hold once they are delivered, until `limits` or until there is nothing for now.

        All of one call is one batch, in one transaction when exactly once. A call that goes far beyond `limits`, or takes
        half of `transaction.timeout.ms`, is ended between two portions (the generator is closed), provided that each
        portion came with its offsets; the next one begins there. After a batch that failed, `start` is what Kafka holds,
        and reading begins there.

        Raises:
            RetriableError: called again after a back-off; what was yielded before is delivered.
        """

    def commit(self, offsets: Offsets) -> None:
        """As `Source.commit`."""

    def stop(self) -> None:
        """As `Source.stop`."""


class SourceConnector(Connector):
    """A plugin that reads from an outside system."""

    read_ahead: ClassVar[bool] = True
    """Whether a thread of its own reads the next portion while the one before is delivered: right where reading waits for
    the outside. The reader is then made, used and closed in that thread. False where reading is only work for the CPU."""

    @property
    def kind(self) -> str:
        """`source`."""
        return "source"

    def exactly_once(self, config: Any) -> bool:
        """Whether reading from an offset again gives the same records, so that exactly once can be had.

        Asked with a `Config` that parsed; `exactly.once.support=required` refuses a connector that cannot.
        """
        return True

    def standard_input(self, config: Any) -> str | None:
        """The property that is not set where standard input is read in its place; None where that is not read.

        Asked with a `Config` that parsed. `penstock run` passes its own standard input on to one such task; in a pod it is
        empty, and the plan warns.
        """
        return None

    @abstractmethod
    def source(self, config: Any) -> Source | PollingSource:
        """The driver half, for one task's parsed `Config`."""

    def reader(self, config: Any) -> PartitionReader:
        """The task half. Not asked of a `PollingSource`."""
        raise NotImplementedError(f"{type(self).__name__} has no reader for {type(config).__name__}")


def record_batches(portions: Iterable[RecordBatch | Sequence[Record]]) -> Iterator[RecordBatch]:
    """What a reader yields, as record batches; empty portions are left out."""
    for portion in portions:
        if len(portion):
            yield portion if isinstance(portion, RecordBatch) else RecordBatch.of(portion)
