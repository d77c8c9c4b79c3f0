"""A reset of offsets that an annotation asks for: once, while the Connector is to be stopped, and never beside its tasks."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, JobRequest, OffsetsVerb, Outcome
from penstock_operator import names
from penstock_operator.connector.model.pod_status import JobPod, Phase, TaskPod
from penstock_operator.kubernetes.kinds import CONFIG_MAP, POD
from penstock_operator.name_ownership import owner_mark

from .world.cluster import KEY, UID
from .world.world import Killed, World

RESET = "penstock.dev/reset-offsets"
WRITES = 8
"""Of an operator that does what one annotation asks for."""


def stopped(**more: Any) -> World:
    """A Connector that has run, and is stopped."""
    world = World(**more)
    world.settle()
    assert world.lives
    world.change(state="Stopped")
    world.settle()
    assert world.condition("Ready").startswith("True Stopped")
    return world


def ask(world: World, token: str = "r1", annotation: str = RESET) -> None:
    world.annotations = {**world.annotations, annotation: token}


def actions(world: World) -> list[dict[str, Any]]:
    return list(world.status.get("offsetsActions", ()))


def began(world: World) -> list[Any]:
    """Since when the pod of each action may exist."""
    return [a.get("began") for a in world.status["operatorState"].get("offsetsActions", ())]


def last(world: World) -> tuple[str, str, str]:
    action = actions(world)[-1]
    return action["token"], action["result"], action.get("message", "")


def offsets_pods(world: World) -> list[JobPod]:
    return [p for p in world.pods.values() if isinstance(p, JobPod) and p.action == Action.OFFSETS]


def requests(world: World) -> list[JobRequest]:
    return [r for r in world.requests.values() if r.action is Action.OFFSETS]


def until(world: World, claim: Callable[[], Any], *, answers: bool = True) -> None:
    """Reconcile, and let the others act, until a claim holds."""
    for _ in range(200):
        if claim():
            return
        world.reconcile()
        if not claim() and (answers or not offsets_pods(world)):
            world.tick()
    raise AssertionError(f"does not come to be: {actions(world)}")


def running_pod(world: World) -> JobPod:
    """The pod of the action, at work."""
    until(world, lambda: offsets_pods(world), answers=False)
    (pod,) = offsets_pods(world)
    world.start(pod.name)
    world.reconcile()
    return offsets_pods(world)[0]


# What is done


def test_a_stopped_connector_is_reset_once_per_token_and_says_so() -> None:
    world = stopped()
    ask(world)
    world.settle()
    assert last(world) == ("r1", "Succeeded", "done")
    assert len(world.resets) == 1
    assert offsets_pods(world) == []
    assert told(world) == [("Normal", "reset (r1): done")]
    world.advance(3600)
    world.settle()
    ask(world, "r2")
    world.settle()
    ask(world, "r1")  # as an older commit does
    world.settle()
    assert [(a["token"], a["result"]) for a in actions(world)] == [("r1", "Succeeded"), ("r2", "Succeeded")]
    assert len(world.resets) == 2
    assert world.condition("Ready").startswith("True Stopped")


def told(world: World) -> list[tuple[str, str]]:
    return [(str(e.type), e.message) for e in world.events if e.action == "Offsets"]


def test_pending_is_in_the_status_before_the_pod_exists() -> None:
    world = stopped()
    ask(world)
    world.kill_before = POD
    with pytest.raises(Killed):
        world.reconcile()
    assert last(world)[:2] == ("r1", "Pending")
    assert all(began(world))
    assert offsets_pods(world) == []
    world.settle()
    assert last(world) == ("r1", "Succeeded", "done")
    assert len(world.resets) == 1


def test_the_request_has_the_verb_the_owner_and_the_generation_that_may_be_recorded() -> None:
    world = stopped()
    ask(world)
    world.settle()
    (request,) = requests(world)
    assert request.offsets is not None
    assert (request.offsets.verb, request.offsets.generation) == (OffsetsVerb.RESET, 1)
    assert request.owner == owner_mark(KEY, UID, world.settings.release)


def test_tasks_are_prepared_again_after_it_and_run() -> None:
    world = stopped()
    ask(world)
    world.settle()
    assert "fence" not in world.status["operatorState"]["plan"]
    world.change(state="Running")
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert [p for p in world.pods.values() if isinstance(p, TaskPod) and world.is_superseded(p)] == []


def test_the_fence_is_cleared_with_the_pending_entry_so_that_no_task_starts_unprepared() -> None:
    world = stopped()
    assert world.status["operatorState"]["plan"]["fence"]
    ask(world)
    world.kill_before = POD
    with pytest.raises(Killed):
        world.reconcile()
    assert "fence" not in world.status["operatorState"]["plan"]


def test_a_connector_that_never_ran_is_reset() -> None:
    world = World(spec={"state": "Stopped"}, annotations={RESET: "r1"})
    world.settle()
    assert last(world) == ("r1", "Succeeded", "done")
    (request,) = requests(world)
    assert request.offsets is not None
    assert request.offsets.generation == 0
    world.change(state="Running")
    world.settle()
    assert world.condition("Ready").startswith("True Running")


# What is refused


@pytest.mark.parametrize("state", ["Running", "Paused"])
def test_a_connector_that_is_not_to_be_stopped_refuses_and_the_token_is_used_up(state: str) -> None:
    world = World(spec={"state": state})
    world.settle()
    ask(world)
    world.settle()
    token, result, message = last(world)
    assert (token, result) == ("r1", "Refused")
    assert message.startswith("Connectors must be in the STOPPED state before their offsets can be modified")
    assert [type_ for type_, _ in told(world)] == ["Warning"]
    world.change(state="Stopped")
    world.settle()
    assert len(actions(world)) == 1
    assert (world.resets, requests(world)) == ([], [])


@pytest.mark.parametrize("value", ["r1 now", '{"offsets": []}', "r" * 101])
def test_a_value_that_is_no_token_resets_nothing(value: str) -> None:
    world = stopped()
    ask(world, value)
    world.settle()
    assert last(world)[1:] == (
        "Refused",
        "the value is not a token: a token is a word of your choice, without spaces, of at most 100 characters",
    )
    world.settle()
    assert len(actions(world)) == 1
    assert world.resets == []


def refused(outcome: Outcome, **more: Any) -> JobAnswer:
    return JobAnswer(id="", action=Action.OFFSETS, outcome=outcome, **more)


@pytest.mark.parametrize(
    ("answer", "result", "message"),
    [
        (refused(Outcome.REFUSED, message="custom refusal"), "Refused", "custom refusal"),
        (
            refused(Outcome.INVALID, problems=(JobProblem(property="file", message="is wrong"),)),
            "Refused",
            "file: is wrong",
        ),
        (refused(Outcome.SUPERSEDED, message="was started since"), "Refused", "was started since"),
        (
            refused(Outcome.UNAVAILABLE, message="Kafka is away. Nothing was reset."),
            "Failed",
            "Kafka is away. Nothing was reset.",
        ),
        (refused(Outcome.FAILED, message="boom"), "Failed", "boom"),
        (refused(Outcome.FAILED), "Failed", "the pod gave no reason"),
    ],
)
def test_each_answer_is_final(answer: JobAnswer, result: str, message: str) -> None:
    world = stopped()
    world.acting = answer
    ask(world)
    world.settle()
    assert last(world) == ("r1", result, message)
    assert len(requests(world)) == 1
    assert offsets_pods(world) == []


# What is waited for


def test_it_waits_for_tasks_that_end_where_git_brings_state_and_token_together() -> None:
    world = World()
    world.settle()
    ask(world)
    world.change(state="Stopped")
    world.reconcile()
    assert last(world)[:2] == ("r1", "Pending")
    assert "waiting for pod orders-in-0-1 to terminate" in last(world)[2]
    world.settle()
    assert last(world) == ("r1", "Succeeded", "done")


def test_it_waits_until_the_object_of_a_task_pod_on_a_lost_node_is_gone() -> None:
    world = World()
    world.settle()
    world.lose_node("orders-in-0-1")
    ask(world)
    world.change(state="Stopped")
    world.settle(7200)
    assert last(world)[1:] == ("Pending", "waiting for pod orders-in-0-1 to terminate")
    world.vanish("orders-in-0-1")
    world.settle()
    assert last(world)[1] == "Succeeded"


def test_it_waits_for_pods_of_an_earlier_connector_of_the_name() -> None:
    world = stopped()
    world.add_foreign_pod("orders-in-0-9")
    ask(world)
    world.settle()
    assert last(world)[1] == "Pending"
    assert "pods of an earlier Connector of this name still exist: orders-in-0-9" in last(world)[2]
    world.vanish("orders-in-0-9")
    world.settle()
    assert last(world)[1] == "Succeeded"


@pytest.mark.parametrize("ran", [True, False])
def test_it_waits_for_a_status_topic_that_is_not_read(ran: bool) -> None:
    world = stopped() if ran else World(spec={"state": "Stopped"})
    world.topic.trouble, world.topic.caught_up = "Kafka is away", False
    ask(world)
    world.settle()
    assert last(world)[1] == "Pending"
    assert requests(world) == []
    world.topic.trouble, world.topic.caught_up = None, True
    world.settle()
    assert last(world)[1] == "Succeeded"


def test_it_waits_while_another_connector_owns_the_name() -> None:
    world = stopped(spec={"connectName": "moved"})
    world.rival = KEY._replace(name="older")
    ask(world)
    world.settle()
    assert last(world)[1] == "Pending"
    assert "belongs to Connector shop/older" in last(world)[2]
    world.rival = None
    world.settle()
    assert last(world)[1] == "Succeeded"


def test_it_waits_for_a_job_slot() -> None:
    world = stopped()
    world.slot = False
    ask(world)
    decision = world.settle()
    assert decision.queued
    assert "waiting for its turn" in last(world)[2]
    assert not any(began(world))
    world.slot = True
    world.settle()
    assert last(world)[1] == "Succeeded"


def test_it_waits_where_the_pod_is_refused_and_begins_once_it_is_not() -> None:
    world = stopped()
    world.admits_jobs = False
    ask(world)
    world.settle(30)
    assert last(world)[1] == "Pending"
    assert "admission webhook" in last(world)[2]
    world.admits_jobs = True
    world.settle()
    assert last(world)[1] == "Succeeded"
    assert len(world.resets) == 1


def test_what_waits_is_refused_when_the_connector_is_started_or_the_value_goes() -> None:
    for change in ("state", "value"):
        world = stopped()
        world.slot = False
        ask(world)
        world.settle()
        world.slot = True
        if change == "state":
            world.change(state="Running")
        else:
            world.annotations = {}
        world.settle()
        token, result, message = last(world)
        assert (token, result) == ("r1", "Refused")
        assert message.startswith("nothing was done: ")
        assert world.resets == []


def test_a_second_token_waits_for_the_first_one() -> None:
    world = stopped()
    ask(world)
    running_pod(world)
    ask(world, "r2")
    world.reconcile()
    assert [(a["token"], a["result"]) for a in actions(world)] == [("r1", "Pending"), ("r2", "Pending")]
    assert len(offsets_pods(world)) == 1
    world.settle()
    assert [(a["token"], a["result"]) for a in actions(world)] == [("r1", "Succeeded"), ("r2", "Succeeded")]


@pytest.mark.parametrize("change", ["value", "state"])
def test_each_that_waits_after_another_is_refused_immediately_when_it_is_no_longer_requested(change: str) -> None:
    world = stopped()
    ask(world)
    pod = running_pod(world)
    for n in range(2, 30):
        ask(world, f"r{n}")
        world.reconcile()
        assert [a["token"] for a in actions(world) if a["result"] == "Pending"] == ["r1", f"r{n}"]
    assert len(actions(world)) <= 11
    if change == "state":
        world.change(state="Running")
    else:
        world.annotations = {}
    world.reconcile()
    assert [a["token"] for a in actions(world) if a["result"] == "Pending"] == ["r1"]
    assert last(world)[:2] == ("r29", "Refused")
    assert last(world)[2].startswith("nothing was done: ")
    assert [p.name for p in offsets_pods(world)] == [pod.name]
    world.settle()
    assert len(world.resets) == 1


# What happens meanwhile


def test_its_pod_has_the_image_of_the_release_and_not_that_of_the_last_plan() -> None:
    world = stopped()
    world.values = {"images": {"runtime": "runtime:2"}}
    ask(world)
    assert running_pod(world).image == "runtime:2"
    world.settle()
    assert last(world)[1] == "Succeeded"


def test_a_runtime_that_cannot_read_the_request_has_done_nothing() -> None:
    world = stopped()
    ask(world)
    pod = running_pod(world)
    world.end(pod.name, ExitCode.CONFIG_INVALID, message="action: not known")
    world.settle()
    assert last(world) == (
        "r1",
        "Refused",
        "nothing was done: the runtime image runtime:1 does not support this action, or cannot read its "
        "request: action: not known",
    )
    assert len(requests(world)) == 1


def test_a_resume_waits_for_the_end_of_the_pod() -> None:
    world = stopped()
    ask(world)
    pod = running_pod(world)
    lives = list(world.lives)
    world.change(state="Running")
    for _ in range(5):
        world.reconcile()
        world.advance(2)
    assert world.lives == lives
    assert f"the tasks wait for pod {pod.name}" in world.condition("Ready")
    assert [r for r in world.requests.values() if r.action is Action.PLAN][1:] == []
    world.settle()
    assert last(world) == ("r1", "Succeeded", "done")
    assert world.condition("Ready").startswith("True Running")


def test_a_pod_that_ends_without_an_answer_leaves_the_outcome_unknown_and_is_not_repeated() -> None:
    world = stopped()
    world.acting = None
    ask(world)
    world.settle()
    token, result, message = last(world)
    assert (token, result) == ("r1", "Failed")
    assert message.startswith("outcome unknown: pod orders-in-offsets-")
    assert message.endswith("List the offsets, then use a new token")
    assert len(requests(world)) == 1


def test_a_pod_that_vanishes_leaves_the_outcome_unknown_and_is_not_made_again() -> None:
    world = stopped()
    ask(world)
    pod = running_pod(world)
    world.vanish(pod.name)
    world.settle()
    assert last(world)[1] == "Failed"
    assert "no longer exists, and left no answer" in last(world)[2]
    assert len(requests(world)) == 1


def test_a_pod_that_does_not_end_in_time_is_deleted_and_its_outcome_unknown() -> None:
    world = stopped()
    ask(world)
    pod = running_pod(world)
    world.advance(1_000)
    world.reconcile()
    assert world.pods[pod.name].leaving is not None
    assert last(world)[1] == "Pending"
    world.vanish(pod.name)
    world.settle()
    assert last(world)[1] == "Failed"


def test_a_pod_frozen_on_a_lost_node_neither_holds_up_a_resume_nor_rewinds_what_runs_then() -> None:
    world = stopped()
    ask(world)
    pod = running_pod(world)
    frozen = world.requests[pod.name]
    world.lose_node(pod.name)
    world.delete_pod(pod.name)
    world.change(state="Running")
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert last(world)[1] == "Failed"
    assert "the node is unavailable" in last(world)[2]
    recorded = world.recorded
    assert recorded is not None
    assert frozen.offsets is not None
    assert frozen.offsets.generation is not None
    assert frozen.offsets.generation < recorded.generation  # with which the pod that wakes up is refused


def test_a_pod_that_existed_unseen_and_is_made_again_after_a_resume_is_none() -> None:
    """The operator was killed after it had created the pod; that ended, and was removed, before the next operator came."""
    world = stopped()
    ask(world)
    world.reconcile()
    (pod,) = offsets_pods(world)
    world.vanish(pod.name)
    own = world.status["operatorState"]
    entry = {k: v for k, v in own["offsetsActions"][0].items() if k != "podUID"}
    world.status = {**world.status, "operatorState": {**own, "offsetsActions": [entry]}}
    world.change(state="Running")
    world.settle()
    assert last(world)[1] == "Failed"
    assert "unknown whether its pod existed" in last(world)[2]
    assert world.resets == []


@pytest.mark.parametrize("writes", range(WRITES))
def test_an_operator_that_is_killed_after_any_write_comes_to_the_same_end(writes: int) -> None:
    world = stopped()
    ask(world)
    world.kill_after = world.writes + writes
    world.settle()
    assert world.kill_after is None, "was not killed"
    world.settle()
    assert last(world) == ("r1", "Succeeded", "done")
    assert len(world.resets) == 1
    assert offsets_pods(world) == []
    maps = world.server.list(CONFIG_MAP, KEY.namespace)
    assert [m for m in maps if m["metadata"]["name"].endswith("-request")] == []


def test_a_connector_that_is_deleted_meanwhile_ends_the_pod_before_its_own_reset() -> None:
    world = stopped(spec={"deletion": {"offsets": "Reset"}}, finalizer=True)
    ask(world)
    pod = running_pod(world)
    world.delete()
    world.reconcile()
    assert world.pods[pod.name].leaving is not None
    assert not any(r.action is Action.RESET_OFFSETS for r in world.requests.values())
    world.settle()
    assert not world.finalizer


def test_an_action_of_a_later_release_that_is_under_way_has_failed_and_holds_up_no_other() -> None:
    world = stopped()
    entry = {"action": "rewind", "token": "w1", "result": "Pending", "at": "2027-01-15T08:00:00Z"}
    world.status = {**world.status, "offsetsActions": [entry]}
    ask(world)
    world.settle()
    assert [(a["token"], a["result"]) for a in actions(world)] == [("w1", "Failed"), ("r1", "Succeeded")]
    assert [type_ for type_, _ in told(world)] == ["Warning", "Normal"]


def test_nothing_is_written_while_nobody_asks_and_nothing_after_it_is_done() -> None:
    world = stopped()
    ask(world)
    world.settle()
    writes = world.writes
    world.advance(600)
    world.settle()
    assert world.writes == writes


def test_its_pod_has_a_name_of_its_own_and_no_step_deletes_it() -> None:
    world = stopped()
    ask(world)
    pod = running_pod(world)
    assert pod.name == names.job_name("orders-in", "offsets", names.digest(UID, "reset", "r1"))
    for _ in range(3):
        world.reconcile()
    assert world.pods[pod.name].leaving is None
    assert world.pods[pod.name].phase is Phase.RUNNING
