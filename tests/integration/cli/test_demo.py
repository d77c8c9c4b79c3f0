"""`penstock demo` with a backlog in a folder that stays, which `make demo-local` runs."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = (sys.executable, "-m", "penstock_cli", "demo", "--keep", "data")


@pytest.mark.slow
def test_the_demo_shows_spark_start_and_end_for_a_backlog_and_its_count_is_right(tmp_path: Path) -> None:
    shown = []
    command = [*DEMO, "--backlog", "300000"]
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
    assert re.search(r"history-out-0 is RUNNING: .*, Spark: [1-9]", text), text
    assert re.search(r"topic 'orders' \(read_committed\): [\d,]+ records, 0 missing, 0 duplicated", text), text
    assert "history-out.txt: 300,000 lines, 0 missing, 0 duplicated" in text


@pytest.mark.slow
def test_the_demo_continues_after_it_was_killed_during_the_backlog(tmp_path: Path) -> None:
    command = [*DEMO, "--backlog", "150000"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        assert any("A backlog arrives" in line for line in first.stderr)
        first.kill()
    done = subprocess.run(
        [*DEMO, "--seconds", "3"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, done.stderr
    count = done.stderr.rpartition("The count:")[2]
    assert "records, 0 missing, 0 duplicated" in count
    assert re.search(r"orders-out\.txt: [\d,]+ lines, 0 missing", count), count
    assert re.search(r"history-out\.txt: [\d,]+ lines, 0 missing", count), count


@pytest.mark.slow
def test_sigterm_ends_the_demo_like_ctrl_c_and_its_temporary_data_is_gone(tmp_path: Path) -> None:
    shown = []
    command = [sys.executable, "-m", "penstock_cli", "demo"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stderr is not None
        for line in demo.stderr:
            shown.append(line)
            if "The first record is in orders-out.txt" in line:
                demo.terminate()
    text = "".join(shown)
    assert demo.returncode == 0, text
    assert re.search(r"orders-out\.txt: [\d,]+ lines, 0 missing, 0 duplicated", text), text
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_a_connector_that_fails_is_named_and_the_data_stays(tmp_path: Path) -> None:
    (tmp_path / "data" / "orders-out.txt").mkdir(parents=True)
    (tmp_path / "data" / "kafka").mkdir()  # as if an earlier demo had kept its data here
    done = subprocess.run([*DEMO], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1, done.stderr
    assert "orders-out.txt is a directory; property `file` must name a file" in done.stderr
    assert f"The data and the log tasks.log are kept in {tmp_path / 'data'}." in done.stderr
