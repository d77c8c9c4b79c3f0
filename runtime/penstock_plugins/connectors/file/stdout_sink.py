"""Standard output as a sink: where FileStreamSink writes when no file is named, as Kafka Connect's connector does.

A task's standard output is a part of its log, so this is for trying things out. Only the driver writes there, since what
Spark's workers print comes into the log in no order: of a backlog they make lines ready, and the driver appends them.
"""

import sys
from collections.abc import Mapping, Sequence
from mmap import mmap
from typing import Any, Final

from penstock import ConnectError, RecordBatch, Reporter, Sink, TopicPartition
from penstock_plugins.connectors.file.record_lines import lines_of
from penstock_plugins.connectors.file.staging import StagingWriter, append_staged, discard_staged

__all__ = ["StdoutSink", "StdoutWriter"]

_PATH: Final = ""
_AT_ONCE: Final = 64 << 10  # bytes


class StdoutSink(Sink):
    """The driver half: prints what was staged."""

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """What a batch that failed has staged is void."""
        discard_staged(_PATH)
        return {}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Print what was staged; what was not is printed by now."""
        for message in messages:
            append_staged(_print, message["staged"], message["bytes"])
        if not messages:  # the backlog is over
            discard_staged(_PATH, only_free=True)
        return offsets

    def stop(self) -> None:
        """Forget what was staged."""
        discard_staged(_PATH)


class StdoutWriter(StagingWriter):
    """The task half: prints, or stages."""

    def __init__(self) -> None:
        super().__init__(_PATH)

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        """Print the lines of all records."""
        _print(lines_of(batches))


def _print(lines: bytes | mmap) -> None:
    """Print whole lines and see to it that they are out; in pieces, as the log would hold all of them several times."""
    start, size = 0, len(lines)
    try:
        while start < size:
            end = lines.rfind(b"\n", start, start + _AT_ONCE) + 1 or lines.find(b"\n", start) + 1 or size
            sys.stdout.buffer.write(lines[start:end])
            start = end
        sys.stdout.flush()
    except OSError as e:
        raise ConnectError(f"Cannot write to standard output: {e.strerror}.") from e
