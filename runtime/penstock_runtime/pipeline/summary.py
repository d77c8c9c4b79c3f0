"""What a batch did, as plain data that travels from a Spark worker to the driver."""

from typing import Any, Final

import msgspec

from penstock_runtime.pipeline.record_errors import Failure, describe, printable
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
        written: records given to Kafka, or to the sink.
        dropped: records that transforms dropped.
        bytes: bytes of keys and values delivered (sink: read).
        failures: records that failed for good; under tolerance `all` they were passed over.
        retries: attempts after the first.
        dead_letters: records given to the dead letter queue.
        dead_letters_lost: those of them that it did not take.
        seconds: time by stage of work (read, transform, convert, deliver, commit).
        topics: every topic that records were written to (sink: read from).
        offsets: sink: the next offset of each partition, as [topic, partition, offset].
        messages: sink: what the writers returned.
        unfinished: sink: not all of what was given is written; the rest is to be read again, from `offsets` on.
        cause: what the last failure was, without values of the record.
        logged: failures that were to be written to the log.
        log: lines for the log, at most fifty.
        measures: what a worker's plugins have measured, which counts whatever becomes of the batch.
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
        """Take over what another part of the batch did."""
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
        """Time that a stage took."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def wrote_to(self, topic: object) -> None:
        """Topics that records went to: one, or one for each record."""
        for name in {str(t) for t in topic} if isinstance(topic, list) else {str(topic)}:
            if name not in self.topics:
                self.topics.append(name)

    def failed(self, failure: Failure, where: str, *, log: bool, detail: str) -> None:
        """A failure that is passed over."""
        self.failures += 1
        self.cause = f"{failure.stage} ({failure.plugin}): {type(failure.error).__name__}"
        if log:
            self.logged += 1
            if len(self.log) < _LOG_LINES:
                self.log.append(error_line(failure, where, detail))


def error_line(failure: Failure, where: str, detail: str) -> str:
    """Connect's line of the log for a record that failed, and what was raised."""
    return printable(
        f"Error encountered in task {where}. Executing stage '{failure.stage}' with class '{failure.plugin}'{detail}. "
        f"{describe(failure.error)}"
    )


def encode(summary: Summary) -> bytes:
    """A summary as bytes."""
    return msgspec.msgpack.encode(summary)


def decode(data: bytes) -> Summary:
    """A summary from its bytes."""
    return msgspec.msgpack.decode(data, type=Summary)
