"""What the operator writes into a status is what it reads back, and what the resource has fields for."""

from dataclasses import fields
from typing import Any

import pytest

from penstock_model.resources.connector_status import (
    AutoscalingStatus,
    JobStatus,
    OffsetsAction,
    OperatorState,
    RestartAction,
    RolloutStatus,
    TaskStatus,
)
from penstock_operator.connector.model import persisted_state
from penstock_operator.connector.model.autoscaling import AutoscaledTasks
from penstock_operator.connector.model.persisted_state import (
    FailedJob,
    HandledRequest,
    PersistedState,
    PersistedTask,
    task_status,
)
from penstock_operator.reasons import Reason
from penstock_operator.rollout.progress import RolloutRestart
from penstock_operator.status_fields import read, write, write_own

AT = 1_795_255_230.0
TASK = PersistedTask(
    id=3,
    state="Failed",
    since=AT,
    incarnation=2,
    pod="a-3-2",
    pod_uid="u",
    has_ended=True,
    restarts=1,
    failures=2,
    losses=3,
    unavailable=4,
    retry_at=AT + 60,
    reason=Reason.FAILED,
    message="no such file",
    trace="Traceback",
    pod_hash="2.abc",
    started=AT - 60,
    last_record=AT - 30,
    last_loop=AT - 20,
    versions={"connector": "1", "value.converter": "2", "transforms.a": "3"},
)
SCALED = AutoscaledTasks(3, AT, "2 -> 3 tasks", 2, AT, 5, AT, lowered=True, undone=1)
PARTS: list[tuple[Any, list[type[Any]]]] = [
    (TASK, [TaskStatus]),
    (FailedJob("a-plan-1", 2, AT, Reason.JOB_FAILED, "no answer"), [JobStatus]),
    (HandledRequest("restart", "1", "Succeeded", "restarted", AT), [RestartAction, OffsetsAction]),
    (RolloutRestart("abc", AT, counts=True), [RolloutStatus]),
    (SCALED, [AutoscalingStatus]),
]


@pytest.mark.parametrize(("part", "models"), PARTS)
def test_what_is_written_of_a_part_is_read_back_the_same(part: Any, models: list[type[Any]]) -> None:
    assert all(getattr(part, f.name) for f in fields(part))
    assert read(type(part), {**write(part), **write_own(part)}) == part
    for model in models:
        names = {field.alias for field in model.model_fields.values()}
        assert set(write(part)) <= names
        assert model.model_validate(write(part)).to_manifest() == write(part)


def test_the_operators_own_state_is_apart_and_is_read_back_with_the_entries_it_is_of() -> None:
    done = persisted_state.OffsetsAction("alter", "1", "Refused", "no", AT, content="abc")
    other = persisted_state.OffsetsAction("alter", "1", "Succeeded", "done", AT, content="def")
    reset = persisted_state.OffsetsAction("reset", "1", "Pending", began=AT, generation=3, pod_uid="u")
    state = PersistedState(plan="h", tasks={3: TASK}, offsets=(done, other, reset), autoscaling=SCALED)
    own = state.operator_state()
    assert OperatorState.model_validate(own).to_manifest() == own
    assert own["tasks"] == [{"id": 3, "over": True, "podHash": "2.abc"}]
    status = {
        "tasks": [task_status(TASK)],
        "offsetsActions": [write(a) for a in state.offsets],
        "autoscaling": write(SCALED),
        "operatorState": own,
    }
    assert PersistedState.of(status) == state
    without = PersistedState.of({n: v for n, v in status.items() if n != "operatorState"})
    assert [a.result for a in without.offsets] == ["Refused", "Succeeded", "Pending"]


def test_reasons_are_written_as_plain_texts() -> None:
    assert type(write(TASK)["reason"]) is str


def test_what_has_no_value_is_not_written_except_the_number_and_the_restarts_of_a_task() -> None:
    assert task_status(PersistedTask(0)) == {"id": 0, "state": "Pending", "restarts": 0}
    assert write(FailedJob()) == {}


def test_what_an_earlier_release_did_not_write_has_its_default_and_what_a_later_one_writes_is_left_out() -> None:
    assert read(PersistedTask, {"id": 1, "later": {"a": 1}}) == PersistedTask(1)
    assert read(PersistedTask, {"id": 0, "since": "", "retryAt": None, "versions": {}}) == PersistedTask(0)
