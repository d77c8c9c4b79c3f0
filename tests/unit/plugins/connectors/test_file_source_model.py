"""Whatever is written, rotated and deleted between any two looks: each line that still lies there comes once, in order."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock import Limits, RetriableError

from .file_task import Task, append, copytruncate, rename, shift

STEPS = st.one_of(
    st.tuples(st.sampled_from(["append", "append", "rotate", "rotate"]), st.integers(0, 3)),
    st.tuples(st.sampled_from(["batch", "batch", "fail"]), st.integers(1, 4)),
    st.tuples(st.sampled_from(["part", "move", "restart", "look", "look"]), st.just(0)),
)


class Writer:
    """The program that writes and rotates, and what it wrote. Its clock goes on at each write, as a file system's does."""

    def __init__(self, path: Path, *, copies: bool) -> None:
        self.path = path
        self._copies = copies
        self.files = [""]
        """What the files held that had the path, in order; the last has it."""
        self._number = 0
        self._time = 1_700_000_000_000_000_001
        self.append(1)

    def _lines(self, count: int) -> str:
        self._number += count
        return "".join(f"{self._number - count + n}\n" for n in range(count))

    def stamp(self, *paths: Path) -> None:
        for path in paths:
            self._time += 10_000_000
            if path.exists():
                os.utime(path, ns=(self._time, self._time))

    def append(self, count: int) -> None:
        """Whole lines."""
        self._write(self._lines(count))

    def part(self) -> None:
        """Of a line that may never be finished."""
        self._write("part ")

    def _write(self, text: str) -> None:
        append(self.path, text)
        self.files[-1] += text
        self.stamp(self.path)

    def rotate(self, count: int) -> None:
        """Under the new name, or the old inode, there are so many lines at once."""
        if not self.path.exists():
            return
        self.files.append(self._lines(count))
        if self._copies:
            copytruncate(self.path, self.files[-1])
            self.stamp(Path(f"{self.path}.1"), self.path)
        else:
            rename(self.path, self.files[-1])
            self.stamp(self.path)

    def move(self) -> None:
        """Rotate without making a new file."""
        if self.path.exists() and not self._copies:
            self.path.rename(shift(self.path))
            self.files.append("")

    def lines(self) -> list[str]:
        """All that a reader must find; an unfinished line in the file that has the path is none yet."""
        *old, last = self.files
        return [line for text in old for line in text.splitlines()] + last[: last.rfind("\n") + 1].splitlines()


@contextmanager
def warnings() -> Iterator[list[str]]:
    found: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("penstock_plugins")
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, max_size=25), copies=st.booleans())
def test_each_line_comes_exactly_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], copies: bool
) -> None:
    writer = Writer(tmp_path_factory.mktemp("any") / "in", copies=copies)
    with warnings() as told:
        task = Task(writer.path)
        found = task.batch()  # from here on there is a fingerprint
        for step, number in steps:
            match step:
                case "append":
                    writer.append(number)
                case "part":
                    writer.part()
                case "rotate":
                    writer.rotate(number)
                case "move":
                    writer.move()
                case "batch":
                    found += task.batch(Limits(number, 1 << 20))
                    task.now += 1.1
                case "fail":
                    task.plan(Limits(number, 1 << 20))
                case "restart":
                    task = task.next_life()
                case _:
                    assert task.plan(Limits(1, 1))[0] is not None
                    task.now += 1.1
        writer.append(1)  # a rotated file is finished only once another one follows it
        found += task.all_lines()
        task.source.stop()
    assert found == writer.lines()
    assert [t for t in told if "does not exist" not in t] == []


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@example(
    steps=[("part", 0), ("part", 0), ("rotate", 0), ("batch", 1), ("restart", 0), ("append", 1), ("rotate", 0)],
    deleted={2},
    copies=True,
)
@given(steps=st.lists(STEPS, max_size=20), deleted=st.sets(st.integers(0, 20), max_size=4), copies=st.booleans())
def test_what_is_deleted_is_all_that_is_missing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], deleted: set[int], copies: bool
) -> None:
    writer = Writer(tmp_path_factory.mktemp("any") / "in", copies=copies)
    gone: set[str] = set()
    task = Task(writer.path)
    found = task.batch()
    for at, (step, number) in enumerate(steps):
        if step in ("append", "rotate"):
            getattr(writer, step)(number)
            task.now += 1.1  # what is written and truncated within a second, between two looks, may be missed
        elif step == "restart":
            task = task.next_life()
        elif step in ("batch", "look"):
            try:
                found += task.batch(Limits(max(1, number), 1 << 20))
            except RetriableError:
                task = task.next_life()
            task.now += 1.1
        if at in deleted:
            for old in writer.path.parent.glob("in.*"):
                gone.update(old.read_text().splitlines())
                old.unlink()
    writer.append(1)
    found += task.all_lines()
    task.source.stop()
    wanted = writer.lines()
    assert [line for line in wanted if line in set(found)] == found
    assert set(wanted) - set(found) <= gone
