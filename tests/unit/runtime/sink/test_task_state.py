"""A sink task knows after every failure whether its positions still hold."""

from collections.abc import Callable

import pytest

from penstock import TopicPartition as Partition
from penstock_runtime.sink import task_state
from penstock_runtime.sink.task_state import Detached, OnSpark, Paused, Reading, State, Unknown, Writing

READING = Reading({Partition("t", 0): (0, 5)})
RESTING: list[Reading | Detached | Unknown] = [READING, Detached(), Unknown()]


@pytest.mark.parametrize("state", [Writing(READING), OnSpark(), Unknown()])
def test_positions_are_unknown_after_a_failed_batch(state: State) -> None:
    assert task_state.failed(state) == Unknown()


@pytest.mark.parametrize("state", [READING, Detached()])
def test_failure_between_batches_detaches_the_consumer(state: State) -> None:
    assert task_state.failed(state) == Detached()


@pytest.mark.parametrize("resting", [READING, Detached()])
def test_batch_written_by_the_driver_keeps_prefetched_records(resting: Reading | Detached) -> None:
    assert task_state.ended(task_state.writing(resting)) is resting


def test_positions_are_unknown_after_a_spark_batch_with_a_gap() -> None:
    assert task_state.ended(OnSpark()) == Detached()
    assert task_state.ended(OnSpark(), complete=False) == Unknown()


@pytest.mark.parametrize("state", RESTING)
def test_no_pause_failure_or_assignment_hides_that_positions_are_unknown(state: State) -> None:
    unknown = isinstance(state, Unknown)
    paused = task_state.paused(state)
    assert paused == Paused(Unknown() if unknown else Detached())
    for fetching in (False, True):
        later = task_state.assigned(task_state.reported(task_state.failed(paused)), fetching=fetching)
        resumes = Unknown() if unknown else Reading() if fetching else Detached()
        assert later == Paused(resumes, reported=True)
        assert task_state.resumed(later) == resumes
        assert task_state.assigned(state, fetching=fetching) == resumes


def test_each_assignment_forgets_the_bounds_of_partitions() -> None:
    assert task_state.assigned(READING, fetching=True) == Reading({})


@pytest.mark.parametrize("end", [task_state.failed, task_state.detached, task_state.paused])
def test_gathering_ends_with_the_next_assignment(
    end: Callable[[State], State],
) -> None:
    gathering = task_state.gathering(READING, until=5.0)
    assert gathering == Reading(READING.bounds, gathers_until=5.0)
    assert task_state.ended(task_state.writing(gathering)) is gathering
    anew = task_state.resumed(task_state.assigned(end(gathering), fetching=True))
    assert anew == Reading()
    assert task_state.gathering(Detached(), until=5.0) == Detached()


@pytest.mark.parametrize("state", [Unknown(), OnSpark(), Writing(READING), Paused(Detached())])
def test_nothing_is_written_before_the_positions_are_known(state: State) -> None:
    with pytest.raises(AssertionError, match="nothing is written in state"):
        task_state.writing(state)
