"""What a Java plugin does wrong, and what its user reads: the end of its JVM, exceptions, methods that never return."""

import signal
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_spec import TaskState
from penstock_runtime.java_home import find_java

from ..checking import assert_exactly_once
from ..reading import create
from ..running import next_life, until
from .probe_plugin import Probe, ProbeLab, await_jvm, host_jvms, probe, probe_lab

__all__ = ["Probe", "probe", "probe_lab"]

RESTART = {"backoff": {"initial": "100ms", "max": "1s"}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "texts"),
    [
        ("exit 0", ["exited with code 0: the plugin has called System.exit"]),
        ("exit 7", ["exited with code 7: the plugin has called System.exit"]),
        ("memory", ["ran out of memory with a heap of 256m: Java heap space; raise PENSTOCK_JAVA_HEAP"]),
        (
            "throw",
            [
                "cannot poll dev.penstock.probe.ProbeSource: ConnectException: the slot is gone; caused by "
                "IllegalStateException: wal level; caused by IOException: disk of pg-7 is full"
            ],
        ),
        ("overflow", ["cannot poll dev.penstock.probe.ProbeSource: StackOverflowError"]),
        ("no class", ["cannot poll dev.penstock.probe.ProbeSource: NoClassDefFoundError: com/example/Driver"]),
    ],
)
def test_what_ends_poll_is_reported_and_what_was_polled_before_is_delivered(
    probe_lab: ProbeLab, topic: str, action: str, texts: list[str]
) -> None:
    create(probe_lab.servers, topic)
    log = probe_lab.fails(topic, {"poll.action": action, "at": 300})
    ended = next(line for line in reversed(log.splitlines()) if "has ended" in line)
    for text in texts:
        assert text in ended
    assert "did not return" not in log  # of the stop that follows
    with probe_lab.reader(topic) as reader:
        assert_exactly_once(reader.to_end(), 1)
        assert len(reader.records) <= 300


@pytest.mark.slow
def test_a_plugin_that_loads_ever_more_classes_is_ended_with_that_cause(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    bounded = {"options": ["-XX:MaxMetaspaceSize=48m"]}
    log = probe_lab.fails(topic, {"poll.action": "classes", "at": 300}, java=bounded)
    ended = next(line for line in reversed(log.splitlines()) if "has ended" in line)
    assert "its JVM ran out of memory: Metaspace; raise -XX:MaxMetaspaceSize in spec.java.options" in ended


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("throw", "cannot start dev.penstock.probe.ProbeSource: ConnectException: the slot is gone; caused by "),
        ("no class", "cannot start dev.penstock.probe.ProbeSource: "),
        ("exit 7", "cannot start dev.penstock.probe.ProbeSource: its JVM exited with code 7"),
    ],
)
def test_what_ends_start_is_reported(probe_lab: ProbeLab, topic: str, action: str, text: str) -> None:
    create(probe_lab.servers, topic)
    log = probe_lab.fails(topic, {"start.action": action})
    assert text in next(line for line in reversed(log.splitlines()) if "has ended" in line)


@pytest.mark.slow
def test_a_task_that_needs_a_newer_java_fails_with_both_versions_and_the_remedy(
    probe_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    """Its connector does not: Java loads the class of the task when it is made."""
    probe_lab.probe.for_java_99(tmp_path / "newer", "ProbeTask").jar(tmp_path / "plugins" / "probe.jar")
    create(probe_lab.servers, topic)
    log = probe_lab.fails(topic, path=tmp_path / "plugins")
    assert "UnsupportedClassVersionError: dev/penstock/probe/ProbeTask has been compiled" in log
    java = find_java().major
    assert f"compiled for Java 99, and the runtime has Java {java}; use a version of the plugin for Java {java}" in log


@pytest.mark.slow
@pytest.mark.parametrize("action", ["exit 7", "memory", "throw", "overflow"])
def test_a_task_whose_poll_failed_once_starts_again_and_loses_nothing(
    probe_lab: ProbeLab, topic: str, action: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    config = {"poll.action": action, "at": 300, "poll.once": tmp_path / "once", "total": 1_000}
    run = probe_lab.run(topic, config, restart=RESTART)
    with probe_lab.reader(topic) as reader:
        reader.count(1_000)
        run.stop()
        assert assert_exactly_once(reader.to_end(), 1) == {0: 1_000}


@pytest.mark.slow
@pytest.mark.parametrize("action", ["retriable", "kafka retriable"])
@pytest.mark.parametrize("place", ["poll", "start"])
def test_a_retriable_exception_is_retried_as_often_as_it_comes(
    probe_lab: ProbeLab, topic: str, action: str, place: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    marker = tmp_path / "times"
    config = {f"{place}.action": action, "at": 300, f"{place}.once": marker, f"{place}.times": 5, "total": 1_000}
    run = probe_lab.run(topic, config, restart={"policy": "Never"})
    with probe_lab.reader(topic) as reader:
        reader.count(1_000)
        run.stop()
        assert assert_exactly_once(reader.to_end(), 1) == {0: 1_000}
    assert marker.stat().st_size == 5
    assert f"Cannot {place} dev.penstock.probe.ProbeSource" in run.log_text()


@pytest.mark.slow
def test_a_poll_that_blocks_for_ever_holds_up_neither_commit_nor_the_end(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"poll.action": "block", "at": 300})
    with probe_lab.reader(topic) as reader:
        reader.count(300)
        until(lambda: "commit" in probe_lab.journal, what="commit() was called")
        begun = time.monotonic()
        run.stop()
        assert time.monotonic() - begun < 6
        assert not run.tree()
        assert "its poll() did not return within 3 s and ignored interrupts; its JVM was killed" in run.log_text()
        assert "is abandoned" not in run.log_text()
        assert assert_exactly_once(reader.to_end(), 1) == {0: 300}


@pytest.mark.slow
@pytest.mark.parametrize("place", ["start", "stop", "commit"])
def test_a_method_that_blocks_for_ever_does_not_hold_up_the_end(probe_lab: ProbeLab, topic: str, place: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {f"{place}.action": "block", "total": 100})
    if place == "start":
        until(lambda: "start 0" in probe_lab.journal, what=run.last_words)
    else:
        until(lambda: "commit" in probe_lab.journal, what=run.last_words)
    begun = time.monotonic()
    run.stop()
    assert time.monotonic() - begun < 7
    assert not run.tree()


@pytest.mark.slow
def test_a_plugin_that_floods_its_streams_delivers_and_its_lines_are_cut(
    probe_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    config = {"poll.action": "print", "poll.once": tmp_path / "once", "at": 300, "total": 1_000}
    run = probe_lab.run(topic, config)
    with probe_lab.reader(topic) as reader:
        reader.count(1_000)
    run.await_log("native end")
    (task,) = run.tasks()
    assert task.memory_info().rss < 400 << 20
    run.stop()
    lines = run.log_text().splitlines()
    assert max(map(len, lines)) < 70_000
    assert sum("err 1999" in line for line in lines) == 11  # 1999 and 19990 to 19999


@pytest.mark.slow
@pytest.mark.parametrize("action", ["threads", "child"])
def test_what_a_plugin_leaves_behind_does_not_hold_up_the_end(
    probe_lab: ProbeLab, topic: str, action: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"poll.action": action, "poll.once": tmp_path / "once", "total": 100})
    with probe_lab.reader(topic) as reader:
        reader.count(100)
    begun = time.monotonic()
    run.stop()
    assert time.monotonic() - begun < 6
    until(lambda: not run.tree(), seconds=10, what=lambda: str([p.cmdline() for p in run.tree()]))


@pytest.mark.slow
def test_a_killed_jvm_whose_child_lives_on_is_noticed_immediately(
    probe_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    config = {"poll.action": "child", "poll.once": tmp_path / "once", "pause": 5}
    run = probe_lab.run(topic, config, restart=RESTART)
    with probe_lab.reader(topic) as reader:
        reader.count(100)
        jvm = await_jvm(run)
        jvm.kill()
        await_jvm(run, but=jvm.pid)
        reader.count(len(reader.to_end()) + 100)
        run.stop()
        assert_exactly_once(reader.to_end(), 1)
    assert not host_jvms(run)


@pytest.mark.slow
@pytest.mark.parametrize("idle", ["null", "empty"])
def test_a_poll_that_returns_nothing_immediately_is_not_called_without_a_pause(
    probe_lab: ProbeLab, topic: str, idle: str
) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"idle": idle, "total": 100})
    with probe_lab.reader(topic) as reader:
        reader.count(100)
    before, begun = probe_lab.journal.count("poll"), time.monotonic()
    until(lambda: probe_lab.journal.count("poll") > before + 500, what="it polls")
    polls, seconds = probe_lab.journal.count("poll") - before, time.monotonic() - begun
    assert polls / seconds < 1_100
    run.stop()


@pytest.mark.slow
def test_a_task_that_fails_when_another_one_has_taken_over_leaves_as_superseded(
    probe_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    config = {"poll.action": "hold and throw", "poll.once": tmp_path / "held", "gate": tmp_path / "gate"}
    spec = probe_lab.spec(topic, config)
    first = probe_lab.processes.task(spec)
    until((tmp_path / "held").exists, what=first.last_words)
    probe_lab.processes.task(next_life(spec)).await_state("RUNNING")
    (tmp_path / "gate").touch()
    assert first.await_exit() == ExitCode.SUPERSEDED, first.last_words()
    assert first.failure is None


@pytest.mark.slow
def test_a_task_that_cannot_be_started_is_stopped_before_another_one_starts(
    probe_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    config = {"start.action": "retriable", "start.once": tmp_path / "once", "start.times": 2, "stop.action": "doze"}
    probe_lab.processes.task(probe_lab.spec(topic, {**config, "total": 10}))
    with probe_lab.reader(topic) as reader:
        reader.count(10)
    calls = [line for line in probe_lab.journal if line.startswith(("start", "stop"))]
    assert calls == ["start 0", "stop", "stopped"] * 2 + ["start 0"]


@pytest.mark.slow
def test_a_paused_task_is_not_polled(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    spec = probe_lab.spec(topic, {"idle": "null", "total": 0})
    task = probe_lab.processes.task(spec.model_copy(update={"state": TaskState.PAUSED}))
    task.await_state("PAUSED")
    task.stop()
    assert probe_lab.journal == ["start 0", "stop"]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["validate", "taskConfigs", "poll"])
def test_a_secret_that_a_plugin_prints_or_throws_is_not_shown(probe_lab: ProbeLab, topic: str, place: str) -> None:
    create(probe_lab.servers, topic)
    log = probe_lab.fails(topic, {f"{place}.action": "leak", "password": "pa55-of-the-probe"})
    assert "cannot log in with" in log
    assert "out [hidden]" in log
    assert "err [hidden]" in log
    assert "pa55-of-the-probe" not in log


@pytest.mark.slow
def test_a_record_that_cannot_be_read_is_no_loss_of_the_jvm(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    log = probe_lab.fails(topic, {"data": "deep", "count": 2_000})
    ended = next(line for line in reversed(log.splitlines()) if "has ended" in line)
    assert "cannot poll dev.penstock.probe.ProbeSource: a message of its JVM cannot be read: RecursionError" in ended
    assert "signal 9" not in ended


@pytest.mark.slow
def test_a_shutdown_hook_that_never_returns_does_not_hold_up_an_exit(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    log = probe_lab.fails(topic, {"poll.action": "hook", "at": 300})
    assert "its JVM exited with code 1: the plugin has called System.exit" in log


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        (
            signal.SIGABRT,
            ExitCode.FAILED,
            "its JVM crashed (SIGABRT): native code of the plugin",
        ),
        (signal.SIGTERM, ExitCode.LOST, "its JVM was killed by signal 15"),
        (signal.SIGKILL, ExitCode.LOST, "its JVM was killed by signal 9: another process sent the signal"),
    ],
)
def test_a_crash_of_the_jvm_is_a_failure_and_a_kill_is_a_loss(
    probe_lab: ProbeLab, topic: str, number: int, code: ExitCode, text: str
) -> None:
    create(probe_lab.servers, topic)
    task = probe_lab.processes.task(probe_lab.spec(topic, {"pause": 5}))
    with probe_lab.reader(topic) as reader:
        reader.count(100)
        await_jvm(task).send_signal(number)
    assert task.await_exit() == code, task.last_words()
    assert f" dev.penstock.probe.ProbeSource: {text}" in str(task.failure)
    assert "Cannot read the messages" not in task.log_text()
    assert not task.tree()


@pytest.mark.slow
def test_a_batch_that_was_fenced_is_polled_again_by_a_new_task_object(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    spec = probe_lab.spec(topic, {"pause": 5})
    task = probe_lab.processes.task(spec)
    with probe_lab.reader(topic) as reader:
        for _ in range(3):
            reader.count(len(reader.to_end()) + 500)
            starts = sum(line.startswith("start ") for line in probe_lab.journal)
            transactional_id = f"{WorkerConfig.parse(spec.worker).group_id}-{spec.connector}-0"
            other = Producer({"bootstrap.servers": probe_lab.servers, "transactional.id": transactional_id})
            other.init_transactions(30)
            until(lambda: sum(x.startswith("start ") for x in probe_lab.journal) > starts, what=task.last_words)  # noqa: B023
            other.close()
        reader.count(len(reader.to_end()) + 500)
        task.stop()
        assert_exactly_once(reader.to_end(), 1)
    assert not [e for e in task.events if e.get("state") == "FAILED"]
