r"""Find line endings in a file or in a block of bytes, and read lines.

Lines end as in Kafka Connect's file source: with `\n`, `\r\n` or a lone `\r`. A `\r` at the end of a file may become a
`\r\n`, so it does not end a line yet. Planning a batch only finds the end of the last line; reading it decodes the lines.
"""

import os
from collections.abc import Iterator
from typing import Final

from penstock import Limits, RetriableError

__all__ = ["end_of_last_line", "split_lines", "texts_of", "whole_lines"]

_SAMPLE: Final = 64 << 10  # bytes
_FAR: Final = 1 << 20  # bytes
_CHUNK: Final = 128 << 10
"""Bytes in one read. For larger blocks, new memory is mapped each time, which takes as long as decoding the lines."""


def whole_lines(fd: int, start: int, size: int, limits: Limits, looked: int = 0) -> int:
    """Return the end of the last whole line after `start` within `limits`.

    A first line that exceeds the limits is included whole. The record limit is approximate: it is applied with the mean
    length of the lines in the first 64 KiB.

    Args:
        fd: descriptor of an open file; its file offset is neither used nor changed.
        start: beginning of a line.
        size: end of the part of the file to read.
        limits: limits of the batch.
        looked: position up to which an earlier call found no line ending after `start`.

    Returns:
        A position in the file; `start` if no line is complete.
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
        top = low + 1  # a \r at the end of the lower block needs the byte after it
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
    """Return the end of the last whole line of a block; 0 if there is none."""
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
    """Yield the lines from `start` to `end`, in lists of a few thousand, decoded as in `texts_of`.

    Bytes between the last line ending and `end` are a line, too.

    Raises:
        RetriableError: the file is shorter than `end` now.
    """
    pieces: list[bytes] = []  # of one line
    position = start
    while position < end:
        block = os.pread(fd, min(_CHUNK, end - position), position)
        if not block:
            raise RetriableError(
                f"the file ends at byte {position}; it was truncated (previously at least {end} bytes)"
            )
        position += len(block)
        if pieces and pieces[-1].endswith(b"\r"):
            pieces[-1], block = pieces[-1][:-1], b"\r" + block
        end_of_lines = len(block) if position >= end else end_of_last_line(block)
        if end_of_lines:
            pieces.append(block[:end_of_lines])
            yield texts_of(b"".join(pieces))
            pieces.clear()
        if end_of_lines < len(block):
            pieces.append(block[end_of_lines:])


def texts_of(block: bytes) -> list[str]:
    """Return the lines of a block. Bytes after the last line ending are a line, too.

    Bytes that are not UTF-8 become U+FFFD as with Java's decoder, except for a surrogate in UTF-8 (`ED A0 80`): it becomes
    one U+FFFD in Java, and one for each byte here.
    """
    text = block.decode("utf-8", "replace")
    if b"\r" in block:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines
