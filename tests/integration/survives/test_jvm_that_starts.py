"""A task that ends while Spark's JVM is being launched leaves no JVM behind."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, threading
import psutil
from penstock_runtime.spark.session import Spark
from penstock_runtime.process.scratch import Scratch

with Scratch() as scratch:
    scratch.become_temporary()
    spark = Spark(cores=1, conf={}, name="t", eager=True, scratch=scratch)
    spark.start()
    sys.stdin.readline()  # the test chooses the moment
    spark.kill()
    for thread in threading.enumerate():
        if thread.name == "spark-start":  # what it launches now would stay
            thread.join(60)
    # One that was killed and that nobody has waited for runs no more.
    left = [p for p in psutil.Process().children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]
    print("left:", [p.name() for p in left])
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.3, 2.0, 3.0])
def test_no_jvm_is_left_by_a_task_that_ends_in_its_start(seconds: float, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(seconds)  # any moment of the start is as good: each must leave nothing
    printed, _ = process.communicate("kill\n", timeout=120)
    assert (process.returncode, printed) == (0, "left: []\n")
    assert list(tmp_path.iterdir()) == []
