"""A task as the container's first process, as a user without a name, where nothing but /tmp can be written."""

import os
import shutil
import signal
import tempfile
from pathlib import Path

import psutil
import pytest
from tests.words import words

from penstock_model.contracts.exit_codes import ExitCode

from ..lab import STRING
from ..pods import Pods, pods
from ..running import manifest, new_name, until

__all__ = ["pods"]

NOBODY = words("""
    env --chdir=/ -u HOME -u USER -u LOGNAME TMPDIR=/tmp
    setpriv --reuid 65532 --regid 65532 --clear-groups --inh-caps -all,+dac_read_search
    --ambient-caps -all,+dac_read_search --bounding-set -all,+dac_read_search
""")
"""It may read what the tests' own user may, such as the interpreter; it may write nothing of it."""
FIRST = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]

as_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"),
    reason="needs to be root, to become somebody else",
)


def numbers(topic: str) -> dict[str, object]:
    converters = {"key.converter": "StringConverter", "value.converter": "StringConverter"}
    return manifest(new_name(), "numbers_source:Numbers", {"topic": topic, "batch.max.records": "2000", **converters})


@pytest.mark.slow
@as_root
def test_a_user_without_a_name_runs_a_backlog_on_spark_and_writes_nowhere_but_in_tmp(pods: Pods) -> None:
    task = pods.start(numbers(pods.lab.topic()), before=NOBODY)
    task.await_report("RUNNING")
    task.process.await_batch_on_spark()
    assert {p.uids().real for p in task.process.jvms()} == {65532}
    task.process.stop()
    assert task.last_word().exit_code == ExitCode.OK


def inner(task_pid: int) -> psutil.Process:
    """The process that works, below the container's first one, below `unshare`."""
    (first,) = until(lambda: psutil.Process(task_pid).children())
    (working,) = until(first.children)
    return working


@as_root
def test_as_the_first_process_it_stops_on_sigterm_and_ends_with_the_code_of_the_task(pods: Pods) -> None:
    task = pods.start(pods.lab.sink_manifest(pods.lab.topic()), before=FIRST)
    task.await_report("RUNNING")
    (first,) = psutil.Process(task.process.pid).children()
    first.send_signal(signal.SIGTERM)
    assert task.process.await_exit() == ExitCode.OK
    task.await_report("UNASSIGNED")


@as_root
def test_as_the_first_process_it_says_how_a_task_was_killed(pods: Pods) -> None:
    task = pods.start(pods.lab.sink_manifest(pods.lab.topic()), before=FIRST)
    task.await_report("RUNNING")
    inner(task.process.pid).kill()
    assert task.process.await_exit() == 128 + signal.SIGKILL
    assert "signal 9 (SIGKILL)" in str(task.last_word().message)


@pytest.mark.slow
@as_root
def test_as_the_first_process_it_reaps_orphans(pods: Pods) -> None:
    task = pods.start(numbers(pods.lab.topic()), before=FIRST)
    task.process.await_batch_on_spark()
    (first,) = psutil.Process(task.process.pid).children()
    (daemon,) = until(task.process.daemons)
    workers = until(task.process.workers)
    daemon.kill()  # its workers are the first process's now, and end
    for worker in workers:
        until(lambda w=worker: not w.is_running() or w.status() != psutil.STATUS_ZOMBIE)  # type: ignore[misc]
    first.send_signal(signal.SIGTERM)
    task.process.await_exit()


@pytest.mark.slow
@as_root
def test_a_user_without_a_name_writes_files_through_hadoop(pods: Pods) -> None:
    topic, out = pods.lab.topic(), Path(tempfile.mkdtemp(dir="/tmp"))
    out.chmod(0o777)
    try:
        config = {"value.converter": "StringConverter", "topics": topic, "path": str(out / "rows")}
        task = pods.start(manifest(new_name(), "SparkSink", config), before=NOBODY)
        pods.lab.produce(topic, "a", "b")
        task.process.await_log("Spark is up", seconds=180)
        pods.lab.wait_committed(task.spec.connector, topic, 2)
        task.process.stop()
        assert list(out.glob("rows/*.parquet"))
    finally:
        shutil.rmtree(out)


@as_root
def test_as_the_first_process_it_says_that_a_plugin_ended_the_process_without_a_word(pods: Pods) -> None:
    topic = pods.lab.topic()
    config = {**STRING, "topic": topic, "ends": "read", "how": "os"}
    task = pods.start(manifest(new_name(), "exiting:ExitingSource", config), before=FIRST)
    assert task.process.await_exit() == ExitCode.FAILED  # and not 0, the plugin's
    word = task.last_word()
    assert word.exit_code == ExitCode.FAILED
    assert "exited with code 0 in the middle of its work" in str(word.message)
