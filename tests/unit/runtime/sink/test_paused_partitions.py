"""Partitions that a sink may pause, and how long pauses last."""

from typing import Any, cast

import pytest

from penstock import ConnectError
from penstock.sink import SinkTaskContext, TopicPartition
from penstock_runtime.sink.paused_partitions import PausedPartitions

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def opened() -> tuple[PausedPartitions, SinkTaskContext]:
    pauses = PausedPartitions()
    pauses.opening([A, B])
    return pauses, SinkTaskContext("c", 0, "1", pauses.pause, pauses.resume)


def test_a_partition_is_paused_until_it_is_resumed() -> None:
    pauses, context = opened()
    context.pause(A, B)
    pauses.holding([A, B])
    context.resume(B)
    context.resume(B)
    assert pauses.wanted == {A}


def test_partition_resumed_before_it_was_held_is_still_held_once() -> None:
    pauses, context = opened()
    context.pause(A)
    context.resume(A)
    assert pauses.wanted == {A}
    pauses.holding([A])
    assert pauses.wanted == frozenset()


def test_a_pause_is_forgotten_when_the_partition_is_closed() -> None:
    pauses, context = opened()
    context.pause(A, B)
    pauses.closed([A])
    pauses.opening([A])
    assert pauses.wanted == {B}


@pytest.mark.parametrize("what", ["pause", "resume"])
def test_a_partition_of_another_task_is_refused_by_name_and_nothing_is_paused(what: str) -> None:
    pauses, context = opened()
    with pytest.raises(ConnectError) as e:
        getattr(context, what)(A, TopicPartition("a", 1))
    assert str(e.value) == (
        f"cannot {what} a-1: a sink can {what} only partitions assigned to its task, from `open` to `close` "
        "(currently a-0, b-0); tell the plugin's author"
    )
    assert pauses.wanted == frozenset()


def test_before_open_there_is_nothing_to_pause() -> None:
    pauses = PausedPartitions()
    with pytest.raises(ConnectError, match=r"\(currently none\)"):
        SinkTaskContext("c", 0, "1", pauses.pause, pauses.resume).pause(A)


def test_a_list_of_partitions_is_refused_with_what_is_expected() -> None:
    _, context = opened()
    with pytest.raises(TypeError, match=r"pause takes each TopicPartition as an argument.* a value of type list"):
        context.pause(cast("Any", [A]))
