"""What follows when a task ends."""

import signal
from datetime import timedelta

import pytest

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.resources.connector import Restart
from penstock_model.resources.task_restart import RestartDecision, RestartHistory, TaskEnd, next_restart

POLICY = Restart.model_validate(
    {"maxRestarts": 4, "backoff": {"initial": "10s", "factor": 3, "max": "2m"}, "resetAfter": "30m"}
)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        (ExitCode.OK, TaskEnd.STOPPED),
        (ExitCode.FAILED, TaskEnd.FAILED),
        (ExitCode.CONFIG_INVALID, TaskEnd.REFUSED),
        (ExitCode.SUPERSEDED, TaskEnd.SUPERSEDED),
        (ExitCode.LOST, TaskEnd.LOST),
        (-signal.SIGKILL, TaskEnd.LOST),
        (-signal.SIGSEGV, TaskEnd.LOST),
        (ExitCode.UNAVAILABLE, TaskEnd.FAILED),
        (99, TaskEnd.FAILED),
    ],
)
def test_an_exit_code_shows_how_a_task_ended(code: int, end: TaskEnd) -> None:
    assert TaskEnd.of(code) is end


def lives(*ends: TaskEnd, lived: float = 1.0, policy: Restart = POLICY) -> list[RestartDecision]:
    history, found = RestartHistory(), []
    for end in ends:
        found.append(next_restart(end, lived=lived, history=history, policy=policy))
        history = found[-1].history
    return found


def test_failures_back_off_up_to_the_longest_and_end_after_the_last_restart() -> None:
    assert [a.delay for a in lives(*[TaskEnd.FAILED] * 5)] == [10, 30, 90, 120, None]
    assert lives(*[TaskEnd.FAILED] * 5)[-1].reason == "failed after 4 restarts (spec.restart.maxRestarts)"


def test_a_long_life_resets_the_count() -> None:
    assert [a.delay for a in lives(*[TaskEnd.FAILED] * 6, lived=1800)] == [10] * 6


def test_no_failure_is_followed_by_a_restart_where_none_is_wanted() -> None:
    (again,) = lives(TaskEnd.FAILED, policy=Restart.model_validate({"policy": "Never"}))
    assert again.delay is None


@pytest.mark.parametrize("end", [TaskEnd.STOPPED, TaskEnd.SUPERSEDED, TaskEnd.REFUSED])
def test_what_ended_on_purpose_or_cannot_get_better_stays_ended(end: TaskEnd) -> None:
    assert lives(end)[0].delay is None


def test_a_lost_task_is_replaced_immediately_and_a_row_of_losses_backs_off_to_five_minutes() -> None:
    assert [a.delay for a in lives(*[TaskEnd.LOST] * 12)] == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_no_number_of_losses_is_the_last() -> None:
    assert lives(*[TaskEnd.LOST] * 3_000)[-1].delay == 300


def test_ten_quiet_minutes_end_a_row_of_losses() -> None:
    assert {a.delay for a in lives(*[TaskEnd.LOST] * 20, lived=600)} == {0}


def test_losses_and_failures_are_counted_apart() -> None:
    assert [a.delay for a in lives(TaskEnd.FAILED, TaskEnd.LOST, TaskEnd.FAILED, TaskEnd.LOST)] == [10, 0, 30, 1]


def test_the_defaults_are_those_of_the_documentation() -> None:
    policy = Restart()
    assert (policy.max_restarts, policy.backoff.initial, policy.backoff.max) == (
        10,
        timedelta(seconds=10),
        timedelta(minutes=10),
    )
    assert [a.delay for a in lives(*[TaskEnd.FAILED] * 8, policy=policy)] == [10, 20, 40, 80, 160, 320, 600, 600]
