"""Counts and findings of a batch, as plain data that a Spark worker sends to the driver."""

from typing import Any, Final

import msgspec

from penstock_runtime.pipeline.error_tolerance import Failure, describe, printable
from penstock_runtime.plugins.plugin_metrics import Measure

__all__ = ["Summary", "decode", "encode", "error_line"]

_LOG_LINES: Final = 50
_COUNTS: Final = (
    "read",
    "written",
    "dropped",
    "bytes",
    "failures",
    "retries",
    "dead_letters",
    "dead_letters_lost",
    "logged",
)


class Summary(msgspec.Struct):
    """Counts and findings of one batch or a part of it.

    Attributes:
        read: records from the source, or from Kafka.
        written: records written to Kafka, or passed to the sink.
        dropped: records that transforms dropped.
        bytes: bytes of keys and values delivered (sink: read).
        failures: records that failed permanently; under tolerance `all` they were skipped.
        retries: attempts after the first.
        dead_letters: records sent to the dead letter queue.
        dead_letters_lost: dead letters that the queue did not accept.
        seconds: time by stage of work (read, transform, convert, deliver, commit).
        topics: every topic that records were written to (sink: read from).
        offsets: sink: the next offset of each partition, as [topic, partition, offset].
        messages: sink: messages that the writers returned.
        unfinished: sink: whether some of the records are not written; the rest must be read again, from `offsets` on.
        cause: stage and class of the last failure, without values of the record.
        logged: number of failures that belong in the log.
        log: lines about failures for the log, at most fifty.
        measures: measurements of a worker's plugins, which count even if the batch does not.
    """

    read: int = 0
    written: int = 0
    dropped: int = 0
    bytes: int = 0
    failures: int = 0
    retries: int = 0
    dead_letters: int = 0
    dead_letters_lost: int = 0
    logged: int = 0
    seconds: dict[str, float] = {}
    topics: list[str] = []
    offsets: list[tuple[str, int, int]] = []
    messages: list[Any] = []
    unfinished: bool = False
    cause: str = ""
    log: list[str] = []
    measures: list[Measure] = []

    def add(self, other: "Summary") -> None:
        """Add the counts and findings of another part of the batch."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for stage, seconds in other.seconds.items():
            self.add_time(stage, seconds)
        self.topics = sorted({*self.topics, *other.topics})
        self.offsets = [*self.offsets, *other.offsets]
        self.messages = [*self.messages, *other.messages]
        self.cause = other.cause or self.cause
        self.log = [*self.log, *other.log][:_LOG_LINES]

    def add_time(self, stage: str, seconds: float) -> None:
        """Add the time that a stage took."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def wrote_to(self, topic: object) -> None:
        """Add the topics to which records were written: one name for all records, or a list with one per record."""
        for name in {str(t) for t in topic} if isinstance(topic, list) else {str(topic)}:
            if name not in self.topics:
                self.topics.append(name)

    def failed(self, failure: Failure, where: str, *, log: bool, detail: str) -> None:
        """Record a failure that is skipped."""
        self.failures += 1
        self.cause = f"{failure.stage} ({failure.plugin}): {type(failure.error).__name__}"
        if log:
            self.logged += 1
            if len(self.log) < _LOG_LINES:
                self.log.append(error_line(failure, where, detail))


def error_line(failure: Failure, where: str, detail: str) -> str:
    """Return Kafka Connect's log line for a failed record, with the error."""
    return printable(
        f"Error encountered in task {where}. Executing stage '{failure.stage}' with class '{failure.plugin}'{detail}. "
        f"{describe(failure.error)}"
    )


def encode(summary: Summary) -> bytes:
    """Encode a summary."""
    return msgspec.msgpack.encode(summary)


def decode(data: bytes) -> Summary:
    """Decode a summary."""
    return msgspec.msgpack.decode(data, type=Summary)
