"""Standard output as a sink: FileStreamSink writes to it if no file is configured, as Kafka Connect's connector does.

A task's standard output is part of its log, so this is meant for trials. Only the driver writes to it, because output
of Spark's workers gets into the log out of order: with a backlog the workers stage lines, and the driver prints them.
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
    """Driver half: prints staged lines."""

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Discard the lines that a failed batch has staged."""
        discard_staged(_PATH)
        return {}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Print staged lines. All others are printed already."""
        for message in messages:
            append_staged(_print, message["staged"], message["bytes"])
        if not messages:  # the backlog is over
            discard_staged(_PATH, only_free=True)
        return offsets

    def stop(self) -> None:
        """Discard staged lines."""
        discard_staged(_PATH)


class StdoutWriter(StagingWriter):
    """Task half: prints lines, or stages them."""

    def __init__(self) -> None:
        super().__init__(_PATH)

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        """Print the lines of all records."""
        _print(lines_of(batches))


def _print(lines: bytes | mmap) -> None:
    """Print complete lines and flush them, in pieces, because the log capture copies each piece several times."""
    start, size = 0, len(lines)
    try:
        while start < size:
            end = lines.rfind(b"\n", start, start + _AT_ONCE) + 1 or lines.find(b"\n", start) + 1 or size
            sys.stdout.buffer.write(lines[start:end])
            start = end
        sys.stdout.flush()
    except OSError as e:
        raise ConnectError(f"cannot write to standard output: {e.strerror}") from e
