"""What a Java sink does wrong, or is done to it: the task ends with a cause, and no record is lost."""

import signal
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from penstock_model.contracts.exit_codes import ExitCode

from ..reading import create, delete, produce
from ..running import Running, next_life, until
from .probe_plugin import SINK, Probe, ProbeLab, all_planned, await_jvm, probe, probe_lab, sink_lab
from .test_java_sinks import SOON, numbers, texts

__all__ = ["Probe", "probe", "probe_lab", "sink_lab"]

RESTART: Final = {"backoff": {"initial": "100ms", "max": "1s"}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "action", "text"),
    [
        (
            "put",
            "throw",
            "cannot write to dev.penstock.probe.ProbeSink: ConnectException: the slot is gone; caused by Illegal",
        ),
        ("put", "exit 7", "cannot write to dev.penstock.probe.ProbeSink: its JVM exited with code 7"),
        ("put", "memory", "ran out of memory with a heap of 256m"),
        ("put", "overflow", "cannot write to dev.penstock.probe.ProbeSink: StackOverflowError"),
        ("start", "throw", "cannot start dev.penstock.probe.ProbeSink: ConnectException: the slot is gone"),
        (
            "open",
            "throw",
            "cannot open the partitions of dev.penstock.probe.ProbeSink: ConnectException: the slot is gone",
        ),
        ("idle", "throw", "cannot write to dev.penstock.probe.ProbeSink: ConnectException: the slot is gone"),
        (
            "preCommit",
            "exit 7",
            "cannot commit the offsets of dev.penstock.probe.ProbeSink: its JVM exited with code 7",
        ),
    ],
)
def test_what_ends_a_java_sink_is_reported(sink_lab: ProbeLab, topic: str, place: str, action: str, text: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    log = sink_lab.fails(topic, {f"{place}.action": action}, worker=SOON)
    assert text in next(line for line in reversed(log.splitlines()) if "has ended" in line)


@pytest.mark.slow
def test_a_task_that_cannot_be_started_is_stopped_before_another_one_starts(
    sink_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 10))
    config = {"start.action": "retriable", "start.once": tmp_path / "once", "start.times": 2, "stop.action": "doze"}
    task = sink_lab.processes.task(sink_lab.spec(topic, config))
    until(lambda: len(sink_lab.out) == 10, what=task.last_words)
    calls = [line for line in sink_lab.journal if line.startswith(("start", "stop"))]
    assert calls == ["start ", "stop", "stopped"] * 2 + ["start "]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_tasks_that_are_replaced_by_more_or_fewer_within_a_put_lose_nothing_and_commit_nothing(
    sink_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    """Tasks of each plan but the last are held within a put, until those of the next plan have committed more."""
    create(sink_lab.servers, topic, partitions=6)
    written = 0  # in each partition
    within: list[str] = []
    running: list[Running] = []

    def write(count: int) -> list[str]:
        nonlocal written
        new = numbers(6 * written, 6 * (written + count))
        for partition in range(6):
            produce(sink_lab.servers, topic, new[partition::6], partition=partition)
        written += count
        return texts(new)

    def committed() -> set[int | None]:
        return {sink_lab.committed(topic, partition) for partition in range(6)}

    def await_commit() -> None:
        until(lambda: committed() == {written}, what=lambda: "\n".join(task.last_words() for task in running))

    for count in (2, 3, 1):
        replaced, before = running, min(offset or 0 for offset in committed())
        marker = tmp_path / f"held-{count}"
        hold = {"put.action": "hold", "put.once": marker, "put.times": count, "gate": tmp_path / f"gate-{count}"}
        at = 6 * (written + 20 - before) // count + 1  # of the records of one task
        resource = sink_lab.manifest(topic, {**hold, "at": at}, tasks_max=count)
        plan = all_planned(resource, sink_lab.servers, sink_lab.probe.folder, SOON)
        running = [sink_lab.processes.task(spec) for spec in plan]
        for _ in range(2):
            write(10)
            await_commit()
        if replaced:
            (tmp_path / f"gate-{len(replaced)}").touch()
            for task in replaced:
                assert task.await_exit() == ExitCode.SUPERSEDED, task.last_words()
            assert committed() == {written}
        if count > 1:
            within += write(10)
            until(lambda: marker.exists() and marker.stat().st_size == count, what=running[0].last_words)  # noqa: B023
    running[0].stop()
    found = Counter(sink_lab.out)
    assert set(found) == set(texts(numbers(0, 6 * written)))
    assert {text for text, times in found.items() if times > 1} <= set(within)
    assert max(found.values()) == 2


@pytest.mark.slow
def test_a_task_that_fails_when_another_one_has_taken_over_leaves_as_superseded(
    sink_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(sink_lab.servers, topic)
    config = {"idle.action": "hold and throw", "idle.once": tmp_path / "held", "gate": tmp_path / "gate"}
    spec = sink_lab.spec(topic, config)
    first = sink_lab.processes.task(spec)
    until((tmp_path / "held").exists, what=first.last_words)
    sink_lab.processes.task(next_life(spec)).await_state("RUNNING")
    (tmp_path / "gate").touch()
    assert first.await_exit() == ExitCode.SUPERSEDED, first.last_words()
    assert first.failure is None


@pytest.mark.slow
def test_a_class_whose_task_is_no_sink_task_is_refused(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 10))
    sink_lab.connector = "dev.penstock.probe.WrongSink"
    log = sink_lab.fails(topic)
    assert "dev.penstock.probe.ProbeTask is not a subclass of org.apache.kafka.connect.sink.SinkTask" in log


@pytest.mark.slow
@pytest.mark.parametrize("action", ["exit 7", "throw"])
def test_a_sink_whose_put_failed_once_starts_again_and_loses_nothing(
    sink_lab: ProbeLab, topic: str, action: str, tmp_path: Path
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 3_000))
    config = {"put.action": action, "put.once": tmp_path / "once", "at": 1_000}
    run = sink_lab.run(topic, config, worker=SOON, restart=RESTART)
    until(lambda: sink_lab.committed(topic) == 3_000, what=run.last_words)
    run.stop()
    assert set(sink_lab.out) == set(texts(numbers(0, 3_000)))


@pytest.mark.slow
def test_a_position_that_a_task_sets_while_it_closes_a_deleted_topic_is_none_of_the_next_topic(
    sink_lab: ProbeLab, topic: str
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    often = {"consumer.override.metadata.max.age.ms": "300"}
    run = sink_lab.run(topic, {"close.offset": 50, **often}, worker=SOON)
    until(lambda: sink_lab.committed(topic) == 100, what=run.last_words)
    delete(sink_lab.servers, topic)
    until(lambda: "close [0]" in sink_lab.journal, what=run.last_words)
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(100, 200))
    until(lambda: sink_lab.out[-1] == "199", what=run.last_words)
    run.stop()
    assert sink_lab.out == texts(numbers(0, 200))


@pytest.mark.slow
def test_a_put_that_does_not_return_is_reported_and_ends_the_task(
    sink_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    config = {
        "put.action": "block",
        "put.once": tmp_path / "once",
        "consumer.override.max.poll.interval.ms": "3000",
    }
    run = sink_lab.run(topic, config, worker=SOON, restart=RESTART)
    run.await_log("its put() has not returned within 3 s, so its JVM was killed")
    until(lambda: sink_lab.committed(topic) == 100, what=run.last_words)
    run.stop()
    assert set(sink_lab.out) == set(texts(numbers(0, 100)))
    assert not run.tree()


@pytest.mark.slow
def test_a_put_that_does_not_return_does_not_hold_up_the_end(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    run = sink_lab.run(topic, {"put.action": "block"}, worker=SOON)
    until(lambda: any(line.startswith("put ") for line in sink_lab.journal), what=run.last_words)
    begun = time.monotonic()
    run.stop()
    assert time.monotonic() - begun < 12
    assert not run.tree()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        (signal.SIGKILL, ExitCode.LOST, "its JVM was killed by signal 9"),
        (signal.SIGABRT, ExitCode.FAILED, "its JVM crashed (SIGABRT)"),
    ],
)
def test_a_killed_jvm_is_noticed_while_nothing_comes(
    sink_lab: ProbeLab, topic: str, number: int, code: ExitCode, text: str
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 10))
    task = sink_lab.processes.task(sink_lab.spec(topic))
    until(lambda: len(sink_lab.out) == 10, what=task.last_words)
    await_jvm(task).send_signal(number)
    assert task.await_exit() == code, task.last_words()
    assert text in str(task.failure)


@pytest.mark.slow
@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGSTOP])
def test_a_jvm_that_is_killed_or_frozen_within_put_loses_no_record(
    sink_lab: ProbeLab, topic: str, kill: int, tmp_path: Path
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 3_000))
    # The first put blocks, so that it is what the signal meets.
    config = {"put.action": "block", "put.once": tmp_path / "once", "at": 1_000}
    run = sink_lab.run(topic, config, worker=SOON, restart=RESTART)
    until(lambda: (tmp_path / "once").exists(), what=run.last_words)
    await_jvm(run).send_signal(kill)
    run.await_log("its JVM was killed by signal 9" if kill == signal.SIGKILL else "was stopped or frozen")
    until(lambda: sink_lab.committed(topic) == 3_000, what=run.last_words)
    run.stop()
    assert set(sink_lab.out) == set(texts(numbers(0, 3_000)))
    assert SINK in run.log_text()
