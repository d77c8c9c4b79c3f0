"""Executors in pods on which batches fail: the driver delivers alone for a while, and the task does not fail for them."""

from pathlib import Path

import pytest

from penstock.errors import ConfigError, ConnectError, RetriableError, Superseded
from penstock_kafka.errors import Fenced
from penstock_model.resources.executors import Executors
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.spark.executor_pods import ExecutorPods, cluster_of
from penstock_runtime.spark.executors_pause import ExecutorsPause
from penstock_runtime.spark.executors_wanted import ExecutorsState
from penstock_runtime.spark.session import Spark


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_batch_that_is_lost_does_not_keep_the_next_one_from_executors() -> None:
    rest = ExecutorsPause()
    rest.failed("an executor was killed")
    assert rest.is_over
    assert rest.trouble is None


def test_executors_rest_ever_longer_while_batches_fail_on_them_and_a_success_ends_that() -> None:
    clock = Clock()
    rest, rests = ExecutorsPause(clock), list[float]()
    rest.failed("no Kafka")
    for _ in range(6):
        rest.failed("no Kafka")
        begun = clock.now
        while not rest.is_over:
            clock.now += 10
        rests.append(clock.now - begun)
    assert rests == [30, 60, 120, 240, 480, 600]
    assert str(rest.trouble).endswith("no Kafka")
    rest.succeeded()
    assert rest.trouble is None
    rest.failed("an executor was killed")
    assert rest.is_over


def spark(folder: Path, scratch: Scratch, reported: list[ExecutorsState], *, in_pods: bool = True) -> Spark:
    secret = folder / "secret"
    secret.write_text("hush\n")
    executors = Executors(max=2)
    pods = ExecutorPods.at(cluster_of(executors, "10.0.0.7", str(secret)), executors, "10.0.0.7", 60)
    return Spark(
        cores=1,
        conf={},
        name="a",
        eager=False,
        scratch=scratch,
        cluster=pods if in_pods else None,
        on_executors=reported.append,
    )


@pytest.mark.parametrize("error", [ConnectError("no such table"), ConfigError("no such file")])
def test_an_error_of_an_executor_that_would_end_the_task_lets_the_driver_try(
    tmp_path: Path, error: ConnectError
) -> None:
    reported = list[ExecutorsState]()
    with Scratch(tmp_path) as scratch:
        made = spark(tmp_path, scratch, reported)
        none, found = made.judged([None, error])
        made.stop()
    assert none is None
    assert isinstance(found, RetriableError)
    assert (str(found), found.__cause__) == (str(error), error)
    assert str(error) in str(reported[-1].trouble)


@pytest.mark.parametrize("error", [Superseded("later"), Fenced("another"), RetriableError("wait", 3.0)])
def test_other_errors_of_executors_stay_what_they_are(tmp_path: Path, error: ConnectError) -> None:
    with Scratch(tmp_path) as scratch:
        made = spark(tmp_path, scratch, [])
        assert [*made.judged([error])] == [error]
        made.stop()


def test_without_executors_in_pods_an_error_of_a_worker_ends_the_task(tmp_path: Path) -> None:
    error = ConnectError("no such table")
    with Scratch(tmp_path) as scratch:
        made = spark(tmp_path, scratch, [], in_pods=False)
        assert [*made.judged([error])] == [error]
        made.stop()


def test_a_batch_that_executors_have_delivered_is_no_reason_for_a_rest(tmp_path: Path) -> None:
    reported = list[ExecutorsState]()
    with Scratch(tmp_path) as scratch:
        made = spark(tmp_path, scratch, reported)
        for errors in ([RetriableError("a")], [RetriableError("b")], [None]):
            made.judged(errors)
        made.stop()
    assert [s.trouble is None for s in reported] == [True, False, True]


def test_an_error_of_executors_does_not_hinder_the_task(tmp_path: Path) -> None:
    with Scratch(tmp_path) as scratch:
        made = spark(tmp_path, scratch, [])
        for error in (RetriableError("no Kafka"), ConnectError("no such table")):
            (found,) = made.judged([error])
            assert found is not None
            assert made.is_of_executors(found)
        assert not made.is_of_executors(RetriableError("another error"))
        made.judged([None])
        assert not made.is_of_executors(RetriableError("no such table"))
        made.stop()
