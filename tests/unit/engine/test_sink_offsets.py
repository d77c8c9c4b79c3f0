"""What a sink task commits, and when."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import pytest

from penstock import ConnectError, RetriableError, Sink
from penstock import TopicPartition as Partition
from penstock_runtime.engine.reports import Reports
from penstock_runtime.engine.sink_offsets import SinkOffsets
from penstock_runtime.engine.summary import Summary
from penstock_runtime.kafka.consumers import RecordConsumer

A, B = Partition("a", 0), Partition("b", 0)
DAY = 24 * 3600.0


class Group:
    """A consumer group: what it holds, and every commit to it."""

    def __init__(self, **held: int) -> None:
        self.held = {Partition(t, 0): o for t, o in held.items()}
        self.commits: list[dict[Partition, int]] = []

    def committed(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {p: self.held[p] for p in partitions if p in self.held}

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        self.commits.append(dict(offsets))
        self.held.update(offsets)


class News:
    """Reports that nobody reads."""

    def committed(self) -> None: ...

    def trouble(self, message: str | None) -> None: ...


class Told(Sink):
    """Notes what it is asked to commit, and answers as a test says."""

    def __init__(self, stored: Mapping[Partition, int] | None = None, *errors: Exception) -> None:
        self.stored = dict(stored or {})
        self.errors = list(errors)
        self.asked: list[tuple[list[Any], dict[Partition, int]]] = []

    def open(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        return self.stored

    def commit(self, messages: Sequence[Any], offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        self.asked.append((list(messages), dict(offsets)))
        if self.errors:
            raise self.errors.pop(0)
        return offsets


class World:
    def __init__(self, sink: Told | None = None, **held: int) -> None:
        self.now = 0.0
        self.sink = sink or Told()
        self.group = Group(**held)
        self.stopping = threading.Event()
        self.offsets = SinkOffsets(
            self.sink, cast("RecordConsumer", self.group), cast("Reports", News()), stopping=self.stopping, interval=1.0,
            clock=lambda: self.now,
        )  # fmt: skip

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.offsets.commit_if_due()


def wrote(offset: int, message: Any = None) -> Summary:
    return Summary(offsets=[("a", 0, offset)], messages=[] if message is None else [message])


def test_a_partition_begins_where_the_sink_says_else_the_group_else_nowhere() -> None:
    world = World(Told({A: 3}), a=7, b=9)
    new = Partition("new", 0)
    world.offsets.take([A, B, new])
    assert world.offsets.positions == {A: 3, B: 9, new: None}


def test_taking_a_partition_commits_what_the_group_holds_to_see_whether_it_is_ours() -> None:
    world = World(a=7)
    world.offsets.take([A, B])
    assert world.group.commits == [{A: 7}]


def test_what_was_written_is_committed_once_in_an_interval() -> None:
    world = World()
    world.offsets.take([A])
    world.offsets.wrote(wrote(5, "m1"))
    world.after(0.5)
    assert world.group.commits == []
    world.offsets.wrote(wrote(6, "m2"))
    world.after(0.5)
    world.after(10)
    assert world.sink.asked == [(["m1", "m2"], {A: 6})]
    assert world.group.commits == [{A: 6}]


def test_a_position_that_no_record_moved_is_not_committed() -> None:
    world = World()
    world.offsets.take([A])
    world.offsets.at_end({A: 0, B: 3})
    world.after(10)
    assert (world.sink.asked, world.group.commits) == ([], [])


def test_markers_at_the_end_are_passed() -> None:
    world = World()
    world.offsets.take([A])
    world.offsets.wrote(wrote(5))
    world.offsets.at_end({A: 6})
    world.after(1)
    assert world.group.commits == [{A: 6}]


def test_an_idle_groups_offsets_are_committed_anew_once_a_day() -> None:
    world = World(a=7)
    world.offsets.take([A])
    world.group.commits.clear()
    for _ in range(49):
        world.after(DAY / 24)
    assert world.group.commits == [{A: 7}, {A: 7}]
    assert world.sink.asked == []


def test_a_sink_that_asks_to_wait_is_asked_again_with_the_same() -> None:
    world = World(Told({}, RetriableError("wait", 0.001), RetriableError("wait", 0.001)))
    world.offsets.take([A])
    world.offsets.wrote(wrote(5, "m"))
    world.after(1)
    assert world.sink.asked == [(["m"], {A: 5})] * 3
    assert world.group.commits == [{A: 5}]


def test_when_the_task_is_to_stop_a_sink_that_asks_to_wait_is_left() -> None:
    world = World(Told({}, RetriableError("wait")))
    world.offsets.take([A])
    world.offsets.wrote(wrote(5))
    world.stopping.set()
    world.offsets.commit_at_the_end(failed=False)
    assert (len(world.sink.asked), world.group.commits) == (1, [])


def test_a_commit_that_failed_is_not_tried_again_on_the_way_out() -> None:
    world = World(Told({}, ConnectError("refused")))
    world.offsets.take([A])
    world.offsets.wrote(wrote(5))
    with pytest.raises(ConnectError, match="refused"):
        world.after(1)
    world.offsets.commit_at_the_end(failed=True)
    assert (len(world.sink.asked), world.group.commits) == (1, [])


def test_after_another_failure_what_was_written_is_committed_on_the_way_out() -> None:
    world = World()
    world.offsets.take([A])
    world.offsets.wrote(wrote(5))
    world.offsets.commit_at_the_end(failed=True)
    assert world.group.commits == [{A: 5}]


def test_partitions_that_are_gone_are_committed_no_more() -> None:
    world = World(a=7, b=9)
    world.offsets.take([A, B])
    world.group.commits.clear()
    world.offsets.drop([B])
    world.after(DAY)
    assert world.group.commits == [{A: 7}]


def test_a_partition_that_no_record_moved_goes_on_where_its_end_was_seen() -> None:
    group = Group()
    offsets = SinkOffsets(
        Told(), cast("RecordConsumer", group), cast("Reports", News()), stopping=threading.Event(), interval=1.0
    )
    offsets.take([A])
    assert offsets.places == {A: None}
    offsets.at_end({A: 7})  # auto.offset.reset=latest began there
    assert offsets.places == {A: 7}
    assert not offsets.pending
