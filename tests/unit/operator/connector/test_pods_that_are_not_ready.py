"""A pod that fails its readiness probe: the cause is its own answer, where no report brings one."""

from typing import Any

import pytest

from penstock_operator.connector.observe import pods
from penstock_operator.kubernetes.times import timestamp

from .world.world import World

CUT_OFF = "Kafka at k:9092 has not answered. Check bootstrap.servers"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What pods answer, by address."""
    found: dict[str, str] = {}
    monkeypatch.setattr(pods, "why_unready", found.__getitem__)
    return found


@pytest.fixture
def world() -> World:
    world = World()
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    return world


def become(world: World, ready: str, *, at: float | None = None, pod: str = "orders-in-0-1") -> None:
    since = timestamp(world.now if at is None else at)

    def change(manifest: Any) -> None:
        manifest["status"]["podIP"] = "10.0.0.7"
        manifest["status"]["conditions"] = [{"type": "Ready", "status": ready, "lastTransitionTime": since}]

    world.edit_pod(pod, change)


def test_a_task_that_kafka_does_not_answer_is_hindered_though_its_report_says_that_it_runs(
    world: World, answers: dict[str, str]
) -> None:
    answers["10.0.0.7"] = CUT_OFF
    world.advance(60)
    become(world, "False")
    decision = world.reconcile()
    assert world.condition("Ready") == f"False Hindered: task 0: pod orders-in-0-1 is not ready: {CUT_OFF}"
    assert decision.requeue_after == 30
    become(world, "True")
    world.reconcile()
    assert world.condition("Ready").startswith("True Running")


def test_the_cause_in_a_report_goes_before_that_of_the_pod(world: World, answers: dict[str, str]) -> None:
    answers["10.0.0.7"] = "the task is hindered; its report gives the reason"
    world.advance(60)
    become(world, "False")
    world.report(world.task(0), trouble="the table is locked")
    world.reconcile()
    assert world.condition("Ready") == "False Hindered: task 0: the table is locked"


def test_a_task_that_hangs_before_its_first_round_is_named_with_the_cause(answers: dict[str, str]) -> None:
    answers["10.0.0.7"] = "the task has made no progress for 60 s"
    world = World(spec={"tasksMax": 1})
    world.report_news = lambda pod, reports: False  # type: ignore[method-assign]
    world.settle(seconds=20)
    world.report(world.task(0), progress="none")
    world.reconcile()
    assert world.condition("Ready") == "False Starting: task 0: it has started; its first records are pending"
    world.advance(60)
    become(world, "False")
    decision = world.reconcile()
    assert world.condition("Ready") == (
        "False Hindered: task 0: pod orders-in-0-1 is not ready: the task has made no progress for 60 s"
    )
    assert decision.requeue_after == 30
    become(world, "True")
    world.reconcile()
    assert world.condition("Ready") == "False Starting: task 0: it has started; its first records are pending"


def test_a_pod_that_says_it_is_well_by_now_is_well(world: World, answers: dict[str, str]) -> None:
    answers["10.0.0.7"] = ""
    world.advance(60)
    become(world, "False")
    world.reconcile()
    assert world.condition("Ready").startswith("True Running")


def test_a_pod_whose_probe_has_not_passed_yet_is_not_asked(world: World, answers: dict[str, str]) -> None:
    become(world, "False", at=world.task(0).created)
    world.reconcile()
    assert world.condition("Ready").startswith("True Running")


def test_what_hinders_a_start_is_in_the_status(world: World) -> None:
    world.end("orders-in-0-1", 137)
    world.reconcile()
    while not world.pods.get("orders-in-0-2"):
        world.advance(10)
        world.reconcile()
    world.start("orders-in-0-2")
    world.report(world.task(0), state="", trouble="cannot connect to db:5432: connection refused")
    world.reconcile()
    assert "cannot connect to db:5432: connection refused" in str(world.status["tasks"][0]["message"])
