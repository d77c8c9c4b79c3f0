"""A task that fails by its own fault: what is told, what follows, what a person can do."""

import time

import pytest

from .place import Place, condition, task

QUICK = {"policy": "OnFailure", "maxRestarts": 2, "backoff": {"initial": "1s", "factor": 1, "max": "1s"}}


@pytest.mark.slow
def test_a_failing_task_shows_its_trace_backs_off_to_its_limit_and_waits_for_a_person(place: Place) -> None:
    topic = f"{place.namespace}.in"
    place.kafka.write(topic, ["1"])
    sink = place.connector("out", "FileStreamSink", {"file": "/etc/forbidden/out.txt", "topics": topic}, restart=QUICK)
    failed = sink.until(lambda c: c if task(c).get("failures") else None, "the first failure", 90)
    own = task(failed)
    assert own["state"] == "Failed"
    assert "/etc/forbidden" in own["message"]
    assert "restart 1 of 2" in own["message"]
    assert "Traceback" in own["trace"]
    assert own["retryAt"]
    assert condition(failed, "Reconciling")["reason"] == "TasksFailed"
    sink.tells("TaskFailed", "/etc/forbidden")

    sink.says("TasksFailed", "spec.restart.maxRestarts", limit=60)
    final = sink.get()
    assert final["status"]["state"] == "Failed"
    assert condition(final, "Stalled")["status"] == "True"
    assert task(final)["incarnation"] == 3
    assert "retryAt" not in task(final)
    kept = sink.pods()
    assert 1 <= len(kept) <= 2, "the last pods stay, for their logs"

    sink.annotate(restart_failed="now")
    sink.until(lambda c: task(c).get("incarnation", 0) > 3, "another life for the one that failed")
    handled = sink.status["restartActions"]
    assert [(h["action"], h["token"], h["result"]) for h in handled] == [("restart-failed", "now", "Succeeded")]
    sink.tells("RestartRequested", "now")

    sink.configure(file="/tmp/out.txt")
    sink.reaches("Running")
    lives = sink.lives()
    sink.annotate(restart_failed="now")
    sink.apply()
    assert sink.reaches("Running")
    running = {n: u for n, u in sink.lives().items() if n == sink.pod()}
    assert running.items() <= lives.items(), "a token that was handled acts no more"


@pytest.mark.slow
def test_restarts_are_for_all_or_for_the_named_tasks_and_once_per_token(place: Place) -> None:
    source = place.datagen("orders", tasksMax=2, config={"partitions": 2, "rate": 100})
    source.reaches("Running")
    first = source.lives()

    source.annotate(restart_tasks="a 1")
    source.until(lambda c: task(c, 1).get("incarnation") == 2 and task(c, 1)["state"] == "Running", "task 1 again")
    second = source.lives()
    assert second[source.pod(0)] == first[source.pod(0)]
    assert source.pod(1) not in first

    begun = time.monotonic()
    source.annotate(restart="b")
    source.until(lambda c: task(c, 0).get("incarnation") == 2, "task 0 again")
    source.reaches("Running")
    print(f"restart of all: {time.monotonic() - begun:.1f} s")
    assert not set(source.lives().values()) & set(second.values())

    source.annotate(restart_tasks="c 7")
    message = source.tells("RestartRefused", "7: no such task")
    assert '"<token> 0,2"' in message
    tokens = [(h["action"], h["token"], h["result"]) for h in source.status["restartActions"]]
    assert tokens == [
        ("restart-tasks", "a", "Succeeded"),
        ("restart", "b", "Succeeded"),
        ("restart-tasks", "c", "Refused"),
    ]
    source.apply(state="Stopped")
    source.reaches("Stopped")
    numbers = place.kafka.values(source.topic)
    assert max(map(numbers.count, set(numbers))) <= 2, "restarts double nothing"
