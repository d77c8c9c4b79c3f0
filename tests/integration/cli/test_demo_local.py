"""`make demo-local`, as a user types it."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[3] / "examples" / "demo" / "run.py"


@pytest.mark.slow
def test_the_demo_shows_spark_start_and_end_for_a_backlog_and_its_count_is_right(tmp_path: Path) -> None:
    shown = []
    command = [sys.executable, str(RUN), "--backlog", "300000"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stderr is not None
        for line in demo.stderr:
            shown.append(line)
            if "Spark ends" in line:
                demo.send_signal(signal.SIGINT)
    text = "".join(shown)
    assert demo.returncode == 0, text
    assert "A backlog arrives: 300,000 orders" in text
    assert re.search(r"Spark starts after \d+ s, with [1-9]\d* workers? in the task of history-out", text), text
    assert re.search(r"The backlog is delivered, \d+ s after it arrived", text), text
    assert re.search(r'"sparkWorkers": [1-9]', text), text
    assert re.search(r"topic 'orders' \(read_committed\): \d+ records, 0 missing, 0 doubled", text), text
    assert "history-out.txt: 300,000 lines, 0 missing, 0 written again" in text


@pytest.mark.slow
def test_the_demo_continues_after_it_was_killed_during_the_backlog(tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), "--backlog", "150000"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        assert any("A backlog arrives" in line for line in first.stderr)
        first.kill()
    done = subprocess.run(
        [sys.executable, str(RUN), "--backlog", "0", "--seconds", "3"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "records, 0 missing, 0 doubled" in done.stderr
    assert " lines, 0 missing" in done.stderr
