"""`kill -9` and SIGSTOP of a Java plugin's JVM and of its task: every record exactly once, in order, and no JVM is left."""

import signal
import time
from contextlib import suppress

import psutil
import pytest

from penstock_model.contracts.exit_codes import ExitCode

from ..checking import assert_exactly_once, seeded
from ..reading import create
from ..running import Running, next_life, until
from .probe_plugin import Probe, ProbeLab, await_jvm, host_jvms, probe, probe_lab

__all__ = ["Probe", "probe", "probe_lab"]

RESTART = {"backoff": {"initial": "100ms", "max": "1s"}}


def task_of(run: Running) -> psutil.Process:
    return until(run.tasks, what=run.last_words)[0]


@pytest.mark.slow
@pytest.mark.soak
def test_kills_of_jvm_and_task_leave_every_record_exactly_once_and_no_jvm(
    probe_lab: ProbeLab, topic: str, rounds: int
) -> None:
    random = seeded()
    create(probe_lab.servers, topic)
    spec = probe_lab.spec(topic, {"batch": random.choice([10, 100, 1_000]), "pause": 5})
    lives = []
    with probe_lab.reader(topic) as reader:
        for life in range(rounds):
            more = random.randrange(1, 2_000) if random.random() < 0.7 else 0  # without any, perhaps while it starts
            victims = random.choice([["jvm"], ["task"], ["jvm", "task"], ["task", "jvm"]])
            print(f"kill {life}: {' and '.join(victims)} after {more} records")
            task = probe_lab.processes.task(spec)
            lives.append(task)
            jvm = await_jvm(task)
            if more:
                reader.count(len(reader.to_end()) + more)
            for victim in victims:
                with suppress(psutil.NoSuchProcess):  # it has died with the other one
                    (jvm if victim == "jvm" else task.process).kill()
            assert task.await_exit() in (ExitCode.LOST, -signal.SIGKILL), task.last_words()
            until(lambda: not host_jvms(task), what="its JVM has ended")  # noqa: B023
            spec = next_life(spec)
        task = probe_lab.processes.task(spec)
        reader.count(len(reader.to_end()) + 100)
        task.stop()
        assert_exactly_once(reader.to_end(), 1)
    assert not any(t.tree() for t in lives)


@pytest.mark.slow
def test_a_frozen_jvm_is_noticed_and_replaced(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"pause": 5}, restart=RESTART)
    with probe_lab.reader(topic) as reader:
        reader.count(100)
        frozen = await_jvm(run)
        frozen.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        run.await_log("was stopped or frozen")
        assert time.monotonic() - begun > 20
        reader.count(len(reader.to_end()) + 100)
        assert await_jvm(run).pid != frozen.pid
        run.stop()
        assert_exactly_once(reader.to_end(), 1)


@pytest.mark.slow
def test_a_task_that_was_stopped_for_a_while_continues_with_its_jvm(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"pause": 5}, restart=RESTART)
    with probe_lab.reader(topic) as reader:
        reader.count(100)
        task, jvm = task_of(run), await_jvm(run)
        task.send_signal(signal.SIGSTOP)
        time.sleep(40)  # longer than the silence after which a JVM counts as frozen
        task.send_signal(signal.SIGCONT)
        reader.count(len(reader.to_end()) + 1_000)
        assert (task_of(run).pid, await_jvm(run).pid) == (task.pid, jvm.pid), run.last_words()
        run.stop()
        assert_exactly_once(reader.to_end(), 1)


@pytest.mark.slow
@pytest.mark.parametrize("frozen", ["task", "jvm", "both"])
def test_a_frozen_jvm_dies_with_its_task(probe_lab: ProbeLab, topic: str, frozen: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"pause": 5}, restart=RESTART)
    with probe_lab.reader(topic) as reader:
        reader.count(100)
        task, jvm = task_of(run), await_jvm(run)
        for process in {"task": [task], "jvm": [jvm], "both": [jvm, task]}[frozen]:
            process.send_signal(signal.SIGSTOP)
        task.kill()
        until(lambda: jvm.pid not in {j.pid for j in host_jvms(run)}, what="the JVM has ended")
        reader.count(len(reader.to_end()) + 100)
        run.stop()
        assert_exactly_once(reader.to_end(), 1)


@pytest.mark.slow
def test_frozen_jvm_does_not_delay_sigterm(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"pause": 5})
    with probe_lab.reader(topic) as reader:
        reader.count(100)
        await_jvm(run).send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        run.stop()
        assert time.monotonic() - begun < 12
        assert not run.tree()
        assert_exactly_once(reader.to_end(), 1)
