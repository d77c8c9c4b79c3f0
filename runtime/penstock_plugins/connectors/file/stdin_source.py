"""Standard input as a source: what FileStreamSource reads when no file is named, as Kafka Connect's connector does.

Nobody can go back in it, so offsets are null. A batch that fails comes again as long as the process lives; what a process
that is killed has read and not delivered is lost.
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
    """Reads the lines that have come, and never waits for more. The end of the input is not the end of the task.

    Args:
        topic: where the lines go.
        portion: the most lines that stand in one portion.
        file: the property as configured, null or empty: it names the source partition.
        descriptor: what is read.
    """

    def __init__(self, topic: str, portion: int, file: str | None, descriptor: int = 0) -> None:
        self._topic = topic
        self._portion = portion
        self._offsets: Offsets = {SourcePartition({"filename": file}): {"position": None}}
        self._descriptor = descriptor
        self._rest = bytearray()
        """A line that is not ended yet."""
        self._lines: list[str] = []
        """Those that are not delivered yet; of these so many are under way:"""
        self._delivered = 0
        self._ended = False

    def start(self, offsets: Offsets) -> None:
        """There is no place to go back to."""

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[RecordBatch, Offsets]]:
        """The lines that there are, and first those of a batch that failed."""
        self._fill(limits)
        ends = list(accumulate(map(len, self._lines[: limits.records])))
        self._delivered = min(len(ends), max(1, bisect_right(ends, limits.bytes)))
        for begin in range(0, self._delivered, self._portion):
            lines = self._lines[begin : min(begin + self._portion, self._delivered)]
            yield self._batch(lines), self._offsets

    def commit(self, offsets: Offsets) -> None:
        """The batch is delivered: forget its lines."""
        del self._lines[: self._delivered]
        self._delivered = 0

    def _fill(self, limits: Limits) -> None:
        size = sum(map(len, self._lines))
        while len(self._lines) < limits.records and size < limits.bytes:
            data = self._available()
            if not data:
                return
            size += len(data)
            self._split(data)

    def _available(self) -> bytes:
        """What has come; empty when nothing has."""
        try:
            ready, _, _ = select.select([self._descriptor], [], [], 0)
            if not ready:
                return b""
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:  # somebody else was faster
            return b""
        except OSError as e:
            raise RetriableError(f"Cannot read standard input: {e.strerror}.") from e
        if not data and not self._ended:
            self._ended = True
            log.info("Standard input is at its end; the task goes on, and reads what may come yet")
        return data

    def _split(self, data: bytes) -> None:
        begin = max(0, len(self._rest) - 1)  # a \r at the end is judged by the byte after it
        self._rest += data
        end = end_of_last_line(self._rest[begin:])
        if end:
            self._lines += texts_of(bytes(self._rest[: begin + end]))
            del self._rest[: begin + end]
        elif len(self._rest) > _LONGEST:
            raise ConnectError(
                f"A line of standard input has more than {_LONGEST >> 20} MiB and no end. Break the lines."
            )

    def _batch(self, lines: list[str]) -> RecordBatch:
        return RecordBatch(length=len(lines), topic=self._topic, value=lines, value_schema=STRING, owned=True)
