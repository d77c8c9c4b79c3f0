"""Standard input as a source: FileStreamSource reads it if no file is configured, as Kafka Connect's connector does.

Standard input cannot be read again, so offsets are null. A failed batch is repeated while the process runs; lines that
were read but not delivered are lost if the process is killed.
"""

import logging
import os
import select
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from penstock import ConnectError, Limits, Offsets, PollingSource, RecordBatch, RetriableError, SourcePartition
from penstock.schema import STRING
from penstock_plugins.connectors.file.lines import end_of_last_line, texts_of

__all__ = ["StdinSource"]

log = logging.getLogger(__name__)
_CHUNK: Final = 64 << 10  # bytes
_LONGEST: Final = 64 << 20  # bytes


class StdinSource(PollingSource):
    """Source that reads the available lines, and never waits for more. The task continues after the end of the input.

    Args:
        topic: topic of the records.
        portion: maximum number of lines in one portion.
        file: the property `file` as configured, null or empty: it is part of the source partition.
        descriptor: descriptor to read from.
    """

    def __init__(self, topic: str, portion: int, file: str | None, descriptor: int = 0) -> None:
        self._topic = topic
        self._portion = portion
        self._offsets: Offsets = {SourcePartition({"filename": file}): {"position": None}}
        self._descriptor = descriptor
        self._incomplete = bytearray()
        """Beginning of a line that is not complete yet."""
        self._lines: list[str] = []
        """Lines that are not delivered yet."""
        self._in_batch = 0
        """Number of lines at the beginning of `_lines` that the current batch contains."""
        self._ended = False

    def start(self, offsets: Offsets) -> None:
        """Do nothing: standard input has no positions."""

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[RecordBatch, Offsets]]:
        """Yield the available lines; those of a failed batch come first."""
        self._fill(limits)
        ends = list(accumulate(map(len, self._lines[: limits.records])))
        self._in_batch = min(len(ends), max(1, bisect_right(ends, limits.bytes)))
        for begin in range(0, self._in_batch, self._portion):
            lines = self._lines[begin : min(begin + self._portion, self._in_batch)]
            yield self._batch(lines), self._offsets

    def commit(self, offsets: Offsets) -> None:
        """Drop the lines of the delivered batch."""
        del self._lines[: self._in_batch]
        self._in_batch = 0

    def _fill(self, limits: Limits) -> None:
        size = sum(map(len, self._lines))
        while len(self._lines) < limits.records and size < limits.bytes:
            data = self._available()
            if not data:
                return
            size += len(data)
            self._split(data)

    def _available(self) -> bytes:
        """Return the available bytes; empty if there are none."""
        try:
            ready, _, _ = select.select([self._descriptor], [], [], 0)
            if not ready:
                return b""
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:  # another process has read them
            return b""
        except OSError as e:
            raise RetriableError(f"cannot read standard input: {e.strerror}") from e
        if not data and not self._ended:
            self._ended = True
            log.info("Standard input is at its end; the task continues and reads later input")
        return data

    def _split(self, data: bytes) -> None:
        begin = max(0, len(self._incomplete) - 1)  # a \r at the end needs the byte after it
        self._incomplete += data
        end = end_of_last_line(self._incomplete[begin:])
        if end:
            self._lines += texts_of(bytes(self._incomplete[: begin + end]))
            del self._incomplete[: begin + end]
        elif len(self._incomplete) > _LONGEST:
            raise ConnectError(
                f"cannot read standard input: a line is longer than {_LONGEST >> 20} MiB; send shorter lines"
            )

    def _batch(self, lines: list[str]) -> RecordBatch:
        return RecordBatch(length=len(lines), topic=self._topic, value=lines, value_schema=STRING, owned=True)
