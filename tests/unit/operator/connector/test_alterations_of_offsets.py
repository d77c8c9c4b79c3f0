"""Positions that an annotation sets: `penstock.dev/alter-offsets: <token> <JSON>`.

What these actions share with resets is tested with those.
"""

import pytest

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, OffsetsVerb, Outcome
from penstock_operator.kubernetes.kinds import POD

from .test_resets_of_offsets import RESET, actions, ask, offsets_pods, requests, running_pod, stopped, told, until
from .world.world import Killed, World

ALTER = "penstock.dev/alter-offsets"
JSON = '{"offsets": [{"partition": {"p": null, "n": 1.0}, "offset": null}]}'


def last(world: World) -> tuple[str, str, str, str]:
    action = actions(world)[-1]
    return action["action"], action["token"], action["result"], action.get("message", "")


def refused(world: World, value: str) -> str:
    ask(world, value, ALTER)
    world.settle()
    assert last(world)[2] == "Refused", last(world)
    assert offsets_pods(world) == []
    return last(world)[3]


def test_the_pod_gets_the_json_as_it_was_written_and_its_answer_is_the_result() -> None:
    world = stopped()
    ask(world, f"  a1\n\t{JSON}\n", ALTER)
    world.settle()
    (request,) = requests(world)
    assert request.offsets is not None
    assert (request.offsets.verb, request.offsets.generation) == (OffsetsVerb.ALTER, 1)
    assert request.offsets.document == JSON
    assert last(world) == ("alter", "a1", "Succeeded", "done")
    assert told(world) == [("Normal", "alter (a1): done")]
    assert offsets_pods(world) == []
    assert "fence" not in world.status["operatorState"]["plan"]


def test_it_is_done_once_per_token_and_the_annotation_may_stay() -> None:
    world = stopped()
    ask(world, f"a1 {JSON}", ALTER)
    world.settle()
    world.change(state="Running")
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    world.advance(3600)
    world.change(state="Stopped")
    world.settle()
    assert len(world.resets) == 1
    ask(world, f"a2 {JSON}", ALTER)
    world.settle()
    assert [a["token"] for a in actions(world)] == ["a1", "a2"]
    assert len(world.resets) == 2


def test_a_token_that_comes_with_other_json_is_refused_and_the_first_one_is_not_done_again() -> None:
    world = stopped()
    ask(world, f"a1 {JSON}", ALTER)
    world.settle()
    assert "this token was used with other JSON: use a new token" in refused(world, 'a1 {"offsets": []}')
    ask(world, f"a1 {JSON}", ALTER)  # as an older commit does
    world.settle()
    ask(world, 'a1 {"offsets": []}', ALTER)
    world.settle()
    assert [a["result"] for a in actions(world)] == ["Succeeded", "Refused"]
    assert len(world.resets) == 1


@pytest.mark.parametrize(
    ("value", "token", "told"),
    [
        ("a1", "a1", "the value has a token but no JSON"),
        (JSON, '{"offsets":', "the value does not begin with a token"),
        (JSON.replace(" ", ""), JSON.replace(" ", ""), "the value does not begin with a token"),
        (f"{'x' * 101} {JSON}", "x" * 100, "the value does not begin with a token"),
    ],
)
def test_a_value_that_is_no_token_with_json_is_refused_once(value: str, token: str, told: str) -> None:
    world = stopped()
    assert told in refused(world, value)
    assert actions(world)[-1]["token"] == token
    world.advance(60)
    world.settle()
    assert len(actions(world)) == 1
    ask(world, f"a1 {JSON}", ALTER)
    world.settle()
    assert last(world)[1:3] == ("a1", "Succeeded" if token != "a1" else "Refused")


def test_another_value_without_a_token_is_reported_again() -> None:
    world = stopped()
    refused(world, JSON)
    refused(world, JSON.replace("1.0", "2.0"))
    assert [a["result"] for a in actions(world)] == ["Refused", "Refused"]


def test_only_the_spec_refuses_and_the_token_is_used_up() -> None:
    world = World()
    world.settle()
    assert refused(world, f"a1 {JSON}").startswith("Connectors must be in the STOPPED state")
    world.change(state="Stopped")
    world.settle()
    assert requests(world) == []
    ask(world, f"a2 {JSON}", ALTER)
    world.settle()
    assert last(world)[1:3] == ("a2", "Succeeded")


def test_state_and_annotation_may_come_together_and_it_waits_for_the_last_task() -> None:
    world = World()
    world.settle()
    ask(world, f"a1 {JSON}", ALTER)
    world.change(state="Stopped")
    world.reconcile()
    assert last(world)[2] == "Pending"
    assert offsets_pods(world) == []
    world.settle()
    assert last(world)[2] == "Succeeded"


def test_a_reset_that_is_requested_together_comes_first_so_that_the_positions_stay() -> None:
    world = stopped()
    world.annotations = {ALTER: f"a1 {JSON}", RESET: "r1"}
    world.settle()
    assert [(a["action"], a["result"]) for a in actions(world)] == [("reset", "Succeeded"), ("alter", "Succeeded")]
    assert [r.offsets.verb for r in requests(world) if r.offsets] == [OffsetsVerb.RESET, OffsetsVerb.ALTER]


def test_a_plugin_or_a_shape_that_refuses_is_reported_in_its_words_and_a_status_keeps_its_size() -> None:
    world = stopped()
    problems = tuple(JobProblem(property=f"offsets[{n}].offset", message="is missing") for n in range(20))
    world.acting = JobAnswer(id="", action=Action.OFFSETS, outcome=Outcome.INVALID, problems=problems)
    assert refused(world, f"a1 {JSON}").startswith("offsets[0].offset: is missing; offsets[1].offset: is missing")


def test_the_pod_is_recreated_only_while_the_value_is_the_same() -> None:
    world = stopped()
    ask(world, f"a1 {JSON}", ALTER)
    world.kill_before = POD
    with pytest.raises(Killed):
        world.reconcile()
    assert last(world)[2] == "Pending"
    ask(world, 'a1 {"offsets": [1]}', ALTER)
    world.settle()
    assert [(a["result"], a["message"].split(":")[0]) for a in actions(world)] == [
        ("Failed", "outcome unknown"),
        ("Refused", "this token was used with other JSON"),
    ]
    assert requests(world) == []


def test_a_pod_that_is_killed_leaves_the_outcome_unknown_and_is_not_repeated() -> None:
    world = stopped()
    ask(world, f"a1 {JSON}", ALTER)
    pod = running_pod(world)
    world.end(pod.name, 137)
    world.settle()
    assert last(world)[2] == "Failed"
    assert last(world)[3].startswith("outcome unknown: ")
    assert len(requests(world)) == 1


def test_an_image_that_does_not_know_it_has_refused_it() -> None:
    world = stopped()
    ask(world, f"a1 {JSON}", ALTER)
    pod = running_pod(world)
    world.end(pod.name, ExitCode.CONFIG_INVALID, message="offsets.verb: cannot be read as a job of this version")
    world.settle()
    assert last(world)[2] == "Refused"
    assert "does not support this action" in last(world)[3]


def test_tasks_do_not_start_while_its_pod_lives() -> None:
    world = stopped()
    ask(world, f"a1 {JSON}", ALTER)
    running_pod(world)
    world.change(state="Running")
    world.reconcile()
    assert world.condition("Ready").startswith("False Waiting")
    until(world, lambda: last(world)[2] == "Succeeded")
    world.settle()
    assert world.condition("Ready").startswith("True Running")
