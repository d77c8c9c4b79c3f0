"""Texts that occupy protoc: they delay no others, and leave nothing."""

import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import DataError
from penstock_registry.protobuf import compiler
from penstock_registry.protobuf.compiler import compile_proto

SLOW = "connectors.registry.tests.protobuf.test_compiler"


def slow_text(size: int = 100_000) -> str:
    """Return a text for which protoc compares each field with each reserved number: half a minute and more."""
    fields = "".join(f"int32 f{n} = {2 * n};" for n in range(1, size))
    reserved = ",".join(str(2 * n + 1) for n in range(size))
    return f'syntax = "proto3"; message Slow {{ {fields} reserved {reserved}; }}'


def until(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_a_text_that_occupies_protoc_fails_and_delays_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(compiler, "_CPU_SECONDS", 5)
    failed: list[str] = []

    def compile_slowly() -> None:
        try:
            compile_proto(slow_text(), {})
        except DataError as e:
            failed.append(str(e))

    threads = [threading.Thread(target=compile_slowly) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: list(tmp_path.iterdir()))
    assert compile_proto('syntax = "proto3"; message Other {}', {}).name
    assert not failed
    assert len(list(tmp_path.iterdir())) == 1, "both threads wait for one compilation"
    for thread in threads:
        thread.join()
    assert failed == ["cannot read a Protobuf schema: protoc takes more than 5 seconds to compile it"] * 2
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_task_that_is_killed_leaves_no_files(tmp_path: Path) -> None:
    program = (
        "import tempfile; from penstock_registry.protobuf import compiler; compiler._CPU_SECONDS = 2; "
        f"tempfile.tempdir = {str(tmp_path)!r}; from {SLOW} import slow_text; compiler.compile_proto(slow_text(), {{}})"
    )
    task = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    until(lambda: list(tmp_path.glob("*/known")))
    task.send_signal(signal.SIGKILL)
    assert task.wait() == -signal.SIGKILL
    until(lambda: not list(tmp_path.iterdir()))
