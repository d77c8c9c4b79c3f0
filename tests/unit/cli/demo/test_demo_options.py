"""`penstock demo` reports missing prerequisites before it starts anything, and writes manifests that anybody can use."""

from collections import Counter
from pathlib import Path

import pytest

from penstock_cli.demo.connectors import sentence
from penstock_cli.demo.counts import Count, in_file, last_in_file
from penstock_cli.demo.folder import DemoFolder

from ..command import penstock


@pytest.fixture
def nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files and of the cache, both empty."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seconds", "soon"), "soon is not a number of seconds"),
        (("--seconds", "-1"), "-1"),
        (("--seconds", "inf"), "inf is not a number of seconds"),
        (("--rate", "0"), "the demo needs at least 1 order per second"),
        (("--backlog", "many"), "many is not a whole number from 0 to 999999999"),
    ],
)
def test_wrong_options_are_refused(nothing_starts: Path, words: tuple[str, str], said: str) -> None:
    done = penstock("demo", *words)
    assert (done.returncode, [*nothing_starts.iterdir()]) == (2, [])
    assert said in done.stderr


@pytest.mark.parametrize(
    ("version", "said"), [(None, "cannot find Java"), ("11.0.2", "it is Java 11; install Java 17 or newer")]
)
def test_a_wrong_java_is_reported_before_anything_is_written_or_downloaded(
    nothing_starts: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    version: str,
    said: str,
) -> None:
    programs = tmp_path_factory.mktemp("programs")
    if version is not None:
        (programs / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        (programs / "java").chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(programs))
    done = penstock("demo")
    assert (done.returncode, [*nothing_starts.iterdir()]) == (5, [])
    assert said in done.stderr


def test_a_full_disk_is_reported_before_anything_is_downloaded(
    nothing_starts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(free=7_000_000))
    done = penstock("demo")
    assert (done.returncode, [*nothing_starts.iterdir()]) == (5, [])
    assert "7 MB are free, and 500 MB are needed; free space there, or set another folder" in done.stderr


class Usage:
    """What the system says about a disk."""

    def __init__(self, free: int) -> None:
        self.free = free


def test_a_file_cannot_hold_the_data(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = penstock("demo", "--keep", tmp_path / "file")
    assert done.returncode == 5
    assert f"cannot keep the data in {tmp_path / 'file'}" in done.stderr


def test_a_folder_with_other_files_does_not_get_the_data(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    done = penstock("demo", "--keep", tmp_path)
    assert done.returncode == 5
    assert f"cannot keep the data in {tmp_path}: it has other files; name a new folder" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_edited_manifests_are_not_replaced(tmp_path: Path) -> None:
    assert penstock("demo", "--manifests", tmp_path).returncode == 0
    (tmp_path / "orders-in.yaml").write_text("mine")
    done = penstock("demo", "--manifests", tmp_path, "--backlog", "1")
    assert done.returncode == 5
    assert "it has orders-in.yaml, orders-out.yaml; name another folder" in done.stderr
    assert (tmp_path / "orders-in.yaml").read_text() == "mine"
    assert not (tmp_path / "history-out.yaml").exists()


def test_manifests_have_the_rate_and_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = penstock("demo", "--manifests", tmp_path / "shop", "--rate", "7", "--backlog", "1")
    files = done.stdout.splitlines()
    assert [Path(file).name for file in files] == ["orders-in.yaml", "orders-out.yaml", "history-out.yaml"]
    assert "    rate: 7\n" in Path(files[0]).read_text()
    monkeypatch.syspath_prepend(tmp_path / "shop")  # depots.py
    checked = penstock("validate", *files)
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.count("valid") == 3


def test_a_count_knows_missing_doubled_and_unknown_records(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("{order_id=0, a=1}\n{order_id=2}\n{order_id=2}\n{order_id=9}\nhalf a line order_id=5")
    assert last_in_file(file) == 9
    count = Count.of(Counter([0, 2, 2, 9]), 4)
    assert (str(count), count.is_complete, count.is_exact) == (
        "2 missing, 1 duplicated, 1 unexpected",
        False,
        False,
    )
    assert Count.of(in_file(file), 4).found == 5
    assert Count.of(Counter([0, 1, 1]), 2).is_complete
    assert not Count.of(Counter([0, 1, 1]), 2).is_exact
    assert Count.of(Counter([1, 0]), 2).is_exact


def test_without_a_terminal_lines_are_sentences_and_the_rest_is_only_in_the_log() -> None:
    assert (
        sentence(b'{"event": "task", "level": "info", "message": "orders-in-0 is RUNNING"}\n')
        == "orders-in-0 is RUNNING"
    )
    assert sentence(b'{"logger": "penstock", "level": "info", "message": "Console: ..."}\n') == "Console: ..."
    assert sentence(b'{"logger": "x", "level": "error", "message": "No space left"}\n') == "No space left"
    assert sentence(b'{"logger": "x", "level": "info", "message": "detail"}\n') == ""
    assert sentence(b"WARNING: Using incubator modules\n") == ""
    assert sentence(b"7\n") == ""


def test_temporary_data_stays_only_after_a_wrong_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for is_needed, left in ((False, 0), (True, 1)):
        folder = DemoFolder(None)
        (folder.path / "orders-out.txt").write_text("order_id=0\n")
        folder.leave(is_needed=is_needed)
        assert len([*tmp_path.iterdir()]) == left
    assert (folder.path / "orders-out.txt").read_text() == "order_id=0\n"
