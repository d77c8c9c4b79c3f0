"""Files that had the path between two looks cannot be found with certainty: which they may be is said."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_plugins.file_follow import Follower


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


@pytest.fixture
def follower(path: Path) -> Iterator[Follower]:
    write(path, "a\n", at=100)
    made = Follower(str(path), lambda: 0.0)
    made.look()
    yield made
    made.close()


def write(path: Path, text: str, *, at: int) -> None:
    path.write_text(text)
    os.utime(path, (at, at))


def test_a_file_that_had_the_path_between_two_looks_is_named(
    follower: Follower, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.rename(f"{path}.2")
    write(Path(f"{path}.1"), "b\n", at=101)
    write(path, "c\n", at=102)
    follower.look()
    follower.look()
    (warning,) = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert "may have been rotated more than once" in warning
    assert f"{path}.1 may have had its name" in warning
    assert f"{path}.2" not in warning


def test_one_rotation_beside_older_and_other_files_warns_of_nothing(
    follower: Follower, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(Path(f"{path}.2.gz"), "older", at=50)
    write(Path(f"{path}.lock"), "", at=101)
    write(path.with_name("other.log"), "x\n", at=101)
    path.rename(f"{path}.1")
    write(path, "c\n", at=102)
    follower.look()
    assert [r for r in caplog.records if r.levelno == logging.WARNING] == []
