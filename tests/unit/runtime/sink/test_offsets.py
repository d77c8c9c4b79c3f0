"""Commits of a sink task: which offsets, and when."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import pytest

from penstock import ConnectError, RetriableError, Sink, Superseded
from penstock import TopicPartition as Partition
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.offsets import SinkOffsets
from penstock_runtime.sink.paused_partitions import PausedPartitions
from penstock_runtime.sink.plugin_requests import PluginRequests

A, B = Partition("a", 0), Partition("b", 0)


class Group:
    """A consumer group: what it holds, and every commit to it."""

    group = "g"
    reset = "earliest"

    def __init__(self, **held: int) -> None:
        self.held = {Partition(t, 0): o for t, o in held.items()}
        self.commits: list[dict[Partition, int]] = []
        self.refuses: list[Exception] = []
        self.joined: list[str] | None = []

    def members(self) -> list[str] | None:
        return self.joined

    def committed(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {p: self.held[p] for p in partitions if p in self.held}

    @property
    def from_beginning(self) -> bool:
        return self.reset == "earliest"

    def bounds(self, partitions: Iterable[Partition]) -> dict[Partition, tuple[int, int]]:
        return dict.fromkeys(partitions, (10, 20))

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, 20)

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        if self.refuses:
            raise self.refuses.pop(0)
        self.commits.append(dict(offsets))
        self.held.update(offsets)


class News:
    """Reports that nobody reads."""

    def committed(self) -> None: ...

    def trouble(self, message: str | None) -> None: ...


class Fence:
    """Whether this life is the newest, and how often that was looked at before a commit."""

    def __init__(self) -> None:
        self.checks = 0
        self.refuses: list[Exception] = []

    def check(self) -> None:
        self.checks += 1
        if self.refuses:
            raise self.refuses[0]

    def look(self) -> None:
        if self.refuses and isinstance(self.refuses[0], Superseded):
            raise self.refuses[0]


class Told(Sink):
    """Notes what it is asked to commit, and answers as a test says."""

    def __init__(self, stored: Mapping[Partition, int] | None = None, *errors: Exception) -> None:
        self.stored = dict(stored or {})
        self.errors = list(errors)
        self.asked: list[tuple[list[Any], dict[Partition, int]]] = []
        self.calls: list[str] = []
        self.refuses: list[Exception] = []
        self.returns = 0
        """How far the offsets that it returns lie from those that it is given."""
        self.answers_nothing = False

    def open(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        self.calls.append(f"open {' '.join(p.topic for p in partitions)}")
        if self.refuses:
            raise self.refuses.pop(0)
        return self.stored

    def close(self, partitions: Sequence[Partition]) -> None:
        self.calls.append(f"close {' '.join(p.topic for p in partitions)}")

    def commit(self, messages: Sequence[Any], offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        self.calls.append("commit")
        self.asked.append((list(messages), dict(offsets)))
        if self.errors:
            raise self.errors.pop(0)
        return {} if self.answers_nothing else {p: o + self.returns for p, o in offsets.items()}


class World:
    def __init__(self, sink: Told | None = None, *, sets_back: bool = True, **held: int) -> None:
        self.now = 0.0
        self.asked = PluginRequests()
        self.sink = sink or Told()
        self.group = Group(**held)
        self.fence = Fence()
        self.stopping = threading.Event()
        self.pauses = PausedPartitions()
        self.offsets = SinkOffsets(
            self.sink,
            cast("RecordConsumer", self.group),
            cast("Reports", News()),
            fence=cast("SinkFence", self.fence),
            stopping=self.stopping,
            interval=1.0,
            longest=60.0,
            pauses=self.pauses,
            sets_back=sets_back,
            asked=self.asked,
            clock=lambda: self.now,
        )

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.offsets.commit_if_due()


def wrote(offset: int, message: Any = None) -> Summary:
    return Summary(offsets=[("a", 0, offset)], messages=[] if message is None else [message])


def test_partition_begins_at_the_sinks_offset_else_the_groups_else_none() -> None:
    world = World(Told({A: 3}), a=7, b=9)
    new = Partition("new", 0)
    world.offsets.assign([A, B, new])
    assert world.offsets.positions == {A: 3, B: 9, new: None}


def test_assigning_a_partition_commits_the_groups_offsets_to_detect_members() -> None:
    world = World(a=7)
    world.offsets.assign([A, B])
    assert world.group.commits == [{A: 7}]


def test_group_members_are_reported_before_the_sink_is_opened_and_at_most_three() -> None:
    world = World(a=7)
    world.group.joined = [f"c{n} at h" for n in range(5)]
    with pytest.raises(ConnectError, match=r"group 'g' has members: c0 at h, c1 at h, c2 at h and 2 more\."):
        world.offsets.assign([A])
    assert (world.sink.calls, world.group.commits) == ([], [])


def test_refused_commit_reveals_members_if_they_cannot_be_listed() -> None:
    world = World(a=7)
    world.group.joined = None
    world.group.refuses = [ConnectError("refused because the group has members")]
    with pytest.raises(ConnectError, match="refused"):
        world.offsets.assign([A])
    assert world.sink.calls == []


def test_written_records_are_committed_once_per_interval() -> None:
    world = World()
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5, "m1"))
    world.after(0.5)
    assert world.group.commits == []
    world.offsets.wrote(wrote(6, "m2"))
    world.after(0.5)
    world.after(10)
    assert world.sink.asked == [(["m1", "m2"], {A: 6})]
    assert world.group.commits == [{A: 6}]


def test_position_without_records_is_not_committed() -> None:
    world = World()
    world.offsets.assign([A])
    world.offsets.at_end({A: 0, B: 3})
    world.after(10)
    assert (world.sink.asked, world.group.commits) == ([], [])


def test_sink_seeks_to_a_given_offset_or_to_its_last_commit() -> None:
    world = World(a=2, b=4)
    world.offsets.assign([A, B])
    world.offsets.wrote(wrote(9))
    world.asked.seek({A: 5, Partition("gone", 0): 1})
    assert world.offsets.hold()
    assert world.offsets.positions == {A: 5, B: 4}
    assert not world.offsets.hold()
    world.offsets.wrote(wrote(9))
    world.after(1)
    world.offsets.wrote(wrote(12))
    world.asked.seek({A: None})
    assert world.offsets.hold()
    assert world.offsets.positions == {A: 9, B: 4}


def test_seek_during_a_spark_batch_wins_over_the_offsets_of_workers() -> None:
    world = World(a=2, b=4)
    world.offsets.assign([A, B])
    world.offsets.wrote(Summary(offsets=[("a", 0, 9), ("b", 0, 9)]))
    world.asked.seek({A: 5})
    world.offsets.commit()  # what the batch before has staged, while workers write the next one
    world.offsets.wrote(Summary(offsets=[("a", 0, 12), ("b", 0, 12)]))
    assert world.offsets.hold()
    assert world.offsets.positions == {A: 5, B: 12}
    world.offsets.wrote(wrote(12))
    assert world.offsets.positions == {A: 12, B: 12}


def test_offsets_given_up_during_the_commit_are_not_committed_at_the_end() -> None:
    world = World(a=2)
    world.offsets.assign([A])
    world.offsets.wrote(wrote(9))
    world.sink.answers_nothing = True
    world.after(1)
    world.asked.seek({A: None})
    world.sink.answers_nothing = False
    world.offsets.wrote(wrote(12))
    world.offsets.commit_at_the_end(failed=False)
    assert {A: 12} not in world.group.commits
    assert world.offsets.hold()  # it is read again from there


def test_requested_commit_does_not_wait_for_the_interval() -> None:
    world = World()
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5))
    world.asked.commit()
    world.offsets.commit_if_due()
    world.offsets.commit_if_due()
    assert [asked for _, asked in world.sink.asked] == [{A: 5}]


def test_buffering_sink_resumes_at_the_position_before_the_pause() -> None:
    world = World(sets_back=False, a=2)
    world.sink.answers_nothing = True
    world.offsets.assign([A])
    world.offsets.wrote(wrote(9))
    world.pauses.pause([A])
    world.offsets.hold()
    assert world.offsets.places == {}
    world.pauses.resume([A])
    world.offsets.hold()
    assert world.offsets.places == {A: 9}


def test_markers_at_the_end_are_passed() -> None:
    world = World()
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5))
    world.offsets.at_end({A: 6})
    world.after(1)
    assert world.group.commits == [{A: 6}]


def test_offsets_of_an_idle_group_are_committed_again_every_ten_minutes() -> None:
    world = World(a=7)
    world.offsets.assign([A])
    world.group.commits.clear()
    for _ in range(20):
        world.after(60)
    assert world.group.commits == [{A: 7}, {A: 7}]
    assert world.sink.asked == []


def test_offsets_of_an_idle_partition_are_committed_again_while_another_is_busy() -> None:
    """Kafka forgets each partition's offset by its own age."""
    world = World(a=7, b=9)
    world.offsets.assign([A, B])
    world.group.commits.clear()
    for n in range(20):
        world.offsets.wrote(wrote(8 + n))
        world.after(60)
    assert [c[B] for c in world.group.commits if B in c] == [9, 9]


def test_offset_of_an_unanswered_commit_is_not_overwritten_by_an_older_one() -> None:
    """Given up while the broker was slow, say: the group may stand further than what was committed before."""
    world = World(a=7, b=9)
    world.offsets.assign([A, B])
    world.offsets.wrote(wrote(50))
    world.group.refuses.append(RetriableError("given up"))
    with pytest.raises(RetriableError):
        world.after(1)
    world.group.commits.clear()
    world.now += 600
    world.offsets.keep_alive()
    assert world.group.commits == [{B: 9}]
    world.after(1)
    assert world.group.held[A] == 50


def test_a_group_keeps_its_offsets_while_a_sink_asks_to_wait() -> None:
    """For longer than Kafka keeps them, perhaps; a commit that fails meanwhile does not disturb the waiting."""
    world = World(a=7)
    world.offsets.assign([A])
    world.group.commits.clear()
    world.now += 600
    world.offsets.keep_alive()
    assert world.group.commits == [{A: 7}]
    world.now += 600
    world.group.refuses.append(RetriableError("no broker answers"))
    world.offsets.keep_alive()
    world.offsets.keep_alive()
    assert world.group.commits == [{A: 7}]
    world.now += 60
    world.offsets.keep_alive()
    assert world.group.commits == [{A: 7}, {A: 7}]
    world.now += 600
    world.stopping.set()
    world.offsets.keep_alive()
    assert world.group.commits == [{A: 7}, {A: 7}]


def test_commit_is_retried_with_the_same_arguments() -> None:
    world = World(Told({}, RetriableError("wait", 0.001), RetriableError("wait", 0.001)))
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5, "m"))
    world.after(1)
    assert world.sink.asked == [(["m"], {A: 5})] * 3
    assert world.group.commits == [{A: 5}]


def test_stopping_task_does_not_wait_for_the_sinks_commit() -> None:
    world = World(Told({}, RetriableError("wait")))
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5))
    world.stopping.set()
    world.offsets.commit_at_the_end(failed=False)
    assert (len(world.sink.asked), world.group.commits) == (1, [])


def test_failed_commit_is_not_retried_when_the_task_ends() -> None:
    world = World(Told({}, ConnectError("refused")))
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5))
    with pytest.raises(ConnectError, match="refused"):
        world.after(1)
    world.offsets.commit_at_the_end(failed=True)
    assert (len(world.sink.asked), world.group.commits) == (1, [])


def test_written_records_are_committed_after_another_failure() -> None:
    world = World()
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5))
    world.offsets.commit_at_the_end(failed=True)
    assert world.group.commits == [{A: 5}]


def test_deleted_partitions_are_not_committed() -> None:
    world = World(a=7, b=9)
    world.offsets.assign([A, B])
    world.group.commits.clear()
    world.offsets.drop([B])
    world.after(600)
    assert world.group.commits == [{A: 7}]


def test_partition_without_records_resumes_at_the_end_seen_first() -> None:
    offsets = World().offsets
    offsets.assign([A])
    assert offsets.places == {A: None}
    offsets.at_end({A: 7})  # auto.offset.reset=latest began there
    assert offsets.places == {A: 7}
    assert not offsets.pending


def test_after_a_failed_batch_the_sinks_offsets_override_positions() -> None:
    world = World()
    world.offsets.assign([A, B])
    world.offsets.wrote(wrote(5, "m"))
    world.sink.stored = {A: 8, Partition("other", 0): 3}
    world.offsets.reopen()
    assert world.sink.calls == ["open a b", "commit", "close a b", "open a b"]
    assert world.sink.asked == [(["m"], {A: 5})]
    assert world.offsets.positions == {A: 8, B: None}


def test_sink_is_not_closed_twice_while_reopening_is_retried() -> None:
    world = World()
    world.offsets.assign([A])
    world.sink.refuses = [RetriableError("locked")]
    with pytest.raises(RetriableError):
        world.offsets.reopen()
    world.offsets.reopen()
    assert world.sink.calls == ["open a", "close a", "open a", "open a"]


def test_sink_flushes_a_deleted_partition_without_committing_it() -> None:
    world = World()
    world.offsets.assign([A, B])
    world.offsets.wrote(Summary(offsets=[("a", 0, 5), ("b", 0, 6)], messages=["m"]))
    world.offsets.drop([A])
    assert world.sink.calls == ["open a b", "commit", "close a"]
    assert world.sink.asked == [(["m"], {A: 5, B: 6})]
    assert world.group.commits == [{B: 6}]
    assert world.offsets.positions == {B: 6}


@pytest.mark.parametrize(
    ("reset", "offset", "to", "told"),
    [
        (
            "earliest",
            4,
            10,
            "Reading continues at 10 (auto.offset.reset=earliest); 6 offsets are gone, and 0 existing",
        ),
        (
            "latest",
            4,
            20,
            "Reading continues at 20 (auto.offset.reset=latest); 6 offsets are gone, and 10 existing",
        ),
        ("earliest", 30, 10, "at 10 (auto.offset.reset=earliest); 0 offsets are gone, and 0 existing"),
        ("latest", 30, 20, "at 20 (auto.offset.reset=latest); 0 offsets are gone, and 0 existing"),
    ],
)
def test_missing_offset_follows_auto_offset_reset_and_is_logged(
    reset: str, offset: int, to: int, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(a=offset)
    world.group.reset = reset
    world.offsets.assign([A])
    world.offsets.out_of_range(A, offset)
    assert world.offsets.positions == {A: to}
    assert told in caplog.text
    assert f"a-0 has no offset {offset}: the partition holds 10 to 20" in caplog.text


def test_offset_that_is_in_range_again_is_kept() -> None:
    world = World(a=15)
    world.offsets.assign([A])
    world.offsets.out_of_range(A, 15)
    assert world.offsets.positions == {A: 15}


def test_without_a_reset_a_partition_needs_an_offset_of_the_group_or_of_the_sink() -> None:
    world = World(Told({A: 3}), b=9)
    world.group.reset = "none"
    world.offsets.assign([A, B])
    undefined = (
        r"Undefined offset with no reset policy for partitions: \[new-0\] \(NoOffsetForPartition\): "
        "group 'g' has committed none there.*Set it to earliest or latest, or set the group's offsets"
    )
    with pytest.raises(ConnectError, match=undefined):
        world.offsets.assign([Partition("new", 0)])
    gone = r"Offsets out of range with no configured reset policy .* \{b-0=9\}.*the partition holds 10 to 20"
    with pytest.raises(ConnectError, match=gone):
        world.offsets.out_of_range(B, 9)


def test_superseded_task_commits_nothing_in_the_group_or_the_sink() -> None:
    world = World(a=1)
    world.offsets.assign([A])
    world.group.commits.clear()
    world.offsets.wrote(wrote(5, "m"))
    world.fence.refuses = [Superseded("newer")]
    leaves: list[Callable[[], None]] = [
        lambda: world.after(600),
        lambda: world.offsets.assign([B]),
        lambda: world.offsets.drop([A]),
        lambda: world.offsets.commit_at_the_end(failed=False),
        world.offsets.reopen,
        world.offsets.keep_alive,
    ]
    for leave in leaves:
        with pytest.raises(Superseded):
            leave()
    assert (world.sink.asked, world.group.commits) == ([], [])


def test_nothing_is_committed_while_a_newer_incarnation_cannot_be_ruled_out() -> None:
    world = World()
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5, "m"))
    world.fence.refuses = [RetriableError("the status topic is away")]
    with pytest.raises(RetriableError):
        world.after(1)
    assert (world.sink.asked, world.group.commits) == ([], [])
    world.fence.refuses.clear()
    world.after(0)
    assert (world.sink.asked, world.group.commits) == ([(["m"], {A: 5})], [{A: 5}])


def test_fence_is_checked_again_after_a_slow_commit_of_the_sink() -> None:
    class Slow(Told):
        def commit(self, messages: Sequence[Any], offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
            world.now += 20
            world.fence.refuses = [Superseded("newer")]
            return offsets

    world = World(Slow())
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5))
    with pytest.raises(Superseded):
        world.after(1)
    assert world.group.commits == []


def asked_at(world: World, seconds: int) -> list[int]:
    """The seconds of the next so many in which the sink is asked to commit."""
    found = []
    for _ in range(seconds):
        before = len(world.sink.asked)
        world.after(1)
        if len(world.sink.asked) > before:
            found.append(int(world.now))
    return found


def test_commit_is_repeated_after_growing_pauses_while_the_sink_holds_records_back() -> None:
    world = World()
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5))
    world.sink.returns = -2
    assert asked_at(world, 300) == [1, 2, 4, 8, 16, 32, 64, 124, 184, 244]
    world.offsets.wrote(wrote(6))  # what is new is asked for at once
    assert asked_at(world, 10) == [301, 302, 304, 308]
    world.sink.returns = 0
    assert asked_at(world, 300) == [316]
    assert world.group.commits[:3] == [{A: 3}, {A: 4}, {A: 6}]


def test_offsets_beyond_the_given_ones_are_logged_once_and_retried_only_after_new_records(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    world.offsets.assign([A])
    world.offsets.wrote(wrote(5))
    world.sink.returns = 1
    assert asked_at(world, 300) == [1]
    world.offsets.wrote(wrote(6))
    assert asked_at(world, 300) == [301]
    assert not world.offsets.pending
    assert caplog.text.count("which it was not given") == 1
    world.sink.returns = 0
    world.offsets.wrote(wrote(7))
    assert asked_at(world, 300) == [601]
    assert world.group.commits[0] == {A: 7}


def test_foreign_offsets_are_logged_before_they_are_overwritten(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(a=7, b=9)
    world.offsets.assign([A, B])
    world.offsets.wrote(wrote(8))
    world.after(1)
    assert caplog.text == ""
    world.group.held[A] = 2
    world.offsets.wrote(wrote(12))
    world.after(1)
    assert "offsets of group 'g', which this task commits: a-0 from 8 to 2 (now 12). They are over" in caplog.text
    assert world.group.held[A] == 12
    del world.group.held[B]  # of a partition that is idle
    caplog.clear()
    world.after(600)
    assert "b-0 from 9 to none (now 9)" in caplog.text
    assert "a-0" not in caplog.text


def test_latest_begins_at_the_end_at_assignment_and_commits_it_immediately() -> None:
    world = World(Told({B: 3}))
    world.group.reset = "latest"
    world.offsets.assign([A, B])
    assert world.offsets.positions == {A: 20, B: 3}
    world.after(0)
    assert world.group.commits == [{A: 20, B: 3}]


def test_records_held_back_at_close_are_read_again() -> None:
    world = World()
    world.offsets.assign([A])
    world.sink.returns = -5
    world.offsets.wrote(wrote(8))
    world.offsets.reopen()  # a sink may drop in `close` what it was not ready to commit
    assert world.group.held == {A: 3}
    assert world.offsets.places == {A: 3}


def test_without_a_commit_records_are_read_again_from_the_start_position() -> None:
    world = World()
    world.offsets.assign([A])
    world.sink.answers_nothing = True
    world.offsets.wrote(wrote(8))
    world.offsets.reopen()
    assert world.offsets.places == {A: None}


def test_start_position_is_committed_even_if_the_sink_allows_nothing() -> None:
    world = World()
    world.group.reset = "latest"
    world.sink.answers_nothing = True
    world.offsets.assign([A])
    world.after(0)
    assert world.group.commits == [{A: 20}]
    world.offsets.wrote(wrote(25))
    world.after(10)
    assert world.group.commits == [{A: 20}]


@pytest.mark.parametrize("answered", [True, False])
def test_partition_that_began_at_its_end_is_read_again_from_that_end(answered: bool) -> None:
    world = World()
    world.group.reset = "latest"
    world.sink.answers_nothing = True
    world.offsets.assign([A])
    world.offsets.wrote(wrote(25))
    if not answered:
        world.group.refuses = [RetriableError("no answer")]
        with pytest.raises(RetriableError):
            world.offsets.reopen()
    world.offsets.reopen()
    assert world.offsets.places == {A: 20}


def test_records_after_a_reset_are_read_again_from_the_reset_position() -> None:
    world = World(a=2)
    world.sink.answers_nothing = True
    world.group.reset = "latest"
    world.offsets.assign([A])
    world.offsets.out_of_range(A, 2)
    world.offsets.wrote(wrote(25))
    world.offsets.reopen()
    assert world.offsets.places == {A: 20}
    assert world.group.held == {A: 20}


def test_partition_without_a_returned_offset_is_not_read_from_its_beginning() -> None:
    """The sink tells of each offset once."""
    world = World(a=7)
    world.offsets.assign([A])
    world.offsets.wrote(wrote(50))
    world.group.refuses = [RetriableError("no answer")]
    with pytest.raises(RetriableError):
        world.after(1)
    world.sink.answers_nothing = True
    world.offsets.reopen()
    assert world.offsets.places == {A: 7}


@pytest.mark.parametrize(("reset", "begins"), [("latest", 0), ("earliest", None)])
def test_new_partition_begins_at_the_groups_offset_else_at_its_beginning(reset: str, begins: int | None) -> None:
    world = World(b=7)
    world.group.reset = reset
    world.offsets.assign([A, B], grown=[A, B])
    assert world.offsets.places == {A: begins, B: 7}


# Partitions that the sink pauses


class Holds(Told):
    """Lets partition a be committed up to offset 5 only, once, and pauses it."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses = PausedPartitions()
        self.paused = False

    def commit(self, messages: Sequence[Any], offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        allowed = super().commit(messages, offsets)
        if self.paused:
            return allowed
        self.paused = True
        self.pauses.pause([A])
        return {**allowed, A: 5}


def held(sink: Holds | None = None) -> World:
    sink = sink or Holds()
    world = World(sink, a=3, b=4)
    sink.pauses = world.pauses
    world.offsets.assign([A, B])
    world.offsets.wrote(Summary(offsets=[("a", 0, 9), ("b", 0, 8)], messages=["m"]))
    world.after(1)
    return world


def test_records_held_back_of_a_paused_partition_are_read_again_after_resume() -> None:
    world = held()
    assert world.group.commits[-1] == {A: 5, B: 8}
    assert world.offsets.hold()
    assert world.offsets.places == {B: 8}
    world.offsets.wrote(Summary(offsets=[("b", 0, 9)]))
    world.after(1)
    assert world.sink.asked[-1] == ([], {A: 5, B: 9})
    world.pauses.resume([A])
    assert world.offsets.hold()
    assert world.offsets.places == {A: 5, B: 9}
    assert not world.offsets.hold()


def test_records_held_back_are_read_again_even_after_an_immediate_resume() -> None:
    class Resumes(Holds):
        def commit(self, messages: Sequence[Any], offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
            allowed = super().commit(messages, offsets)
            self.pauses.resume([A])
            return allowed

    world = held(Resumes())
    assert world.offsets.hold()
    assert (world.offsets.held, world.offsets.places) == (frozenset(), {A: 5, B: 8})


def test_held_partition_is_resumed_after_a_second_pause() -> None:
    world = held()
    world.offsets.hold()
    world.pauses.pause([A])
    world.pauses.resume([A])
    assert world.offsets.hold()
    assert world.offsets.held == frozenset()


def test_writes_by_workers_do_not_move_a_paused_partition_past_held_back_records() -> None:
    world = held()
    world.offsets.wrote(Summary(offsets=[("a", 0, 12), ("b", 0, 12)]))
    assert world.offsets.positions == {A: 5, B: 12}


def test_written_records_are_committed_before_their_partition_is_held() -> None:
    world = World(a=3, b=4)
    world.offsets.assign([A, B])
    world.offsets.wrote(wrote(9))
    world.pauses.pause([A])
    assert world.offsets.hold()
    assert world.group.held == {A: 9, B: 4}
    assert (world.offsets.positions[A], world.offsets.places) == (9, {B: 4})


def test_commit_is_called_now_and_then_while_all_partitions_are_paused() -> None:
    world = World(a=3)
    world.offsets.assign([A])
    world.pauses.pause([A])
    world.offsets.hold()
    for _ in range(200):
        world.after(1)
    assert 4 <= len(world.sink.asked) <= 9  # after 1, 2, 4 ... 60 s


def test_closed_partition_is_read_again_from_its_last_commit_after_a_failure() -> None:
    world = held()
    world.offsets.hold()
    world.offsets.reopen()
    assert world.offsets.hold()
    assert world.offsets.places == {A: 5, B: 8}


def test_a_pause_ends_with_the_topic() -> None:
    world = held()
    world.offsets.drop([A])
    world.offsets.hold()
    assert (world.offsets.held, world.offsets.places) == (frozenset(), {B: 8})
