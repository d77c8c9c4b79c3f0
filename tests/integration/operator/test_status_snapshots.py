"""Pods go on from where the operator has read the status topic to, and see what a reader of the whole topic sees."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

from penstock.errors import ConnectError, Superseded
from penstock_kafka import compacted_reader, topic_consumer
from penstock_kafka.compacted_reader import CompactedReader
from penstock_kafka.topic_position import TopicPosition
from penstock_model.contracts.incarnation import Incarnation, incarnation_key
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_reports import Control, Report, control_key, report_key
from penstock_model.contracts.task_spec import TaskState
from penstock_operator.kafka import StatusTopic
from penstock_runtime.fencing.incarnation import TaskFence, TransactionalIds
from penstock_runtime.fencing.plan_fence import Place, fence
from penstock_runtime.kafka.compacted_topic import StatusWriter, follower, read_to_end
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import latest_incarnation

from .test_status_topic import NAME, Watch, Watched, admin, make, put, remove, settings, watch

__all__ = ["watch"]

OTHERS = 3_000
SECONDS = 60.0


@dataclass
class World:
    """A status topic with the records of many others, an operator that follows it, and pods that it makes."""

    servers: str
    topic: str
    watch: Watch
    read: list[int] = field(default_factory=list)
    """How many records each request of a pod for more has brought."""

    def __post_init__(self) -> None:
        client = {"bootstrap.servers": self.servers}
        self.settings = ClientSettings(producer=client, consumer=client, admin=client)

    def put_of_others(self, count: int = OTHERS) -> None:
        reports = {report_key(f"others.c{n}", 0): b"{}" for n in range(count)}
        put(self.servers, self.topic, *reports.items())

    def snapshot(self, task: int | None = None) -> StatusSnapshot:
        """Of an operator that has read all that the topic holds now."""
        found = self.operator().status.snapshot(NAME, task)
        assert found is not None
        return found

    def operator(self) -> Watched:
        watched = self.watch(settings(self.servers, self.topic))
        watched.until(lambda s: s.exists and s.caught_up)
        return watched

    def prepare(self, known: StatusSnapshot | None, tasks: int = 1) -> PlanEpoch:
        place = Place(NAME, "penstock", self.settings, self.settings, self.topic)
        return fence(place, tasks, known=known).epoch

    def life(self, incarnation: int, epoch: PlanEpoch, known: StatusSnapshot | None) -> TaskFence:
        own = Incarnation(incarnation, 0, f"t{incarnation}", 0, epoch.generation, epoch.plan)
        ids = TransactionalIds("penstock", NAME, 0)
        return TaskFence(self.settings, self.settings, self.topic, ids, own, fences=False, known=known)

    def writer(self) -> StatusWriter:
        return StatusWriter(self.settings, client_id="test")

    def make_anew(self, *, records: int) -> None:
        remove(self.servers, self.topic)
        until(lambda: self.topic not in admin(self.servers).list_topics(timeout=10).topics)
        make(self.servers, self.topic)
        self.put_of_others(records)
        until(self._is_readable)

    def _is_readable(self) -> bool:
        try:
            read_to_end(self.settings, self.topic)
        except ConnectError:
            return False
        return True


@pytest.fixture
def world(kafka: str, topic: str, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> World:
    make(kafka, topic)
    made = World(kafka, topic, watch)
    real = topic_consumer.poll_messages

    def counted(*arguments: Any) -> Any:
        messages = real(*arguments)
        made.read.append(sum(m.error() is None for m in messages))
        return messages

    for module in (topic_consumer, compacted_reader):
        monkeypatch.setattr(module, "poll_messages", counted)
    made.put_of_others()
    return made


def test_a_prepare_reads_what_has_come_since_the_operator_read_and_not_the_records_before(world: World) -> None:
    first = world.prepare(None)
    assert sum(world.read) > OTHERS
    known = world.snapshot()
    world.read.clear()
    second = world.prepare(known)
    assert sum(world.read) < 10
    assert second.generation > first.generation


def test_a_prepare_sees_a_plan_that_the_operator_has_not_read_yet(world: World) -> None:
    world.prepare(None, tasks=2)
    stale = world.snapshot()
    newer = world.prepare(None, tasks=5)
    assert world.prepare(stale).generation > newer.generation
    held = read_to_end(world.settings, world.topic)
    for task in range(5):
        found = latest_incarnation(held, NAME, task)
        assert found is not None
        assert found.generation > newer.generation, f"task {task} of the newer plan is shut out as well"


@pytest.mark.parametrize("records", [0, 2 * OTHERS])
def test_a_prepare_reads_a_topic_that_was_recreated_from_its_beginning(world: World, records: int) -> None:
    world.prepare(None)
    stale = world.snapshot()
    world.make_anew(records=records)
    put(world.servers, world.topic, Incarnation(1, 0, "t", 0, 1_000_000, "p").entry(NAME, 3))
    world.put_of_others(records)
    assert world.prepare(stale).generation == 1_000_001


def test_a_prepare_finds_what_was_written_to_partitions_that_were_added(world: World) -> None:
    world.prepare(None)
    stale = world.snapshot()
    client = admin(world.servers)
    client.create_partitions([NewPartitions(world.topic, 11)])[world.topic].result(30)
    until(lambda: len(client.list_topics(world.topic, timeout=10).topics[world.topic].partitions) == 11)
    for task in range(10):
        put(world.servers, world.topic, Incarnation(1, 0, "t", 0, 1_000_000, "p").entry(NAME, task))
    world.read.clear()
    assert world.prepare(stale).generation == 1_000_001
    assert sum(world.read) < 100


@pytest.mark.parametrize("moved", [10**9, -(10**6)])
def test_a_prepare_reads_a_partition_from_its_beginning_where_the_position_is_not_in_it(
    world: World, moved: int
) -> None:
    """Truncated away, or of a request that somebody has made up."""
    world.prepare(None)
    known = world.snapshot()
    forged = known.model_copy(update={"ends": tuple(e + moved for e in known.ends), "records": ()})
    before = latest_incarnation(read_to_end(world.settings, world.topic), NAME, 0)
    assert before is not None
    assert world.prepare(forged).generation > before.generation


def test_the_operator_passes_on_the_greatest_record_also_where_an_older_life_wrote_last(world: World) -> None:
    greater = Incarnation(2, 0, "b", 3, 1_000, "p")
    older = Incarnation(9, 0, "a", 1, 999, "p")
    put(world.servers, world.topic, greater.entry(NAME, 0, ids=["one"]), older.entry(NAME, 0, ids=["other"]))
    ((key, value),) = world.snapshot().entries()
    assert key == incarnation_key(NAME, 0)
    assert value is not None
    assert Incarnation.of(value) == greater
    assert b'"ids":["one","other"]' in value, "both are fenced"


def test_what_is_forgotten_of_a_connector_leaves_its_incarnation_records(world: World) -> None:
    epoch = world.prepare(None)
    operator = world.operator()
    operator.status.forget(NAME)
    assert world.prepare(world.snapshot()).generation > epoch.generation
    assert latest_incarnation(read_to_end(world.settings, world.topic), NAME, 0) is not None


def test_a_topic_that_the_operator_has_not_read_to_its_end_gives_pods_no_position(
    kafka: str, topic: str, watch: Watch
) -> None:
    watched = watch(settings(kafka, topic))
    watched.until(lambda s: s.caught_up)
    assert watched.status.snapshot(NAME) is None, "there is no such topic"
    unreachable = watch(settings("127.0.0.1:1", topic))
    assert unreachable.status.snapshot(NAME) is None


def test_a_life_reads_what_has_come_since_and_writes_its_record(world: World) -> None:
    epoch = world.prepare(None)
    known = world.snapshot(0)
    world.read.clear()
    life, writer = world.life(1, epoch, known), world.writer()
    life.begin(writer)
    life.check()
    life.look(writer)
    assert sum(world.read) < 10
    life.close()
    newest = latest_incarnation(read_to_end(world.settings, world.topic), NAME, 0)
    assert newest == life.current


def test_a_life_leaves_where_a_newer_one_is_in_what_the_operator_has_read(world: World) -> None:
    older = world.prepare(None)
    newer = world.prepare(None)
    assert newer.generation > older.generation
    with pytest.raises(Superseded):
        world.life(1, older, world.snapshot(0)).begin(world.writer())


def test_a_life_leaves_where_a_newer_one_has_come_since_the_operator_read(world: World) -> None:
    older = world.prepare(None)
    stale = world.snapshot(0)
    world.prepare(None)
    for begins in (True, False):
        life = world.life(1, older, stale)
        with pytest.raises(Superseded):
            life.begin(world.writer()) if begins else life.check()
        with pytest.raises(Superseded):
            life.check()  # and says so again
        life.close()


@pytest.mark.parametrize("records", [0, 2 * OTHERS])
def test_a_life_whose_topic_was_recreated_finds_a_newer_one_in_it(world: World, records: int) -> None:
    older = world.prepare(None)
    stale = world.snapshot(0)
    world.make_anew(records=records)
    newer = Incarnation(1, 0, "t", 0, older.generation + 1, "p")
    put(world.servers, world.topic, newer.entry(NAME, 0))
    world.put_of_others(records)
    with pytest.raises(Superseded):
        world.life(1, older, stale).begin(world.writer())


def followed(
    world: World, known: StatusSnapshot | None, keys: list[bytes]
) -> tuple[CompactedReader, list[tuple[bytes, Any]]]:
    reader = follower(world.settings, world.topic, keys, TopicPosition.of(known))
    entries: list[tuple[bytes, Any]] = []
    until(lambda: polled(reader, entries) and reader.caught_up)
    return reader, entries


def polled(reader: CompactedReader, entries: list[tuple[bytes, Any]]) -> bool:
    entries += reader.poll(0.1)
    return True


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline


def test_a_follower_begins_where_the_operator_has_read_to_and_follows_from_there(world: World) -> None:
    control = Control(connector_uid="u", generation=3, state=TaskState.PAUSED)
    put(world.servers, world.topic, (control_key(NAME), control.to_value()))
    known = world.snapshot(0)
    assert (control_key(NAME), control.to_value()) in known.entries()
    reader, entries = followed(world, known, [control_key(NAME)])
    assert entries == []
    later = control.model_copy(update={"generation": 4})
    put(world.servers, world.topic, (control_key(NAME), later.to_value()))
    until(lambda: polled(reader, entries) and entries)
    assert entries == [(control_key(NAME), later.to_value())]
    reader.close()


def test_a_follower_reads_a_topic_that_was_recreated_from_its_beginning(world: World) -> None:
    known = world.snapshot(0)
    world.make_anew(records=2 * OTHERS)
    reader, entries = followed(world, known, [control_key(NAME)])
    assert len(entries) > OTHERS / 2
    reader.close()


def test_the_operator_reports_the_greatest_generation_that_a_report_names(world: World) -> None:
    report = Report(
        connector=NAME,
        connector_uid="u",
        pod_uid="p",
        task=0,
        epoch=PlanEpoch(generation=5_000, plan="x"),
        incarnation=1,
        state="RUNNING",
        acted=1,
        since=0,
    )
    put(world.servers, world.topic, (report_key(NAME, 0), report.to_value()))
    assert world.prepare(world.snapshot()).generation == 5_001


def test_news_are_in_a_snapshot_with_the_position_behind_them(world: World) -> None:
    operator = world.operator()
    status: StatusTopic = operator.status
    first = status.snapshot(NAME)
    assert first is not None
    put(world.servers, world.topic, Incarnation(1, 0, "t", 0, 7, "p").entry(NAME, 0))

    def grown() -> bool:
        found = status.snapshot(NAME)
        return found is not None and bool(found.records) and sum(found.ends) == sum(first.ends) + 1

    until(grown)
