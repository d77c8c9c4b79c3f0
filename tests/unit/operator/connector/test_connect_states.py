"""Kafka Connect's states of a connector and its tasks, as the operator writes them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from penstock_model.connect.status_records import State, Status, connector_status, task_status
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome
from penstock_operator.connector.decide.decide import decide
from penstock_operator.connector.render.connect_states import state_records
from penstock_operator.key import Key

from .world.world import Killed, World

NAME = "shop.orders-in"
CONNECTOR = f"status-connector-{NAME}"


class Topic(World):
    """A world in which the states in the status topic are looked at."""

    @property
    def known(self) -> Mapping[bytes, Status]:
        """The states in the topic."""
        return self.topic.states(NAME)

    @property
    def told(self) -> list[tuple[str, str | None]]:
        """The states that the operator wrote, in order; None: it removed one."""
        states = [(key.decode(), Status.of(value)) for key, value in self.topic.written if key.startswith(b"status-")]
        return [(key, None if status is None else status.state) for key, status in states]

    def state(self, task: int | None = None) -> str | None:
        key = CONNECTOR if task is None else f"status-task-{NAME}-{task}"
        found = self.known.get(key.encode())
        return None if found is None else found.state

    def of(self, key: str) -> list[str | None]:
        return [state for k, state in self.told if k == key]


def running(**spec: Any) -> Topic:
    world = Topic(spec=spec)
    world.settle()
    assert (world.state(), world.state(0)) == ("RUNNING", "RUNNING")
    return world


def test_what_is_there_is_not_written_again() -> None:
    world = running(tasksMax=2)
    assert world.told == [(CONNECTOR, "RUNNING")]
    for _ in range(10):
        world.advance(600)
        world.reconcile()
    assert world.told == [(CONNECTOR, "RUNNING")]


@pytest.mark.parametrize("state", ["Paused", "Stopped"])
def test_a_connector_follows_what_is_asked_of_it(state: str) -> None:
    world = running(tasksMax=2)
    world.change(state=state)
    world.settle()
    assert world.state() == state.upper()
    assert world.state(1) == ("PAUSED" if state == "Paused" else None)
    world.change(state="Running")
    world.settle()
    assert world.of(CONNECTOR) == ["RUNNING", state.upper(), "RUNNING"]


def test_tombstones_of_tasks_wait_for_the_end_of_their_pods() -> None:
    world = running()
    pod = world.task(0)
    world.change(state="Stopped")
    world.reconcile()
    assert (world.state(), world.state(0)) == ("STOPPED", "RUNNING")
    assert pod.name in world.pods
    world.settle()
    assert world.state(0) is None


def test_a_state_that_comes_with_the_end_of_a_stopped_task_is_removed_too() -> None:
    world = running()
    world.change(state="Stopped")
    world.reconcile()
    world.topic.put(f"status-task-{NAME}-0".encode(), None)  # no state is read yet
    world.settle()
    assert world.of(f"status-task-{NAME}-0") == [None]


def test_a_restart_of_everything_goes_through_unassigned_and_restarting() -> None:
    world = running(tasksMax=2)
    world.annotations["penstock.dev/restart"] = "a"
    world.settle()
    assert world.of(CONNECTOR) == ["RUNNING", "UNASSIGNED", "RESTARTING", "RUNNING"]
    assert world.of(f"status-task-{NAME}-1") == ["RESTARTING"]


@pytest.mark.parametrize(
    ("code", "reason", "state", "trace"),
    [(137, "OOMKilled", "UNASSIGNED", None), (1, "Error", "FAILED", "Traceback"), (5, "Error", "UNASSIGNED", None)],
    ids=["lost", "failed", "unavailable"],
)
@pytest.mark.parametrize("tells", [True, False])
def test_the_end_of_a_task_that_could_not_report_it_is_reported(
    code: int, reason: str, state: str, trace: str | None, tells: bool
) -> None:
    world = running(restart={"backoff": {"initial": "10s"}})
    if reason == "OOMKilled":  # the first loss is made good at once
        world.end(world.task(0).name, code, reason)
        world.settle(0.0)
        assert world.of(f"status-task-{NAME}-0") == ["RESTARTING"]
    pod = world.task(0)
    if tells:
        world.report(pod, state="FAILED")
        world.topic.put(*task_status(NAME, 0, State.RUNNING, worker_id=pod.name, generation=1, version=None))
        # The rest is not read yet.
    world.end(pod.name, code, reason, "the disk is full", "Traceback")
    facts = world.facts()
    entries = state_records(facts, decide(facts, world.pod_hash), world.known, worker_id="ours")
    written = [json.loads(v) for k, v in entries if k == f"status-task-{NAME}-0".encode() and v is not None]
    assert [(w["state"], w["trace"]) for w in written] == ([] if tells else [(state, trace)])


def test_nothing_is_written_for_whoever_does_not_own_the_name() -> None:
    world = Topic()
    world.rival = Key("shop", "older")
    world.settle()
    world.change(state="Stopped")
    world.settle()
    assert world.told == []


def test_the_states_of_a_kafka_connect_stay_until_a_task_of_ours_is_about_to_start() -> None:
    world = Topic(spec={"state": "Stopped"})
    theirs: dict[str, Any] = {"worker_id": "10.0.0.7:8083", "generation": 3, "version": None}
    world.topic.put(*connector_status(NAME, State.RUNNING, **theirs))
    world.topic.put(*task_status(NAME, 0, State.RUNNING, **theirs))
    world.settle()
    assert world.told == []
    world.change(state="Paused")
    world.settle()
    assert (world.state(), world.state(0)) == ("PAUSED", "PAUSED")


def test_a_deleted_connector_that_never_ran_leaves_the_states_of_a_kafka_connect_untouched() -> None:
    world = Topic(spec={"state": "Stopped"})
    world.topic.put(*connector_status(NAME, State.RUNNING, worker_id="10.0.0.7:8083", generation=3, version=None))
    world.settle()
    world.delete()
    world.settle()
    assert world.told == []
    assert world.state() == "RUNNING"


def test_a_task_that_is_no_more_leaves_no_state() -> None:
    world = running(tasksMax=2)
    assert world.state(1) == "RUNNING"
    world.change(tasksMax=1)
    world.settle()
    assert (world.state(), world.state(0), world.state(1)) == ("RUNNING", "RUNNING", None)


def test_being_killed_between_any_two_writes_leads_to_the_same_states() -> None:
    for after in range(0, 12, 2):
        world = running(tasksMax=2)
        world.annotations["penstock.dev/restart"] = "a"
        world.kill_after = world.writes + after
        try:
            world.settle()
        except Killed:
            world.settle()
        assert (world.state(), world.state(0), world.state(1)) == ("RUNNING",) * 3
        world.change(state="Stopped")
        world.kill_after = world.writes + after
        world.settle()
        assert (world.state(), world.state(0), world.state(1)) == ("STOPPED", None, None)
        world.change(state="Running")
        world.kill_after = world.writes + after
        world.settle()
        assert (world.state(), world.state(0), world.state(1)) == ("RUNNING",) * 3


def test_a_connector_whose_preparation_fails_again_and_again_stays_failed_until_it_succeeds() -> None:
    world = running()
    refused = JobAnswer(
        id="",
        action=Action.PREPARE,
        outcome=Outcome.INVALID,
        problems=(JobProblem(property="offset.storage.topic", message="is not compacted"),),
    )
    world.preparing = refused
    world.change(tasksMax=2)
    tries = 0
    for _ in range(60):
        decision = world.reconcile()
        tries += any(getattr(wish, "action", None) is Action.PREPARE for wish in decision.create)
        if not world.tick():
            world.advance(decision.requeue_after or 0.0)
    assert tries > 2
    assert world.of(CONNECTOR) == ["RUNNING", "FAILED"]
    world.preparing = None
    world.settle()
    assert world.of(CONNECTOR) == ["RUNNING", "FAILED", "RUNNING"]
