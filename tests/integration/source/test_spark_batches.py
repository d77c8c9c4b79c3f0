"""Batches on Spark: what they leave behind."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

BATCHES = """
import base64
from penstock_runtime.spark.session import Spark
from penstock_runtime.process.scratch import Scratch

with Scratch() as scratch:
    scratch.become_temporary()
    spark = Spark(cores=2, conf={}, name="batches", eager=True, scratch=scratch)
    payloads = [bytes([65 + n]) * (2 << 20) for n in range(3)]
    for _ in range(3):
        assert spark.run(base64.b64encode, payloads, timeout=60) == [base64.b64encode(p) for p in payloads]
    assert spark.run(base64.b64encode, [b"small"], timeout=60) == [base64.b64encode(b"small")]
    large = [f for f in scratch.path.rglob("*") if f.is_file() and f.stat().st_size >= 1 << 20]
    spark.stop()
print("large files:", len(large))
"""


def test_a_batch_of_large_parts_leaves_no_file_behind() -> None:
    """A task may live for months, and its temporary folder has no more than the node."""
    done = subprocess.run([sys.executable, "-c", BATCHES], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "large files: 0"


KILLED = """
import threading, time
from pyspark import SparkContext
from penstock_runtime.spark.session import Spark, SparkLost
from penstock_runtime.process.scratch import Scratch

with Scratch() as scratch:
    scratch.become_temporary()
    spark = Spark(cores=2, conf={}, name="killed", eager=True, scratch=scratch)
    spark.start()
    while SparkContext._gateway is None:
        time.sleep(0.001)
    SparkContext._gateway.proc.kill()
    for ask in (spark.session, lambda: spark.ready):
        try:
            ask()
        except SparkLost as e:
            print("lost:", e)
    spark.stop()
"""


def test_a_jvm_that_is_killed_while_it_starts_is_a_loss_and_no_failure_of_the_connector() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines()[-2:] == ["lost: Spark's JVM was killed by signal 9 while it started"] * 2


IN_A_BATCH = """
import sys, threading, time
from pyspark import SparkContext
from penstock_runtime import logs
from penstock_runtime.spark.session import Spark, SparkLost
from penstock_runtime.process.scratch import Scratch

logs.configure(level="INFO", stream=sys.stderr)
with Scratch() as scratch:
    scratch.become_temporary()
    spark = Spark(cores=2, conf={}, name="killed", eager=True, scratch=scratch)
    begun = scratch.path / "begun"

    def slow(payload):
        begun.touch()
        time.sleep(2)
        return b"x" * 1_000_000

    def kill():
        while not begun.exists():
            time.sleep(0.01)
        SparkContext._gateway.proc.kill()

    spark.session()
    threading.Thread(target=kill).start()
    try:
        spark.run(slow, [b"a", b"b"], timeout=60)
    except SparkLost as e:
        print("lost:", e, flush=True)
    time.sleep(3)  # the workers go on, and meet nobody
    spark.stop()
"""


def test_a_jvm_that_is_killed_under_a_batch_leaves_no_stack_traces_of_spark() -> None:
    done = subprocess.run([sys.executable, "-c", IN_A_BATCH], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith("lost: Spark's JVM is gone")
    for word in ("Traceback", "Broken pipe", "Exception"):
        assert word not in done.stderr
