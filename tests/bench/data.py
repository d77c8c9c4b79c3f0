"""The lines: JSON objects of 131 bytes without their end, the same in every run."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

__all__ = ["FIRST", "LENGTH", "line", "read_lines", "write_lines"]

LENGTH: Final = 131
_NOTE: Final = "The quick brown fox jumps over the lazy dog; 0123456789 sphinx of black quartz: judge my vow! " * 2
_BLOCK: Final = 20_000


def line(number: int) -> str:
    """The line with this number."""
    head = f'{{"id":{number},"name":"customer-{number * 7919 % 100_003}","amount":{number * 31 % 1_000_000}.25,"note":"'
    start = number % 64
    return head + _NOTE[start : start + LENGTH - 2 - len(head)] + '"}'


FIRST: Final = line(999_999_999)
"""The one that is there from the start; what is measured comes after it."""


def write_lines(path: Path, count: int) -> None:
    """Write `count` lines."""
    with path.open("w", encoding="ascii") as file:
        for start in range(0, count, _BLOCK):
            file.write("".join(line(n) + "\n" for n in range(start, min(count, start + _BLOCK))))


def read_lines(path: Path) -> Iterator[list[str]]:
    """The lines of a file, without their ends, in blocks."""
    with path.open(encoding="ascii") as file:
        while block := [text[:-1] for text in islice(file, _BLOCK)]:
            yield block
