"""Counts of a demo: delivered records, compared with the expected ones."""

import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.errors import ConnectError
from penstock_cli.demo.topics import records
from penstock_cli.offsets.given import request_of
from penstock_cli.offsets.options import OffsetsOptions
from penstock_runtime.job.listing import read_entries

__all__ = ["Count", "generated", "in_file", "in_topic", "last_in_file"]

_IN_TOPIC: Final = re.compile(rb'"order_id":(\d+)')
_IN_FILE: Final = re.compile(rb"order_id=(\d+)")
_TAIL: Final = 4096
_PATIENCE: Final = 30.0  # seconds
_PERIOD: Final = 0.2  # seconds


@dataclass(frozen=True)
class Count:
    """Comparison of records, which are numbered from 0, with the expected ones.

    Attributes:
        found: number of records, or of lines in a file.
        missing: number of expected records that do not occur.
        duplicated: number of repetitions.
        unknown: number of records that were not expected.
    """

    found: int
    missing: int
    duplicated: int
    unknown: int

    @classmethod
    def of(cls, times: "Counter[int]", expected: int) -> "Count":
        """Compare the numbers of records with the expected ones: 0 up to, but not including, `expected`."""
        found = times.total()
        known = sum(number < expected for number in times)
        return cls(found, expected - known, found - len(times), len(times) - known)

    @property
    def is_complete(self) -> bool:
        """Return whether each expected record occurs, and no other."""
        return self.missing == self.unknown == 0

    @property
    def is_exact(self) -> bool:
        """Return whether each expected record occurs exactly once, and no other."""
        return self.is_complete and self.duplicated == 0

    def __str__(self) -> str:
        unknown = f", {self.unknown:,} unexpected" if self.unknown else ""
        return f"{self.missing:,} missing, {self.duplicated:,} duplicated{unknown}"


def generated(manifest: Path, servers: str) -> int:
    """Return the number of records that a Datagen connector has delivered, by its committed offset.

    Raises:
        ConnectError: Kafka has not answered for half a minute, the time allowed for electing leaders after its start.
    """
    request, _ = request_of(OffsetsOptions(file=str(manifest), bootstrap_servers=servers))
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            _, entries = read_entries(request.model_copy(update={"kind": "source"}))
            break
        except ConnectError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PERIOD)
    return sum(int(entry["offset"]["count"]) for entry in entries)


def in_topic(servers: str, topic: str) -> tuple["Counter[int]", bytes]:
    """Return how often each order occurs among the committed records of a topic, and the last value.

    Raises:
        ConnectError: the topic cannot be read.
    """
    found: Counter[int] = Counter()
    last = b""
    for message in records(servers, topic):
        last = message.value() or b""
        found.update(map(int, _IN_TOPIC.findall(last)))
    return found, last


def in_file(path: Path) -> "Counter[int]":
    """Return how often each order occurs among the lines of a file."""
    if not path.is_file():
        return Counter()
    with path.open("rb") as file:
        return Counter(int(number[1]) for line in file if (number := _IN_FILE.search(line)))


def last_in_file(path: Path) -> int:
    """Return the number of the last order in a file; -1 if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            found = _IN_FILE.findall(file.read().rpartition(b"\n")[0])
    except OSError:  # usually, the file does not exist yet
        return -1
    return int(found[-1]) if found else -1
