"""One job pod: what becomes of it, and what is told of one that brings no answer."""

from dataclasses import replace
from typing import Any

import pytest

from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_operator.connector.decide.job_step import JobObservation, JobStep, name_of, step
from penstock_operator.connector.model.persisted_state import FailedJob
from penstock_operator.connector.model.pod_end import Ended
from penstock_operator.connector.model.pod_status import JobPod, Phase
from penstock_operator.connector.model.refused_pods import Refusal

NAME = "in-plan-1"


def pod(name: str = NAME, phase: Phase = Phase.WAITING, **more: Any) -> JobPod:
    usual = {"uid": name, "owner": "o", "role": "job", "created": 1_000.0, "action": "Plan", "key": "1"}
    return JobPod(name=name, phase=phase, **{**usual, **more})


def facts(*pods: JobPod, now: float = 1_000.0, **more: Any) -> JobObservation:
    usual: dict[str, Any] = {"persisted": FailedJob(NAME), "slot": True, "refusal": None, "answers": {}}
    return JobObservation(
        name=NAME,
        action=Action.PLAN,
        key="1",
        pods=pods,
        now=now,
        deadline=120.0,
        node_timeout=30.0,
        **{**usual, **more},
    )


def told(found: JobStep) -> tuple[str, str]:
    return found.reason, found.message


@pytest.mark.parametrize(
    ("started", "hindrance", "reason", "message"),
    [
        (
            None,
            None,
            "DeadlineExceeded",
            "the job pod's container did not start in time; if pulling the image takes long, raise",
        ),
        (
            None,
            ("ErrImagePull", "no such host"),
            "ErrImagePull",
            "the job pod's container did not start in time: ErrImagePull: no such host; if pulling the image",
        ),
        (
            1_005.0,
            None,
            "DeadlineExceeded",
            "the job pod did not end in time; a plugin's validation may wait for a system that is unavailable",
        ),
    ],
)
def test_a_job_pod_that_ran_out_of_time_is_reported_with_whether_it_ever_started(
    started: float | None, hindrance: tuple[str, str] | None, reason: str, message: str
) -> None:
    ended = Ended(
        code=None, reason="DeadlineExceeded", message="Pod was active on the node too long", word=None, at=1_120.0
    )
    late = pod(phase=Phase.ENDED, started=started, ended=ended, hindrance=hindrance)
    found = step(facts(late, now=1_121.0))
    assert (found.reason, found.delete) == (reason, (late,))
    assert found.message.startswith(message)


def test_a_job_pod_that_ran_out_of_time_reports_where_its_plugin_was() -> None:
    word = TerminationMessage(exit_code=143, trouble="Source.task_configs (orders.py, line 7)")
    ended = Ended(code=None, reason="DeadlineExceeded", message="", word=word, at=1_120.0)
    found = step(facts(pod(phase=Phase.ENDED, started=1_005.0, ended=ended), now=1_121.0))
    assert found.message.startswith(
        "the job pod did not end in time: it was stopped in Source.task_configs (orders.py, line 7);"
    )


def test_a_pod_that_no_node_takes_is_waited_for_until_its_deadline_and_says_why() -> None:
    waiting = pod(hindrance=("Unschedulable", "0/3 nodes are available: 3 Insufficient memory."))
    found = step(facts(waiting, now=1_050.0))
    assert told(found) == ("Unschedulable", "0/3 nodes are available: 3 Insufficient memory.")
    assert (found.delete, found.requeue_after) == ((), 70.0)


def test_a_pod_that_no_node_took_in_time_goes_and_is_tried_again_after_a_pause() -> None:
    waiting = pod(hindrance=("Unschedulable", "0/3 nodes are available"))
    found = step(facts(waiting, now=1_120.0))
    assert found.delete == (waiting,)
    assert (found.reason, found.persisted.attempts, found.requeue_after) == ("Unschedulable", 1, 2.0)
    assert found.message.startswith("0/3 nodes are available; the job pod was not scheduled within 120 s")
    paused = step(facts(now=1_121.0, persisted=found.persisted))
    assert (paused.create, told(paused), paused.requeue_after) == (None, told(found), 1.0)
    assert step(facts(now=1_122.0, persisted=found.persisted)).create == NAME


def test_a_pod_on_a_node_is_given_its_whole_time_there_and_more_before_we_end_it() -> None:
    running = pod(phase=Phase.RUNNING, node="n1", accepted=1_100.0, started=1_110.0)
    assert step(facts(running, now=1_249.0)).delete == ()
    found = step(facts(running, now=1_250.0))
    assert (found.delete, found.reason) == ((running,), "NodeLost")


def test_a_pod_that_is_asked_to_end_is_waited_for() -> None:
    leaving = pod(phase=Phase.RUNNING, node="n1", leaving=1_040.0, leaves_by=1_045.0)
    found = step(facts(leaving, now=1_050.0))
    assert (found.create, found.delete, found.requeue_after) == (None, (), 25.0)


@pytest.mark.parametrize("phase", Phase)
def test_a_pod_that_does_not_go_is_replaced_under_another_name(phase: Phase) -> None:
    leaving = pod(phase=phase, node="n1", leaving=1_040.0, leaves_by=1_045.0)
    found = step(facts(leaving, now=1_075.0))
    assert (found.create, found.delete) == ("in-plan-1-1", (leaving,))  # for its request
    assert "node n1 does not stop pod in-plan-1" in found.message
    second = pod("in-plan-1-1", phase=Phase.RUNNING, created=1_076.0)
    found = step(facts(leaving, second, now=1_080.0))
    assert (found.create, found.delete) == (None, ())


def test_the_pod_after_one_that_was_given_up_continues_when_that_is_gone() -> None:
    second = pod("in-plan-1-1", phase=Phase.RUNNING, created=1_076.0)
    found = step(facts(second, now=1_080.0))
    assert (found.create, found.delete) == (None, ())


def test_pods_of_two_nodes_that_are_unavailable_are_both_left_untouched() -> None:
    one = pod(node="n1", leaving=1_040.0, leaves_by=1_045.0)
    two = pod("in-plan-1-1", node="n2", leaving=1_140.0, leaves_by=1_145.0)
    assert step(facts(one, two, now=1_200.0)).create == "in-plan-1-2"


def test_a_pod_for_something_else_goes() -> None:
    other = pod("in-plan-2", phase=Phase.RUNNING)
    found = step(facts(other))
    assert (found.create, found.delete) == (NAME, (other,))


def test_a_refused_pod_is_tried_when_its_pause_is_over_and_says_why_meanwhile() -> None:
    """It is no try of the job: the status is not written for each."""
    refusal = Refusal("QuotaExceeded", "exceeded quota: pods", 3, again_at=1_008.0)
    found = step(facts(now=1_000.0, refusal=refusal))
    assert (found.create, found.requeue_after, found.persisted) == (None, 8.0, FailedJob(NAME))
    assert told(found) == (refusal.reason, refusal.message)
    found = step(facts(now=1_008.0, refusal=refusal))
    assert (found.create, found.persisted) == (NAME, FailedJob(NAME))
    assert told(found) == (refusal.reason, refusal.message)


def test_who_waits_for_a_slot_says_so() -> None:
    found = step(facts(slot=False))
    assert (found.create, found.queued) == (None, True)
    assert "limits.jobPods" in found.message


def test_pauses_start_again_for_another_pod() -> None:
    persisted = FailedJob("in-plan-0", 7, 9_999.0, "Unschedulable", "no node")
    assert step(facts(persisted=persisted)).create == NAME


def test_another_template_is_another_pod() -> None:
    templates: list[dict[str, Any]] = [{}, {"nodeSelector": {"a": "b"}}, {"nodeSelector": {}}]
    names = [name_of("in", Action.PLAN, "abc", template) for template in templates]
    assert len(set(names)) == 3
    assert names[0] == "in-plan-abc"


def test_a_pod_takes_a_slot_until_it_has_ended_or_is_asked_to_end() -> None:
    assert pod().takes_slot
    assert not pod(phase=Phase.ENDED).takes_slot
    assert not replace(pod(), leaving=1.0, leaves_by=2.0).takes_slot


@pytest.mark.parametrize("outcome", [Outcome.INVALID, Outcome.DONE])
def test_a_preparation_that_is_refused_is_tried_again_after_a_pause_that_grows_to_five_minutes(
    outcome: Outcome,
) -> None:
    persisted, now, pauses = FailedJob(NAME), 1_000.0, []
    answer = JobAnswer(
        id="1",
        action=Action.PREPARE,
        outcome=outcome,
        problems=(JobProblem(property="offset.storage.topic", message="is not compacted"),),
    )
    for _ in range(12):
        assert prepare(facts(now=now, persisted=persisted)).create == NAME
        ended = Ended(code=0, reason="Completed", message="", word=None, at=now)
        found = prepare(
            facts(pod(phase=Phase.ENDED, ended=ended), now=now, persisted=persisted, answers={NAME: answer})
        )
        assert (found.answer, found.create, len(found.delete)) == (None, None, 1)
        assert found.reason == "PrepareFailed"
        assert "offset.storage.topic" in found.message
        assert found.requeue_after is not None
        pauses.append(found.requeue_after)
        persisted, now = found.persisted, now + found.requeue_after
    assert pauses[:6] == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0]
    assert set(pauses[6:]) == {300.0}


def prepare(given: JobObservation) -> JobStep:
    return step(replace(given, action=Action.PREPARE))
