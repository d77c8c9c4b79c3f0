r"""Where lines end in a file or in a block of bytes, and the lines up to there.

Ends as Kafka Connect's file source knows them: `\n`, `\r\n` and a lone `\r`; a `\r` that is the last byte there is may yet
become a `\r\n` and waits. Only ends are looked for when a batch is planned; texts are made when it is read.
"""

import os
from collections.abc import Iterator
from typing import Final

from penstock import Limits, RetriableError

__all__ = ["end_of_last_line", "split_lines", "texts_of", "whole_lines"]

_SAMPLE: Final = 64 << 10  # bytes
_FAR: Final = 1 << 20  # bytes
_CHUNK: Final = 128 << 10
"""Bytes; memory for larger blocks comes fresh from the system each time, which takes as long as making the lines."""


def whole_lines(fd: int, start: int, size: int, limits: Limits, looked: int = 0) -> int:
    """Where the last whole line ends that begins at `start` or later and that `limits` still admit.

    A first line that is larger than the limits is found whole. The number of records is held to by the mean length of
    the lines in the first 64 KiB.

    Args:
        fd: an open file; its own position is neither used nor moved.
        start: where a line begins.
        size: nothing behind this place counts.
        limits: of the batch.
        looked: from `start` up to here there is no end of a line, as an earlier call has found.

    Returns:
        A place in the file; `start` when no line is whole.
    """
    room = min(size - start, limits.bytes)
    sample = os.pread(fd, min(room, _SAMPLE), start)
    count = sample.count(b"\n") or sample.count(b"\r")
    if count:
        room = min(room, len(sample) * limits.records // count + 1)
    if room <= len(sample):
        end = end_of_last_line(sample[:room])
        if end:
            return start + end
        looked = max(looked, start + room)
    elif looked < start + room:
        end = _last_end_before(fd, max(start, looked - 1), start + room)
        if end:
            return end
        looked = start + room
    return _first_end_after(fd, max(start, looked - 1), size) or start


def _last_end_before(fd: int, floor: int, top: int) -> int:
    while top - floor > 0:
        low = max(floor, top - _SAMPLE)
        end = end_of_last_line(os.pread(fd, top - low, low))
        if end:
            return low + end
        if low == floor:
            break
        top = low + 1  # a \r at the end of the lower block is judged by the byte after it
    return 0


def _first_end_after(fd: int, low: int, size: int) -> int:
    while low < size:
        block = os.pread(fd, min(_FAR, size - low), low)
        end = _end_of_first_line(block)
        if end:
            return low + end
        if len(block) < 2:
            break
        low += len(block) - 1
    return 0


def end_of_last_line(block: bytes | bytearray) -> int:
    """Where the last line of a block ends that is whole; 0 when none is."""
    return max(block.rfind(b"\n"), block.rfind(b"\r", 0, max(0, len(block) - 1))) + 1


def _end_of_first_line(block: bytes) -> int:
    newline = block.find(b"\n")
    cr = block.find(b"\r", 0, newline if newline >= 0 else len(block))
    if cr < 0:
        return newline + 1
    if cr == len(block) - 1:
        return 0
    return cr + (2 if block[cr + 1] == 10 else 1)  # 10: \n


def split_lines(fd: int, start: int, end: int) -> Iterator[list[str]]:
    """The lines from `start` to `end`, in lists of some thousands.

    What stands between the last end of a line and `end` is a line too. Texts are those of `texts_of`.

    Raises:
        RetriableError: the file has become shorter than `end`.
    """
    rest: list[bytes] = []  # pieces of one line
    at = start
    while at < end:
        block = os.pread(fd, min(_CHUNK, end - at), at)
        if not block:
            raise RetriableError(f"the file ends at byte {at} and was longer ({end} bytes) a moment ago")
        at += len(block)
        if rest and rest[-1].endswith(b"\r"):
            rest[-1], block = rest[-1][:-1], b"\r" + block
        cut = len(block) if at >= end else end_of_last_line(block)
        if cut:
            rest.append(block[:cut])
            yield texts_of(b"".join(rest))
            rest.clear()
        if cut < len(block):
            rest.append(block[cut:])


def texts_of(block: bytes) -> list[str]:
    """The lines of a block; what stands behind the last end of a line is one too.

    Bytes that are no UTF-8 become U+FFFD as Java's decoder makes them, but for surrogates in UTF-8 (`ED A0 80`): one U+FFFD
    in Java, one for each byte here.
    """
    text = block.decode("utf-8", "replace")
    if b"\r" in block:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines
