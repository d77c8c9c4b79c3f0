"""What follows when a task ends."""

import signal
from datetime import timedelta

import pytest

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.restart_policy import Again, End, History, after
from penstock_model.resources.connector import Restart

POLICY = Restart.model_validate(
    {"maxRestarts": 4, "backoff": {"initial": "10s", "factor": 3, "max": "2m"}, "resetAfter": "30m"}
)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        (ExitCode.OK, End.STOPPED), (ExitCode.FAILED, End.FAILED), (ExitCode.CONFIG_INVALID, End.REFUSED),
        (ExitCode.SUPERSEDED, End.SUPERSEDED), (ExitCode.LOST, End.LOST), (-signal.SIGKILL, End.LOST),
        (-signal.SIGSEGV, End.LOST), (ExitCode.UNAVAILABLE, End.FAILED), (99, End.FAILED),
    ],
)  # fmt: skip
def test_an_exit_code_tells_how_a_task_ended(code: int, end: End) -> None:
    assert End.of(code) is end


def lives(*ends: End, lived: float = 1.0, policy: Restart = POLICY) -> list[Again]:
    history, found = History(), []
    for end in ends:
        found.append(after(end, lived=lived, history=history, policy=policy))
        history = found[-1].history
    return found


def test_failures_back_off_up_to_the_longest_and_end_after_the_last_restart() -> None:
    assert [a.delay for a in lives(*[End.FAILED] * 5)] == [10, 30, 90, 120, None]
    assert lives(*[End.FAILED] * 5)[-1].reason == "failed after 4 restarts (spec.restart.maxRestarts)"


def test_a_long_life_begins_the_count_anew() -> None:
    assert [a.delay for a in lives(*[End.FAILED] * 6, lived=1800)] == [10] * 6


def test_no_failure_is_followed_by_a_restart_where_none_is_wanted() -> None:
    (again,) = lives(End.FAILED, policy=Restart.model_validate({"onFailure": False}))
    assert again.delay is None


@pytest.mark.parametrize("end", [End.STOPPED, End.SUPERSEDED, End.REFUSED])
def test_what_ended_on_purpose_or_cannot_get_better_stays_ended(end: End) -> None:
    assert lives(end)[0].delay is None


def test_a_lost_task_is_replaced_at_once_and_a_row_of_losses_backs_off_to_five_minutes() -> None:
    assert [a.delay for a in lives(*[End.LOST] * 12)] == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_no_number_of_losses_is_the_last() -> None:
    assert lives(*[End.LOST] * 3_000)[-1].delay == 300


def test_ten_quiet_minutes_end_a_row_of_losses() -> None:
    assert {a.delay for a in lives(*[End.LOST] * 20, lived=600)} == {0}


def test_losses_and_failures_are_counted_apart() -> None:
    assert [a.delay for a in lives(End.FAILED, End.LOST, End.FAILED, End.LOST)] == [10, 0, 30, 1]


def test_the_defaults_are_those_of_the_documentation() -> None:
    policy = Restart()
    assert (policy.max_restarts, policy.backoff.initial, policy.backoff.max) == (
        10, timedelta(seconds=10), timedelta(minutes=10),
    )  # fmt: skip
    assert [a.delay for a in lives(*[End.FAILED] * 8, policy=policy)] == [10, 20, 40, 80, 160, 320, 600, 600]
