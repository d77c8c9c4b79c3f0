"""Files that are rotated now by renaming and now by copying, compressed later, while a task is paused or down.

What still lies there as text comes, and comes once; what was compressed after it was read is never read as text.
"""

import gzip
import logging
import os
import shutil
from pathlib import Path
from random import Random

import pytest

from penstock import Limits

from .file_task import Task, append, shift

SEEDS = range(60)


class Writer:
    """Rotates in any way; each write and rotation has a time of its own, as on a file system that tells them apart."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._time = 1_700_000_000_000_000_001
        self._packed = 0
        self.append(2)

    def stamp(self, *paths: Path) -> None:
        for path in paths:
            self._time += 10_000_000
            os.utime(path, ns=(self._time, self._time))

    def append(self, count: int) -> None:
        append(self.path, "".join(f"{self.count + n}\n" for n in range(count)))
        self.count += count
        self.stamp(self.path)

    def rename(self) -> None:
        self.path.rename(shift(self.path))
        self.path.touch()
        self.stamp(self.path)

    def copytruncate(self) -> None:
        copy = shift(self.path)
        shutil.copyfile(self.path, copy)
        os.truncate(self.path, 0)
        self.stamp(copy, self.path)

    def compress(self, read: set[str]) -> None:
        """The rotated files of which every line was read, as `logrotate` does a day later."""
        for file in self.path.parent.glob(f"{self.path.name}.*"):
            if file.suffix != ".gz" and read.issuperset(file.read_text().splitlines()):
                self._packed += 1
                packed = file.with_name(f"{self.path.name}.{1000 + self._packed}.gz")
                with gzip.open(packed, "wb") as out:
                    out.write(file.read_bytes())
                shutil.copystat(file, packed)
                file.unlink()

    def lines(self) -> list[str]:
        return [str(n) for n in range(self.count)]


def some(writer: Writer, random: Random, read: set[str], *, both: bool) -> None:
    """What happens to the file while nobody looks: rotated in both ways, or each time in one."""
    way = random.choice([writer.rename, writer.copytruncate])
    for _ in range(random.randrange(1, 5)):
        if both:
            way = random.choice([writer.rename, writer.copytruncate])
        if random.random() < 0.7:
            writer.append(random.randrange(1, 4))
        way()
        if random.random() < 0.8:
            writer.append(random.randrange(1, 6))
        if random.random() < 0.5:
            writer.compress(read)


def run(path: Path, random: Random, *, both: bool, rounds: int = 6) -> tuple[list[str], list[str]]:
    """What was read, and what was written."""
    writer = Writer(path)
    task = Task(path)
    found = task.all_lines()
    for _ in range(rounds):
        match random.choice(["looking", "behind", "paused", "down", "planned"]):
            case "down":
                task.source.stop()
                some(writer, random, set(found), both=both)
                task = Task(path, task.at)
            case "planned":  # a batch that is never committed
                task.plan(Limits(random.randrange(1, 4), 1 << 20))
                some(writer, random, set(found), both=both)
            case "behind":  # what is not read yet waits while more comes
                some(writer, random, set(found), both=both)
                task.now += 1.1
                found += task.batch(Limits(1, 1))
                some(writer, random, set(found), both=both)
            case "paused":
                some(writer, random, set(found), both=both)
                task.now += random.choice([0.5, 3600.0])
                some(writer, random, set(found), both=both)
            case _:
                some(writer, random, set(found), both=both)
        task.now += 1.1
        found += task.all_lines() if random.random() < 0.6 else task.batch(Limits(random.randrange(1, 9), 1 << 20))
    writer.append(1)
    found += task.all_lines()
    task.source.stop()
    return found, writer.lines()


@pytest.mark.parametrize("both", [False, True], ids=["one-way-a-gap", "both-ways-in-a-gap"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_line_comes_once_and_in_order_however_rotations_mix(tmp_path: Path, seed: int, both: bool) -> None:
    found, written = run(tmp_path / "app.log", Random(seed), both=both)
    assert found == written


def test_a_compressed_file_with_the_inode_of_one_that_was_empty_is_not_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "read\n")
    task = Task(path)
    assert task.all_lines() == ["read"]
    path.rename(shift(path))
    path.touch()
    task.now += 20
    assert task.all_lines() == []  # it stands at the beginning of the new file
    task.source.stop()
    path.write_bytes(gzip.compress(b"read\n"))  # what was made when that inode was free again
    path.rename(tmp_path / "app.log.2.gz")
    append(path, "new\n")
    task = Task(path, task.at)
    assert task.all_lines() == ["new"]
    task.source.stop()


@pytest.mark.parametrize("down", [True, False], ids=["down", "paused"])
def test_a_shorter_file_in_place_that_grows_past_the_position_is_read_from_its_beginning(
    tmp_path: Path, down: bool
) -> None:
    path = tmp_path / "app.log"
    append(path, "".join(f"old {n}\n" for n in range(500)))
    task = Task(path)
    assert len(task.all_lines()) == 500
    if down:
        task.source.stop()
    new = tmp_path / "made-elsewhere"
    new.write_text("new 0\n")
    new.replace(path)
    append(path, "".join(f"new {n}\n" for n in range(1, 2000)))
    if down:
        task = Task(path, task.at)
    task.now += 3600
    assert task.all_lines() == [f"new {n}" for n in range(2000)]
    task.source.stop()


@pytest.mark.parametrize("dated", [False, True], ids=["numbers", "dates"])
def test_a_file_that_had_the_path_later_is_no_copy_of_one_that_is_written_to_after_its_rotation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, dated: bool
) -> None:
    caplog.set_level(logging.INFO)
    writer = Writer(tmp_path / "app.log")

    def rotated(day: int) -> Path:
        return Path(f"{writer.path}-202611{day}") if dated else shift(writer.path)

    def rotate(day: int) -> None:
        writer.path.rename(rotated(day))
        writer.path.touch()

    task = Task(writer.path)
    found = task.batch(Limits(1, 1))
    rotate(20)
    writer.append(0)
    task.now += 2
    found += task.batch(Limits(1, 1))  # the new file is seen and waits
    rotate(21)
    writer.append(1)
    rotate(22)
    late = Path(f"{writer.path}-20261121" if dated else f"{writer.path}.2")
    append(late, "late\n")  # by a program that has it open still
    writer.stamp(late)
    writer.append(1)
    task.now += 2
    found += task.all_lines()
    assert found == ["0", "1", "late", "2", "3"]
    assert "copied" not in caplog.text
    task.source.stop()


def test_a_file_of_before_that_is_written_to_late_is_no_copy_of_one_to_which_nobody_wrote(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    append(old, "before the connector\n")
    os.utime(old, ns=(1, 1))
    path.touch()
    task = Task(path)
    assert task.all_lines() == []
    append(old, "late\n")
    task.now += 20
    assert task.all_lines() == []
    assert "copied" not in caplog.text
    task.source.stop()
