"""A list of offsets that an annotation asks for: once per token, beside tasks that run, into a ConfigMap of its own."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from penstock_model.contracts.job import LIST_BYTES, Action, JobAnswer, JobProblem, JobRequest, Outcome
from penstock_operator import names
from penstock_operator.connector.model.pod_status import JobPod
from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.kinds import CONFIG_MAP, POD

from ..fake_api_answers import Object, denied, over_quota
from ..fake_api_server import Request
from .test_resets_of_offsets import RESET, actions, ask, last, stopped, told, until
from .world.cluster import KEY, UID
from .world.job_pods import LISTED
from .world.plugins import Plugin
from .world.world import Killed, World

LIST = "penstock.dev/list-offsets"
NAME = "orders-in-offsets"
DONE = ("l1", "Succeeded", f"2 positions: ConfigMap {NAME}, key offsets.json")
WRITES = 9
"""Of an operator that does what one annotation asks for."""


def running(**more: Any) -> World:
    world = World(**more)
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    return world


def listed(world: World) -> str | None:
    """What the ConfigMap holds."""
    found = world.server.get(CONFIG_MAP, KEY.namespace, NAME)
    return None if found is None else str(found["data"]["offsets.json"])


def requests(world: World) -> list[JobRequest]:
    return [r for r in world.requests.values() if r.action is Action.LIST_OFFSETS]


def list_pods(world: World) -> list[JobPod]:
    return [p for p in world.pods.values() if isinstance(p, JobPod) and p.action == Action.LIST_OFFSETS]


def foreign(world: World, **metadata: Any) -> Object:
    """A ConfigMap of another's, under the name of the list."""
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"offsets.json": "mine"},
        "metadata": {"name": NAME, "namespace": KEY.namespace, **metadata},
    }
    world.server.add(made)
    found = world.server.get(CONFIG_MAP, KEY.namespace, NAME)
    assert found is not None
    return found


# What is done


def test_a_running_connector_is_listed_once_per_token_and_its_pods_stay() -> None:
    world = running()
    lives, fence = list(world.lives), world.status["operatorState"]["plan"]["fence"]
    ask(world, "l1", LIST)
    world.settle()
    assert last(world) == DONE
    assert listed(world) == LISTED
    assert (world.lives, world.status["operatorState"]["plan"]["fence"]) == (lives, fence)
    assert list_pods(world) == []
    assert told(world) == [("Normal", f"list (l1): {DONE[2]}")]
    writes = world.writes
    world.advance(3600)
    world.settle()
    assert world.writes == writes
    assert len(requests(world)) == 1
    assert world.condition("Ready").startswith("True Running")


@pytest.mark.parametrize("state", ["Paused", "Stopped"])
def test_any_state_will_do(state: str) -> None:
    world = World(spec={"state": state}, annotations={LIST: "l1"})
    world.settle()
    assert last(world) == DONE
    assert world.condition("Ready").startswith(f"True {state}")


def test_the_map_is_the_connectors_and_says_which_token_asked_for_it() -> None:
    world = running()
    ask(world, "l1", LIST)
    world.settle()
    found = world.server.get(CONFIG_MAP, KEY.namespace, NAME)
    assert found is not None
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Connector", "orders-in", UID)
    assert found["metadata"]["annotations"][LIST] == "l1"
    assert names.label(found, names.ROLE_LABEL) == "offsets"


def test_the_next_token_lists_again_over_what_users_made_of_the_map() -> None:
    world = running()
    ask(world, "l1", LIST)
    world.settle()
    world.server.edit(CONFIG_MAP, KEY.namespace, NAME, lambda m: m.update(data={"offsets.json": "edited"}))
    world.listing = world.listing.model_copy(update={"offsets": '{"offsets":[]}'})
    ask(world, "l2", LIST)
    world.settle()
    assert last(world) == ("l2", "Succeeded", f"0 positions: ConfigMap {NAME}, key offsets.json")
    assert listed(world) == '{"offsets":[]}'


def test_the_request_has_the_kind_of_the_plan_and_none_where_there_is_no_plan(invalid_from_the_start: Plugin) -> None:
    world = running()
    ask(world, "l1", LIST)
    world.settle()
    assert [(r.kind, r.offsets) for r in requests(world)] == [("source", None)]
    world = World(plugin=invalid_from_the_start, annotations={LIST: "l1"})
    world.settle()
    assert world.condition("ConfigValid").startswith("False")
    assert last(world) == DONE
    assert [r.kind for r in requests(world)] == [None]


@pytest.fixture
def invalid_from_the_start() -> Plugin:
    return lambda connector: ["file"]


def test_a_configuration_that_is_wrong_by_now_is_listed_and_its_tasks_continue() -> None:
    world = running()
    lives = list(world.lives)
    world.plugin = lambda connector: ["file"]
    world.change(config={"file": "wrong"})
    world.settle()
    ask(world, "l1", LIST)
    world.settle()
    assert world.condition("ConfigValid").startswith("False")
    assert last(world) == DONE
    assert world.lives == lives
    assert [r.kind for r in requests(world)] == ["source"]


# What is refused, and what fails


def test_a_foreign_map_of_that_name_is_refused_and_untouched() -> None:
    world = running()
    before = foreign(world)
    ask(world, "l1", LIST)
    world.settle()
    assert last(world)[1] == "Refused"
    assert f"ConfigMap {NAME} exists, but does not belong to this Connector" in last(world)[2]
    assert world.server.get(CONFIG_MAP, KEY.namespace, NAME) == before
    assert requests(world) == []


def test_a_foreign_map_that_comes_while_the_pod_works_is_untouched_too() -> None:
    world = running()
    ask(world, "l1", LIST)
    until(world, lambda: list_pods(world), answers=False)
    before = foreign(world)
    world.settle()
    assert last(world)[1] == "Refused"
    assert world.server.get(CONFIG_MAP, KEY.namespace, NAME) == before


def test_the_map_of_an_earlier_connector_of_the_name_is_waited_for() -> None:
    world = running()
    owner = {"apiVersion": "v1", "kind": "Connector", "name": "orders-in", "uid": "earlier"}
    labels = names.labels(operator="x", connector="orders-in", uid="earlier", role="offsets")
    foreign(world, labels=labels, finalizers=["example.com/held"], ownerReferences=[owner])
    ask(world, "l1", LIST)
    world.settle()
    assert last(world)[1] == "Pending"
    assert f"until ConfigMap {NAME}" in last(world)[2]
    world.server.remove(CONFIG_MAP, KEY.namespace, NAME)
    world.settle()
    assert last(world) == DONE


def failed(outcome: Outcome, **more: Any) -> JobAnswer:
    return JobAnswer(id="", action=Action.LIST_OFFSETS, outcome=outcome, **more)


@pytest.mark.parametrize(
    ("answer", "result", "message"),
    [
        (failed(Outcome.REFUSED, message="The list has 901 KiB"), "Refused", "The list has 901 KiB"),
        (failed(Outcome.INVALID, problems=(JobProblem(property="x", message="is wrong"),)), "Refused", "x: is wrong"),
        (failed(Outcome.UNAVAILABLE, message="Kafka is away."), "Failed", "Kafka is away."),
        (failed(Outcome.DONE), "Failed", "is not a list of offsets"),
        (failed(Outcome.DONE, offsets="[]"), "Failed", "is not a list of offsets"),
        (failed(Outcome.DONE, offsets=json.dumps({"offsets": ["x" * LIST_BYTES]})), "Failed", "has more than 900 KiB"),
    ],
)
def test_each_answer_is_final_and_nothing_is_written_without_a_list(
    answer: JobAnswer, result: str, message: str
) -> None:
    world = running()
    world.listing = answer
    ask(world, "l1", LIST)
    world.settle()
    assert last(world)[:2] == ("l1", result)
    assert message in last(world)[2]
    assert listed(world) is None
    assert list_pods(world) == []


def test_a_pod_without_an_answer_has_listed_nothing() -> None:
    world = running()
    world.acting = None
    ask(world, "l1", LIST)
    world.settle()
    assert last(world)[1] == "Failed"
    assert last(world)[2].startswith("nothing is listed: pod orders-in-offsets-")
    assert len(requests(world)) == 1


def refuse(world: World, answer: Answer) -> Callable[[Request], Answer | None]:
    """The API server answers so to each write of the list; what it answered before."""
    usual = world.server.admit
    world.server.admit = lambda r: answer if r.kind is CONFIG_MAP and r.name == NAME else usual(r)
    return usual


def test_a_map_that_the_quota_has_no_room_for_is_reported_and_disturbs_nothing_else() -> None:
    world = running()
    usual = refuse(world, over_quota(CONFIG_MAP, NAME))
    ask(world, "l1", LIST)
    world.settle()
    assert last(world)[1] == "Failed"
    assert "exceeded quota" in last(world)[2]
    assert world.condition("Ready").startswith("True Running")
    world.server.admit = usual
    ask(world, "l2", LIST)
    world.settle()
    assert last(world) == ("l2", *DONE[1:])


def hold(world: World) -> None:
    """A user deletes the list, and a finalizer of others holds it."""
    world.server.edit(CONFIG_MAP, KEY.namespace, NAME, lambda m: m["metadata"].update(finalizers=["example.com/held"]))
    world.server.delete(CONFIG_MAP, KEY.namespace, NAME)


def test_where_the_new_list_is_refused_the_one_of_before_stays() -> None:
    world = running()
    ask(world, "l1", LIST)
    world.settle()
    refuse(world, denied("no"))
    world.listing = world.listing.model_copy(update={"offsets": '{"offsets":[]}'})
    ask(world, "l2", LIST)
    world.settle()
    assert last(world)[1] == "Failed"
    assert listed(world) == LISTED


def test_a_map_that_is_deleted_and_does_not_go_fails_the_list_in_the_end() -> None:
    world = running()
    ask(world, "l1", LIST)
    world.settle()
    ask(world, "l2", LIST)
    until(world, lambda: list_pods(world), answers=False)
    hold(world)
    world.settle()
    assert last(world)[1] == "Failed"
    assert (
        f"ConfigMap {NAME} is being deleted but still exists: remove the finalizers that block its deletion"
        in last(world)[2]
    )
    assert list_pods(world) == []
    assert listed(world) == LISTED


def test_a_webhook_that_changes_the_map_is_reported_and_not_fought() -> None:
    world = running()
    usual = world.server.admit

    def stripped(request: Any) -> Any:
        if request.kind is CONFIG_MAP and request.name == NAME:
            del request.body["metadata"]["annotations"]
        return usual(request)

    world.server.admit = stripped
    ask(world, "l1", LIST)
    world.settle()
    assert last(world)[1] == "Failed"
    assert "check for a webhook that changes it" in last(world)[2]


@pytest.mark.parametrize("character", ["\u2028", "\u0085", "\x0b", "\r"])
def test_offsets_with_characters_that_end_lines_elsewhere_arrive(character: str) -> None:
    world = running()
    text = json.dumps({"offsets": [{"partition": {"file": character}, "offset": {"i": 1}}]}, ensure_ascii=False)
    world.listing = world.listing.model_copy(update={"offsets": text})
    ask(world, "l1", LIST)
    world.settle()
    assert last(world)[1] == "Succeeded"
    assert listed(world) == text


# What is waited for


def test_it_waits_while_another_connector_owns_the_name_and_shows_nothing_of_it() -> None:
    world = stopped(spec={"connectName": "moved"})
    world.rival = KEY._replace(name="older")
    ask(world, "l1", LIST)
    world.settle()
    assert last(world)[1] == "Pending"
    assert "belongs to Connector shop/older" in last(world)[2]
    assert requests(world) == []
    world.rival = None
    world.settle()
    assert last(world) == DONE


def test_it_waits_for_a_status_topic_that_is_not_read() -> None:
    world = running()
    world.topic.trouble, world.topic.caught_up = "Kafka is away", False
    ask(world, "l1", LIST)
    world.settle()
    assert last(world)[1] == "Pending"
    world.topic.trouble, world.topic.caught_up = None, True
    world.settle()
    assert last(world) == DONE


def test_tasks_start_while_the_pod_of_a_list_runs() -> None:
    world = stopped()
    ask(world, "l1", LIST)
    until(world, lambda: list_pods(world), answers=False)
    (pod,) = list_pods(world)
    world.start(pod.name)
    lives = len(world.lives)
    world.change(state="Running")
    world.reconcile()
    assert len(world.lives) > lives
    assert world.pods[pod.name].leaving is None
    world.settle()
    assert last(world) == DONE
    assert world.condition("Ready").startswith("True Running")


def test_a_list_overtakes_a_reset_that_waits() -> None:
    world = stopped()
    world.add_foreign_pod("orders-in-0-9")
    ask(world, "r1", RESET)
    world.settle()
    ask(world, "l1", LIST)
    world.settle()
    assert [(a["token"], a["result"]) for a in actions(world)] == [("r1", "Pending"), ("l1", "Succeeded")]
    world.vanish("orders-in-0-9")
    world.settle()
    assert [(a["token"], a["result"]) for a in actions(world)] == [("r1", "Succeeded"), ("l1", "Succeeded")]


def test_a_list_that_waits_for_its_map_holds_up_no_reset_and_each_says_what_it_waits_for() -> None:
    world = stopped()
    ask(world, "l1", LIST)
    world.settle()
    hold(world)
    ask(world, "l2", LIST)
    world.settle()
    assert last(world)[1:] == ("Pending", f"waiting until ConfigMap {NAME}, which is being deleted, no longer exists")
    ask(world, "r1", RESET)
    world.reconcile()
    assert actions(world)[-2]["message"] == f"waiting until ConfigMap {NAME}, which is being deleted, no longer exists"
    world.settle()
    assert [(a["token"], a["result"]) for a in actions(world)][1:] == [("l2", "Pending"), ("r1", "Succeeded")]


def test_the_pod_of_a_list_on_a_lost_node_holds_up_no_reset() -> None:
    world = stopped()
    ask(world, "l1", LIST)
    until(world, lambda: list_pods(world), answers=False)
    (pod,) = list_pods(world)
    world.start(pod.name)
    world.lose_node(pod.name)
    world.delete_pod(pod.name)
    ask(world, "r1", RESET)
    world.settle(3600)
    assert [(a["token"], a["result"]) for a in actions(world)] == [("l1", "Failed"), ("r1", "Succeeded")]
    assert list_pods(world)[0].leaving is not None


def test_a_reset_whose_pod_works_is_not_disturbed_and_the_list_comes_after_it() -> None:
    world = stopped()
    ask(world, "r1", RESET)
    until(world, lambda: [p for p in world.pods.values() if isinstance(p, JobPod)], answers=False)
    ask(world, "l1", LIST)
    world.reconcile()
    assert [p.action for p in world.pods.values() if isinstance(p, JobPod)] == [Action.OFFSETS]
    world.settle()
    assert [(a["token"], a["result"]) for a in actions(world)] == [("r1", "Succeeded"), ("l1", "Succeeded")]
    assert len(world.resets) == 1


# The operator dies


@pytest.mark.parametrize("writes", range(WRITES))
def test_an_operator_that_is_killed_after_any_write_comes_to_the_same_end_with_one_pod(writes: int) -> None:
    world = running()
    ask(world, "l1", LIST)
    world.kill_after = world.writes + writes
    world.settle()
    assert world.kill_after is None, "was not killed"
    world.settle()
    assert last(world) == DONE
    assert listed(world) == LISTED
    assert len(requests(world)) == 1
    assert list_pods(world) == []
    maps = world.server.list(CONFIG_MAP, KEY.namespace)
    assert [m for m in maps if m["metadata"]["name"].endswith("-request")] == []


def test_a_list_that_was_written_counts_though_its_pod_is_gone_before_that_was_reported() -> None:
    world = running()
    ask(world, "l1", LIST)
    until(world, lambda: [p for p in list_pods(world) if p.ended is not None])
    for _ in range(3):
        world.kill_after = world.writes + 1
        if listed(world) is None:
            with pytest.raises(Killed):
                world.reconcile()
    assert listed(world) == LISTED
    assert last(world)[1] == "Pending"
    world.kill_after = None
    for pod in list_pods(world):
        world.vanish(pod.name)
    world.settle()
    assert last(world) == ("l1", "Succeeded", f"the offsets: ConfigMap {NAME}, key offsets.json")


def test_pending_is_in_the_status_before_the_pod_exists() -> None:
    world = running()
    ask(world, "l1", LIST)
    world.kill_before = POD
    with pytest.raises(Killed):
        world.reconcile()
    assert last(world)[:2] == ("l1", "Pending")
    assert list_pods(world) == []


def test_a_deleted_connector_ends_the_pod_of_its_list() -> None:
    world = running()
    ask(world, "l1", LIST)
    until(world, lambda: list_pods(world), answers=False)
    world.delete()
    world.settle()
    assert [p for p in list_pods(world) if p.leaving is None] == []
