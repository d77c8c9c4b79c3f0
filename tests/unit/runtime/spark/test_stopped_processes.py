"""A stopped Spark process holds up its batch for at most half a minute."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from penstock_runtime.spark.stopped_processes import StoppedProcesses


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"]) as process:
        yield process
        process.kill()


def stop(child: "subprocess.Popen[bytes]") -> None:
    child.send_signal(signal.SIGSTOP)
    while psutil.Process(child.pid).status() != psutil.STATUS_STOPPED:
        pass


def looks(stopped: StoppedProcesses, clock: Clock, count: int) -> None:
    for _ in range(count):
        stopped.look()
        clock.now += 5.0


def test_a_process_that_stays_stopped_is_ended_after_half_a_minute(child: "subprocess.Popen[bytes]") -> None:
    clock = Clock()
    stopped = StoppedProcesses(clock)
    stop(child)
    looks(stopped, clock, 6)
    assert not stopped.ended
    looks(stopped, clock, 1)
    assert [p.pid for p in stopped.ended] == [child.pid]
    assert child.wait(60) == -signal.SIGKILL


def test_continued_process_is_counted_from_zero(child: "subprocess.Popen[bytes]") -> None:
    clock = Clock()
    stopped = StoppedProcesses(clock)
    for _ in range(2):
        stop(child)
        looks(stopped, clock, 5)
        child.send_signal(signal.SIGCONT)
        while psutil.Process(child.pid).status() == psutil.STATUS_STOPPED:
            pass
        looks(stopped, clock, 1)
    assert not stopped.ended


def test_time_without_looks_counts_as_one_look(child: "subprocess.Popen[bytes]") -> None:
    clock = Clock()
    stopped = StoppedProcesses(clock)
    stop(child)
    looks(stopped, clock, 2)
    clock.now += 3600  # this process itself was stopped, with all that it has started
    looks(stopped, clock, 2)
    assert not stopped.ended


def test_a_process_that_runs_or_waits_is_left_untouched(child: "subprocess.Popen[bytes]") -> None:
    clock = Clock()
    stopped = StoppedProcesses(clock)
    looks(stopped, clock, 20)
    assert not stopped.ended
    assert child.poll() is None
