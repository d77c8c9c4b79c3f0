"""What a task answers to the kubelet: well for as long as its loop turns, whatever it waits for."""

import os
import re
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_cli.embedded.broker import EmbeddedKafka
from penstock_model.contracts.exit_codes import ExitCode

from ..journal import Journal
from ..lab import Lab
from ..machine_time import Deadline
from ..pods import Pods, PodTask, pods
from ..running import Processes, manifest, new_name

pytestmark = pytest.mark.slow

__all__ = ["pods"]

STRING: Final = {"key.converter": "StringConverter", "value.converter": "StringConverter"}
SOON: Final = {"consumer.max.poll.interval.ms": "1000"}
"""So that a call counts as held up after a second, and what Kafka is given to answer."""
MARGIN: Final = ("--answer-seconds", "5", "--source-seconds", "1")
WATCHED: Final = 40.0


def asked(task: PodTask, page: str = "healthz", timeout: float = 30.0) -> tuple[int, str]:
    """What the kubelet would be answered; 0: nothing."""
    port = task.process.await_event(lambda e: e["event"] == "metrics")["port"]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read().decode()
    except OSError:
        return 0, ""


def age(task: PodTask) -> float:
    """Seconds since the loop turned."""
    code, text = asked(task)
    assert code == 200, (code, text, task.process.last_words())
    found = re.fullmatch(r"ok, the loop last completed ([0-9.]+) s ago\n", text)
    assert found is not None, text
    return float(found[1])


def until(task: PodTask, claim: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Ask as the kubelet does, again and again."""
    deadline = Deadline(seconds)
    while not claim():
        assert not deadline.passed(), f"{what}\n{task.process.last_words()}"
        time.sleep(0.2)  # nobody tells of an answer that would be another one


@contextmanager
def away(kafka: EmbeddedKafka, how: signal.Signals) -> Iterator[None]:
    """A broker that is gone, or that takes requests and answers none."""
    if how is signal.SIGKILL:
        kafka.kill()
        yield
        return
    pid = kafka.pid
    assert pid is not None
    os.kill(pid, how)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def stalling(pods: Pods, kind: str, folder: Path, **config: str) -> dict[str, Any]:
    topic = pods.lab.topic()
    files = {"hold": str(folder / "hold"), "away": str(folder / "away")}
    if kind == "source":
        return manifest(new_name(), "stalling:StallingSource", {"topic": topic, **files, **STRING, **config})
    pods.lab.produce(topic, "a", "b")
    return manifest(new_name(), "stalling:StallingSink", {"topics": topic, **files, **STRING, **config})


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_is_well_from_its_start_and_ready_when_it_runs_or_is_paused(
    pods: Pods, tmp_path: Path, kind: str
) -> None:
    task = pods.start(stalling(pods, kind, tmp_path))
    assert asked(task)[0] == 200
    task.await_report("RUNNING")
    assert asked(task, "readyz")[0] == 200
    task.control(2, "Paused")
    task.await_report("PAUSED")
    begun = time.monotonic()
    while time.monotonic() - begun < 5:
        assert age(task) < 3
        assert asked(task, "readyz")[0] == 200
    assert "kafka_connect_connector_task_status" in asked(task, "metrics")[1]
    task.process.stop()
    assert task.last_word().exit_code == ExitCode.OK


def test_a_sink_that_is_held_up_says_where_long_before_its_health_check_fails(pods: Pods, tmp_path: Path) -> None:
    task = pods.start(stalling(pods, "sink", tmp_path), "--answer-seconds", "20", worker=SOON)
    task.await_report("RUNNING")
    (tmp_path / "hold").touch()
    pods.lab.produce(task.spec.config["topics"], "c")
    report = task.await_report("RUNNING", where=lambda r: r.trouble)
    assert str(report.trouble).startswith("Held up for more than 10 s in hold (")
    assert "stalling.py, line " in str(report.trouble)
    assert "after 21 s the health check fails" in str(report.trouble)
    (tmp_path / "hold").unlink()
    task.await_report("RUNNING", where=lambda r: not r.trouble)


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_whose_plugin_does_not_return_is_reported_with_the_place_and_is_well_again_when_it_does(
    pods: Pods, tmp_path: Path, kind: str
) -> None:
    task = pods.start(stalling(pods, kind, tmp_path), *MARGIN, worker=SOON)
    task.await_report("RUNNING")
    assert asked(task)[0] == 200
    (tmp_path / "hold").touch()
    if kind == "sink":
        pods.lab.produce(task.spec.config["topics"], "c")
    until(task, lambda: asked(task)[0] == 503, "it is held up")
    code, text = asked(task)
    assert code == 503
    assert "has been stuck for" in text
    assert "stalling.py" not in text  # whoever reaches the pod may ask
    assert asked(task, "readyz")[0] == 503
    assert "kafka_connect" in asked(task, "metrics")[1]
    (tmp_path / "hold").unlink()
    until(task, lambda: asked(task)[0] == 200, "it goes on")
    assert asked(task, "readyz")[0] == 200
    (tmp_path / "hold").touch()
    if kind == "sink":
        pods.lab.produce(task.spec.config["topics"], "d")
    until(task, lambda: asked(task)[0] == 503, "it is held up again")
    task.process.terminate()  # as the kubelet does then
    assert task.process.await_exit() == ExitCode.STALLED
    word = task.last_word()
    assert word.exit_code == ExitCode.STALLED
    assert "did not answer its health check" in (word.message or "")
    assert "in hold (" in (word.message or "")
    assert "stalling.py, line " in (word.message or "")
    assert "The task's health check fails from now on" in task.process.log_text()


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_whose_outside_asks_to_wait_for_an_hour_is_well(pods: Pods, tmp_path: Path, kind: str) -> None:
    (tmp_path / "away").touch()
    task = pods.start(stalling(pods, kind, tmp_path), *MARGIN, worker=SOON)
    task.await_report("RUNNING", where=lambda r: "away" in (r.trouble or ""))
    begun = time.monotonic()
    while time.monotonic() - begun < WATCHED:
        assert age(task) < 5
        time.sleep(0.5)
    task.process.stop()


def test_a_process_that_is_frozen_gives_no_answer_and_is_well_when_it_continues(pods: Pods, tmp_path: Path) -> None:
    task = pods.start(stalling(pods, "source", tmp_path))
    task.await_report("RUNNING")
    pid = task.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        assert asked(task, timeout=3) == (0, "")
        assert asked(task, "readyz", timeout=3) == (0, "")
    finally:
        os.kill(pid, signal.SIGCONT)
    until(task, lambda: asked(task)[0] == 200, "it goes on")
    assert asked(task, "readyz")[0] == 200


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_process_that_was_frozen_for_longer_than_a_call_may_take_is_well_when_it_continues(
    pods: Pods, tmp_path: Path, kind: str
) -> None:
    task = pods.start(stalling(pods, kind, tmp_path), *MARGIN, worker=SOON)
    task.await_report("RUNNING")
    pid = task.process.pid
    os.kill(pid, signal.SIGSTOP)
    time.sleep(10)  # the bound is six seconds
    os.kill(pid, signal.SIGCONT)
    until(task, lambda: asked(task)[0] == 200, "it goes on")
    assert age(task) < 5
    task.process.stop()
    assert task.last_word().exit_code == ExitCode.OK


def test_the_start_of_a_sink_may_take_longer_than_a_write(pods: Pods, tmp_path: Path) -> None:
    (tmp_path / "begin").touch()
    task = pods.start(stalling(pods, "sink", tmp_path, begin=str(tmp_path / "begin")), *MARGIN, worker=SOON)
    until(task, lambda: (tmp_path / "begun").exists(), "it starts")
    begun = time.monotonic()
    while time.monotonic() - begun < 20:  # the bound of a write is six seconds
        assert asked(task)[0] == 200
        time.sleep(0.5)
    (tmp_path / "begin").unlink()
    task.await_report("RUNNING")
    (tmp_path / "hold").touch()
    pods.lab.produce(task.spec.config["topics"], "c")
    until(task, lambda: asked(task)[0] == 503, "the bound of a write holds again")


def the_oldest_turn(task: PodTask) -> float:
    """Kafka is away for so long that a question to it runs out of time again and again."""
    ages, begun = [0.0], time.monotonic()
    while time.monotonic() - begun < 2 * WATCHED:
        ages.append(age(task))
        time.sleep(0.5)
    print(f"the oldest turn: {max(ages):.1f} s")
    return max(ages)


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_that_kafka_does_not_answer_is_not_ready_and_is_so_again_when_kafka_does(
    own_kafka: EmbeddedKafka, processes: Processes, journal: Journal, tmp_path: Path, kind: str
) -> None:
    pods = Pods(Lab(own_kafka.bootstrap_servers, processes, journal), tmp_path)
    task = pods.start(stalling(pods, kind, tmp_path))
    task.await_report("RUNNING")
    assert asked(task, "readyz")[0] == 200
    with away(own_kafka, signal.SIGSTOP):
        until(task, lambda: "has not answered" in asked(task, "readyz")[1], "it is not ready")
        assert asked(task)[0] == 200  # another process could do no better
    until(task, lambda: asked(task, "readyz")[0] == 200, "it is ready again")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_whose_kafka_becomes_unavailable_is_well(
    own_kafka: EmbeddedKafka, processes: Processes, journal: Journal, tmp_path: Path, kind: str, how: signal.Signals
) -> None:
    pods = Pods(Lab(own_kafka.bootstrap_servers, processes, journal), tmp_path)
    task = pods.start(stalling(pods, kind, tmp_path))
    task.await_report("RUNNING")
    with away(own_kafka, how):
        assert the_oldest_turn(task) < 60


@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_whose_kafka_becomes_unavailable_while_it_starts_is_well(
    own_kafka: EmbeddedKafka, processes: Processes, journal: Journal, tmp_path: Path, kind: str, how: signal.Signals
) -> None:
    pods = Pods(Lab(own_kafka.bootstrap_servers, processes, journal), tmp_path)
    (tmp_path / "begin").touch()
    task = pods.start(stalling(pods, kind, tmp_path, begin=str(tmp_path / "begin")))
    until(task, lambda: (tmp_path / "begun").exists(), "it starts")
    with away(own_kafka, how):
        (tmp_path / "begin").unlink()  # a sink asks for its group's offsets now
        assert the_oldest_turn(task) < 60


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_that_waits_for_kafka_at_its_start_is_well(
    own_kafka: EmbeddedKafka, processes: Processes, journal: Journal, tmp_path: Path, kind: str
) -> None:
    pods = Pods(Lab(own_kafka.bootstrap_servers, processes, journal), tmp_path)
    spec = pods.lab.spec(stalling(pods, kind, tmp_path))
    with away(own_kafka, signal.SIGSTOP):
        task = pods.task(spec, "--reach-seconds", "600")
        assert the_oldest_turn(task) < 60
        assert asked(task, "readyz")[0] == 503


@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_paused_task_whose_kafka_becomes_unavailable_is_well(
    own_kafka: EmbeddedKafka, processes: Processes, journal: Journal, tmp_path: Path, kind: str, how: signal.Signals
) -> None:
    pods = Pods(Lab(own_kafka.bootstrap_servers, processes, journal), tmp_path)
    task = pods.start(stalling(pods, kind, tmp_path))
    task.await_report("RUNNING")
    task.control(2, "Paused")
    task.await_report("PAUSED")
    with away(own_kafka, how):
        assert the_oldest_turn(task) < 60
