"""Liveness of a task's loop: what counts as progress, and how a standstill is reported."""

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prometheus_client import CollectorRegistry, Counter

from penstock_runtime.process.liveness import Loop
from penstock_runtime.task.pod.http_server import serve


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def loop(clock: Clock) -> Loop:
    made = Loop(clock)
    made.begin()
    made.allow(420.0, "a rule")
    return made


def elsewhere(work: object) -> None:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def test_process_without_a_loop_is_healthy(clock: Clock) -> None:
    loop = Loop(clock)
    loop.turned()
    clock.now += 1e6
    assert loop.standstill() is None


def test_the_start_may_take_ten_minutes(clock: Clock) -> None:
    loop = Loop(clock)
    loop.begin()
    clock.now += 599
    assert loop.standstill() is None
    clock.now += 2
    assert loop.standstill() is not None


def test_turning_loop_is_always_healthy(loop: Loop, clock: Clock) -> None:
    for _ in range(100):
        clock.now += 419
        assert loop.standstill() is None
        loop.turned()


def test_stuck_loop_is_reported_with_its_location(loop: Loop, clock: Clock) -> None:
    clock.now += 421
    told = []
    elsewhere(lambda: told.append(loop.standstill()))
    (found,) = told
    assert found is not None
    assert found.seconds == 421
    assert "elsewhere" in found.where  # where this thread waits, below Python's own
    assert __file__ in found.trace
    assert "has made no progress for 421 s in " in str(found)
    loop.turned()
    assert loop.standstill() is None


def test_reported_location_is_in_the_plugin_and_not_in_pythons_library() -> None:
    loop, inside, done = Loop(), threading.Event(), threading.Event()

    def read_of_a_plugin() -> None:
        loop.begin()
        loop.allow(0.0, "a rule")
        inside.set()
        done.wait(60)

    thread = threading.Thread(target=read_of_a_plugin)
    thread.start()
    inside.wait(60)
    while "read_of_a_plugin" not in (found := loop.standstill() or "").__str__():
        assert thread.is_alive()
    assert "threading.py" not in str(found)
    done.set()
    thread.join()


def test_activity_of_another_thread_does_not_count(loop: Loop, clock: Clock) -> None:
    clock.now += 421
    elsewhere(loop.turned)
    assert loop.standstill() is not None


def test_longer_limit_applies_only_to_its_call(loop: Loop, clock: Clock) -> None:
    clock.now += 419
    with loop.longer(3600.0, "an hour"):
        clock.now += 3599
        assert loop.standstill() is None
        clock.now += 2
        still = loop.standstill()
        assert still is not None
        assert still.rule == "an hour"
    assert loop.standstill() is None
    clock.now += 421
    still = loop.standstill()
    assert still is not None
    assert still.rule == "a rule"


def test_longer_limit_of_a_call_never_shortens_the_loops_limit(loop: Loop, clock: Clock) -> None:
    with loop.longer(60.0, "a minute"):
        clock.now += 419
        assert loop.standstill() is None


def test_another_thread_cannot_extend_the_loops_limit(loop: Loop, clock: Clock) -> None:
    def longer() -> None:
        with loop.longer(3600.0, "an hour"):
            clock.now += 421
            assert loop.standstill() is not None

    elsewhere(longer)
    assert loop.standstill() is not None


def test_silent_witness_hides_no_standstill_and_is_asked_once_at_a_time(
    loop: Loop, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock_runtime.process.liveness._ANSWER", 0.05)
    asked, answers = 0, threading.Event()

    def hangs() -> bool:
        nonlocal asked
        asked += 1
        return answers.wait(60)

    with loop.witnessed(hangs):
        clock.now += 1800
        assert loop.standstill() is not None
        assert loop.standstill() is not None
        assert asked == 1
        answers.set()
        asking = next((t for t in threading.enumerate() if t.name == "at-work"), None)
        if asking is not None:
            asking.join()
        monkeypatch.setattr("penstock_runtime.process.liveness._ANSWER", 60.0)
        assert loop.standstill() is None


def test_a_call_that_spark_works_on_may_take_a_day(loop: Loop, clock: Clock) -> None:
    works = True
    with loop.witnessed(lambda: works):
        clock.now += 1800
        assert loop.standstill() is None
        works = False
        assert loop.standstill() is not None
        works = True
        clock.now += 86_400
        assert loop.standstill() is not None
    assert loop.standstill() is None
    clock.now += 421
    assert loop.standstill() is not None


@contextmanager
def page(url: str) -> Iterator[tuple[int, str]]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            yield answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        with e:
            yield e.code, e.read().decode()


def test_one_server_answers_for_health_readiness_and_metrics() -> None:
    registry = CollectorRegistry()
    Counter("kafka_connect_made_up", "Made up.", registry=registry).inc()
    wrong: list[str] = []
    port = serve(
        0, registry, healthy=lambda: wrong[0] if wrong else None, ready=lambda: "does not run yet", age=lambda: 0.25
    )
    with page(f"http://127.0.0.1:{port}/healthz") as found:
        assert found == (200, "ok, the loop last completed 0.2 s ago\n")
    with page(f"http://127.0.0.1:{port}/readyz?verbose") as found:
        assert found == (503, "does not run yet\n")
    with page(f"http://127.0.0.1:{port}/metrics") as found:
        assert found[0] == 200
        assert "kafka_connect_made_up_total 1.0" in found[1]
    wrong.append("it stands still")
    with page(f"http://localhost:{port}/healthz") as found:
        assert found == (503, "it stands still\n")


def test_clients_that_hold_connections_open_do_not_keep_the_kubelet_from_its_answer() -> None:
    port = serve(0, CollectorRegistry(), healthy=lambda: None, ready=lambda: None, age=lambda: 0.0)
    threads = threading.active_count()
    held = []
    try:
        for _ in range(200):
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(b"GET /metr")
            held.append(client)
        with page(f"http://127.0.0.1:{port}/healthz") as found:
            assert found[0] == 200
        assert threading.active_count() - threads < 100
    finally:
        for client in held:
            client.close()
