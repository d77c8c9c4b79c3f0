"""`make demo-cdc`, as a user types it."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

RUN = Path(__file__).parents[3] / "examples" / "cdc" / "run.py"


@pytest.mark.slow
def test_the_demo_kills_a_jvm_and_its_count_is_right_also_after_a_demo_that_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), "--seconds", "6"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        assert any("Records move" in line for line in first.stderr)
        started = psutil.Process(first.pid).children(recursive=True)
        first.kill()
    _, left = psutil.wait_procs(started, timeout=60)
    assert not left

    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    assert "Records move again" in done.stderr
    assert "changes, 0 missing, 0 duplicated" in done.stderr
    assert len(list((tmp_path / "penstock-cdc").glob("run-*"))) == 1
