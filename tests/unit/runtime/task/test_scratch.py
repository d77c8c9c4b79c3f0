"""Temporary folders are removed with their owners, however these end."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock_runtime.process.scratch import Scratch, sweep

# A process that owns a folder and holds it for as long as it lives.
OWNER = """
import sys
from penstock_runtime.process.scratch import Scratch
print(Scratch().path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@contextmanager
def owner() -> Iterator[tuple[Path, "subprocess.Popen[str]"]]:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield Path(process.stdout.readline().strip()), process
        process.kill()


def test_a_folder_whose_owner_lives_is_left_untouched() -> None:
    with owner() as (folder, process):
        sweep()
        assert folder.is_dir()
        process.send_signal(signal.SIGSTOP)  # frozen is not dead
        sweep()
        assert folder.is_dir()


def test_a_folder_whose_owner_was_killed_is_removed_with_all_that_is_in_it() -> None:
    with owner() as (folder, process):
        (folder / "blockmgr" / "00").mkdir(parents=True)
        process.kill()
        process.wait()
    sweep()
    assert not folder.exists()


def test_nothing_is_left_at_a_graceful_end(temporary: Path) -> None:
    with Scratch() as scratch:
        scratch.slots.joinpath("slot-1").touch()
    assert list(temporary.iterdir()) == []


def test_foreign_folder_is_not_removed(temporary: Path) -> None:
    others = temporary / "somebody-else"
    others.mkdir()
    sweep()
    assert others.is_dir()


def test_socket_paths_are_short_enough_for_any_temporary_folder(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = temporary / ("x" * 100)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    tempfile.tempdir = None
    with Scratch() as scratch:
        folder = scratch.sockets
        assert folder is not None
        assert folder != scratch.path
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.fspath(folder / f".{uuid.uuid4()}.sock"))
    assert not folder.exists()


def test_temporary_files_are_created_in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with Scratch() as scratch:
        monkeypatch.setenv("TMPDIR", "")  # so that it is put back
        scratch.become_temporary()
        assert Path(tempfile.mkdtemp()).parent == scratch.path
        child = [sys.executable, "-c", "import tempfile; print(tempfile.gettempdir())"]
        assert subprocess.run(child, capture_output=True, text=True, check=True).stdout.strip() == str(scratch.path)
