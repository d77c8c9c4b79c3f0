"""Files that were rotated while nobody looked, once or often: read where they still lie beside the path, else told."""

import gzip
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock import Limits
from penstock_plugins.connectors.file import follow
from penstock_plugins.connectors.file import handles as file_handles

from .file_task import Task, append, copytruncate, rename, shift

Rotation = Callable[[Path, str], None]
BOTH = pytest.mark.parametrize("rotate", [rename, copytruncate])
LIVES = pytest.mark.parametrize("down", [True, False], ids=["down", "running"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


@pytest.fixture(autouse=True)
def _every_file_is_closed() -> Iterator[None]:
    yield
    left = [handle for handles in file_handles._OPEN.values() for handle in handles]
    for handle in left:
        handle.close()
    assert not left


def lines(word: str, count: int) -> str:
    return "".join(f"{word} {n}\n" for n in range(count))


def begun(path: Path, text: str = "") -> Task:
    """A task that has read all there is."""
    append(path, text or lines("read", 100))
    task = Task(path)
    assert task.lines() == (text or lines("read", 100)).splitlines()
    return task


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


@BOTH
@LIVES
def test_a_longer_file_in_place_of_the_one_that_was_read_is_read_after_its_rest(
    path: Path, rotate: Rotation, down: bool, caplog: pytest.LogCaptureFixture
) -> None:
    task = begun(path)
    append(path, "rest\n")
    rotate(path, lines("new", 1000))
    task = task.next_life() if down else task
    assert task.all_lines() == ["rest", *lines("new", 1000).splitlines()]
    assert warnings(caplog) == []
    task.source.stop()


@BOTH
@LIVES
def test_files_of_several_rotations_are_read_in_their_order(
    path: Path, rotate: Rotation, down: bool, caplog: pytest.LogCaptureFixture
) -> None:
    task = begun(path)
    append(path, "rest\n")
    for n in range(12):
        rotate(path, f"file {n}\n" * (n + 1))
    task = task.next_life() if down else task
    expected = ["rest", *(f"file {n}" for n in range(12) for _ in range(n + 1))]
    assert task.all_lines() == expected
    assert warnings(caplog) == []
    task.source.stop()


@BOTH
def test_a_crash_after_any_batch_repeats_and_loses_nothing(path: Path, rotate: Rotation) -> None:
    task = begun(path, "0\n1\n2\n")
    for n in range(1, 5):
        rotate(path, "".join(f"{n * 3 + i}\n" for i in range(3)))
    found = ["0", "1", "2"]
    for _ in range(40):
        task = task.next_life()
        found += task.batch(Limits(1, 1))
        task.now += 1.1
        found += task.batch(Limits(1, 1))
    assert found == [str(n) for n in range(15)]
    task.source.stop()


def test_dates_in_names_are_as_good_as_numbers(path: Path) -> None:
    task = begun(path)
    for day in ("20260101", "20260102", "20260103"):
        path.rename(f"{path}-{day}")
        path.write_text(f"after {day}\n")
    task = task.next_life()
    assert task.all_lines() == ["after 20260101", "after 20260102", "after 20260103"]
    task.source.stop()


def test_numbers_before_the_extension_count_once_the_file_itself_went_that_way(path: Path) -> None:
    task = begun(path)
    path.rename(path.with_name("app-1.log"))
    path.with_name("app-2.log").write_text("between\n")
    path.write_text("new\n")
    task = task.next_life()
    assert task.all_lines() == ["between", "new"]
    task.source.stop()


def test_independent_files_of_like_names_are_not_read_but_reported(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task = begun(path)
    for name in ("app-1.log", "app.log.bak", "app.login"):
        path.with_name(name).write_text("foreign\n")
    rename(path, "new\n")
    assert task.all_lines() == ["new"]
    (warning,) = warnings(caplog)
    assert "may have been rotated more than once" in warning
    for name in ("app-1.log", "app.log.bak", "app.login"):
        assert f"{path.with_name(name)} (8 bytes)" in warning
    task.source.stop()


@LIVES
def test_a_compressed_file_is_reported_unless_it_was_open_and_those_after_it_are_read(
    path: Path, down: bool, caplog: pytest.LogCaptureFixture
) -> None:
    task = begun(path)
    position = task.position()
    append(path, "rest\n")
    rename(path, "between\n")
    rename(path, "new\n")
    packed = Path(f"{path}.2.gz")
    packed.write_bytes(gzip.compress(Path(f"{path}.2").read_bytes()))
    shutil.copystat(f"{path}.2", packed)
    Path(f"{path}.2").unlink()
    task = task.next_life() if down else task
    assert task.all_lines() == ["between", "new"] if down else ["rest", "between", "new"]
    told = "\n".join(warnings(caplog))
    if down:
        assert f"is not the one that was read to byte {position}" in told
        assert f"{packed} ({packed.stat().st_size} bytes)" in told
    else:
        assert told == ""
    task.source.stop()


def test_one_rotation_next_to_older_and_other_files_warns_of_nothing(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, text in ((".1", "older\n"), (".2.gz", "older"), (".lock", "")):
        Path(f"{path}{name}").write_text(text)
        os.utime(f"{path}{name}", (50, 50))
    path.with_name("other.log").write_text("x\n")
    task = begun(path)
    rename(path, "c\n")
    assert task.all_lines() == ["c"]
    assert warnings(caplog) == []
    task.source.stop()


def test_a_file_that_is_found_nowhere_is_reported_and_the_new_one_is_read_from_its_beginning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task = begun(path)
    position = task.position()
    path.unlink()
    path.write_text(lines("new", 1100))
    task = task.next_life()
    assert task.all_lines() == lines("new", 1100).splitlines()
    (warning,) = warnings(caplog)
    assert f"is not the one that was read to byte {position}, and that one is not in its folder" in warning
    task.source.stop()


def test_bytes_that_were_seen_and_not_read_before_a_truncation_are_counted(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text("0123456\n" * 10)
    task = Task(path)
    assert len(task.batch(Limits(1, 8))) == 1
    path.write_text("new\n")
    assert task.all_lines() == ["new"]
    assert "At least 72 bytes are missing" in warnings(caplog)[0]
    task.source.stop()


@BOTH
def test_a_position_without_a_fingerprint_continues_in_the_file_that_has_the_path(path: Path, rotate: Rotation) -> None:
    """As Kafka Connect would: it, or an older Penstock, wrote the position, or somebody altered it."""
    task = begun(path, "a\nb\n")
    rotate(path, "v\nw\nx\n")
    for at in (4, {**task.at, task.partition: {"position": 2}}):
        other = Task(path, at)
        assert other.all_lines() == ["x"] if at == 4 else ["w", "x"]
        other.source.stop()
    reset = Task(path, {p: o for p, o in task.at.items() if p != task.partition})
    assert reset.all_lines() == ["v", "w", "x"]
    reset.source.stop()
    task.source.stop()


def test_a_fingerprint_that_cannot_be_read_is_none(path: Path) -> None:
    task = begun(path, "a\n")
    append(path, "b\n")
    (beside,) = (p for p in task.at if p != task.partition)
    for wrong in ({"position": 2}, {**task.at[beside], "inode": "x"}, {**task.at[beside], "digest": None}):
        other = Task(path, {**task.at, beside: wrong})
        assert other.all_lines() == ["b"]
        other.source.stop()
    task.source.stop()


def test_a_file_with_the_same_header_is_recognized_by_its_inode(path: Path) -> None:
    task = begun(path, "id,name\n")
    append(path, "1,a\n")
    path.with_name("app.log.9").write_text("id,name\nolder,o\n")
    os.utime(f"{path}.9", (50, 50))
    rename(path, "id,name\n2,b\n")
    task = task.next_life()
    assert task.all_lines() == ["1,a", "id,name", "2,b"]
    task.source.stop()


def test_an_older_file_with_the_same_header_is_no_copy_of_a_truncated_one(path: Path) -> None:
    Path(f"{path}.1").write_text("id,name\nolder,o\n")
    os.utime(f"{path}.1", (50, 50))
    task = begun(path, "id,name\n")
    path.write_text("x\n")
    assert task.all_lines() == ["x"]
    task.source.stop()


def test_files_that_were_moved_to_another_place_are_known_by_their_content(path: Path, tmp_path: Path) -> None:
    task = begun(path)
    append(path, "rest\n")
    content = path.read_bytes()
    path.unlink()
    (tmp_path / "keeps the inode").touch()
    path.write_bytes(content)
    task = task.next_life()
    assert task.all_lines() == ["rest"]
    task.source.stop()


def test_the_rest_of_a_rotated_file_is_read_while_nothing_has_the_path(path: Path) -> None:
    task = begun(path)
    append(path, "rest\n")
    path.rename(shift(path))
    task = task.next_life()
    assert task.all_lines() == ["rest"]
    append(path, "new\n")
    assert task.all_lines() == ["new"]
    task.source.stop()


def test_a_file_that_is_not_there_yet_is_waited_for_at_its_position(path: Path, tmp_path: Path) -> None:
    task = begun(path)
    path.rename(tmp_path / "away")  # a volume that is not mounted
    task = task.next_life()
    assert task.all_lines() == []
    append(tmp_path / "away", "more\n")
    (tmp_path / "away").rename(path)
    assert task.all_lines() == ["more"]
    task.source.stop()


@BOTH
@LIVES
def test_a_file_of_which_nothing_was_read_is_found_too(path: Path, rotate: Rotation, down: bool) -> None:
    task = begun(path)
    rotate(path, "")
    assert task.all_lines() == []
    assert task.position() == 0
    append(path, "first\n")
    rotate(path, "second\n")
    rotate(path, "third\n")
    task.now += 2
    task = task.next_life() if down else task
    assert task.all_lines() == ["first", "second", "third"]
    task.source.stop()


def test_a_rotated_file_that_is_written_late_is_not_read_again(path: Path) -> None:
    task = begun(path)
    rename(path)
    append(Path(f"{path}.1"), "late\n")
    assert task.all_lines() == ["late"]
    append(Path(f"{path}.1"), "too late\n")
    rename(path, "x\n")
    task = task.next_life()
    assert task.all_lines() == ["x"]
    append(Path(f"{path}.2"), "too late\n")
    rename(path, "y\n")
    assert task.all_lines() == ["y"]
    task.source.stop()


def test_hard_links_are_one_file(path: Path) -> None:
    task = begun(path)
    os.link(path, f"{path}.5")
    rename(path, "between\n")
    os.link(f"{path}.1", f"{path}-20260101")
    rename(path, "new\n")
    task = task.next_life()
    assert task.all_lines() == ["between", "new"]
    task.source.stop()


def test_a_link_that_points_to_another_file_each_day_is_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    days = [tmp_path / "days" / f"app-2026010{n}.log" for n in range(4)]
    days[0].touch()
    path.symlink_to(days[0])
    task = begun(path)
    append(days[0], "rest\n")
    for day in days[1:]:
        path.unlink()
        day.write_text(f"{day.name}\n")
        path.symlink_to(day)
    task = task.next_life()
    assert task.all_lines() == ["rest", *(day.name for day in days[1:])]
    task.source.stop()


@pytest.mark.parametrize("name", ["a b*[x].log", "-", "ä\u2028\n.log", "\udcff.log", "x.gz", ".log"])
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    task = begun(path)
    rename(path, "between\n")
    rename(path, "new\n")
    task = task.next_life()
    assert task.all_lines() == ["between", "new"]
    task.source.stop()


def test_more_files_than_are_opened_together_are_read_in_order(path: Path) -> None:
    task = begun(path)
    count = follow._MAX_OPEN * 2 + 3
    for n in range(count):
        rename(path, f"{n}\n")
    task = task.next_life()
    most, found = 0, []
    for _ in range(3 * count):
        found += task.lines()
        most = max(most, sum(map(len, file_handles._OPEN.values())))
        task.now += 1.1
    assert found == [str(n) for n in range(count)]
    assert most <= follow._MAX_OPEN + 1
    task.source.stop()


def test_a_folder_is_listed_when_something_was_rotated_and_not_at_each_look(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = begun(path)
    listings: list[object] = []
    scandir = os.scandir

    def counted(folder: str) -> object:
        listings.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", counted)
    for n in range(50):
        append(path, f"{n}\n")
        task.lines()
        task.now += 0.05
    assert listings == []
    rename(path, "new\n")
    for _ in range(50):
        task.lines()
        task.now += 0.05
    assert len(listings) <= 4
    path.unlink()
    listings.clear()
    for _ in range(50):
        task.lines()
        task.now += 0.05
    assert len(listings) <= 3
    task.source.stop()


def test_large_files_are_not_read_to_know_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = begun(path)
    for n in range(5):
        rename(path)
        os.truncate(path, 1 << 30)
        with path.open("a") as file:
            file.write(f"\n{n}\n")
    read: list[int] = []
    pread = os.pread

    def counted(fd: int, size: int, at: int) -> bytes:
        read.append(size)
        return pread(fd, size, at)

    monkeypatch.setattr(os, "pread", counted)
    task = task.next_life()
    assert sum(read) < 100_000
    task.source.stop()
