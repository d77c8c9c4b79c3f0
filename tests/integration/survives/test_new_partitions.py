"""Topics of Penstock's own get partitions under running tasks: keys lie elsewhere from then on, and what was stays."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from threading import Thread
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from penstock import RetriableError
from penstock.errors import Superseded
from penstock_kafka.murmur2 import partition_of
from penstock_kafka.records import Entry
from penstock_runtime.fencing.incarnation import TaskFence, TransactionalIds
from penstock_runtime.kafka.compacted_topic import StatusWriter, follower
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import Incarnation, incarnation_key

from ..lab import Lab
from ..reading import Read, Reader, create, read_all
from ..running import new_name, next_life, until

SUPERSEDED = 3
GROWN = 5


def grow(servers: str, topic: str, partitions: int = GROWN) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)
    with Reader(servers, topic, partitions=partitions) as reader:
        reader.to_end()


def name_that_moves(prefix: str = "c") -> str:
    """A connector whose record lies in another partition than the first once there are more."""
    return next(n for n in iter(lambda: new_name(prefix), "") if partition_of(incarnation_key(n, 0), GROWN) != 0)


class World:
    """Lives of one task, each with a producer of its own that asks for metadata every five minutes."""

    def __init__(self, servers: str) -> None:
        self.servers, self.status, self.name = servers, new_name("status"), name_that_moves()
        client = {"bootstrap.servers": servers}
        self.settings = ClientSettings(producer=client, consumer=client, admin=client)
        create(servers, self.status, 1, cleanup_policy="compact")
        self._open: list[TaskFence | StatusWriter] = []

    def writer(self) -> StatusWriter:
        """One that knows of the topic's partitions as they are now."""
        writer = StatusWriter(self.settings, client_id="lives")
        writer.write(self.status, [(b"somebody-else", b"")])
        self._open.append(writer)
        return writer

    def life(self, incarnation: int) -> TaskFence:
        ids = TransactionalIds("penstock", self.name, 0)
        life = TaskFence(
            self.settings, self.settings, self.status, ids, Incarnation(incarnation, 0, "t", 1), fences=False
        )
        self._open.append(life)
        return life

    def began(self, incarnation: int) -> tuple[TaskFence, StatusWriter]:
        life, writer = self.life(incarnation), self.writer()
        life.begin(writer)
        life.look(writer)
        return life, writer

    def grow(self) -> None:
        grow(self.servers, self.status)

    def records(self) -> list[Read]:
        return [r for r in read_all(self.servers, self.status) if r.key == incarnation_key(self.name, 0)]

    def close(self) -> None:
        for one in self._open:
            one.close()


@pytest.fixture
def world(kafka: str) -> Iterator[World]:
    made = World(kafka)
    yield made
    made.close()


def test_a_life_continues_and_writes_its_record_where_its_key_lies_now(world: World) -> None:
    life, writer = world.began(1)
    world.grow()
    life.look(writer)
    # Partitions are read side by side, so that their order tells nothing.
    assert sorted(r.partition for r in world.records()) == [0, partition_of(incarnation_key(world.name, 0), GROWN)]
    life.look(writer)
    life.refence(writer)
    assert len(world.records()) == 3


def test_a_life_that_was_superseded_before_the_topic_grew_leaves(world: World) -> None:
    old, writer = world.began(1)
    new, its_writer = world.began(2)
    world.grow()
    with pytest.raises(Superseded):
        old.look(writer)
    with pytest.raises(Superseded):
        old.refence(writer)
    new.look(its_writer)
    with pytest.raises(Superseded):  # in a process that never saw the topic as it was
        world.life(1).begin(world.writer())
    with pytest.raises(Superseded):
        world.life(1).check()


def test_a_life_that_begins_after_the_topic_grew_supersedes_the_one_before(world: World) -> None:
    old, writer = world.began(1)
    world.grow()
    new, its_writer = world.began(2)
    with pytest.raises(Superseded):
        old.look(writer)
    new.look(its_writer)
    new.check()


def test_a_record_that_an_old_life_writes_late_to_the_old_partition_supersedes_nobody(world: World) -> None:
    old, writer = world.began(1)
    world.grow()
    new, its_writer = world.began(2)
    writer.write(world.status, [old.current.entry(world.name, 0)], partition=0)
    new.look(its_writer)
    new.check()
    with pytest.raises(Superseded):
        old.check()


@pytest.mark.parametrize("by", ["look", "refence"])
def test_of_two_lives_that_race_while_the_topic_grows_the_older_leaves(world: World, by: str) -> None:
    old, writer = world.began(1)
    new, its_writer = world.life(2), world.writer()
    left: list[int] = []

    def go_on(life: TaskFence, with_writer: StatusWriter, *, begins: bool) -> None:
        try:
            if begins:
                until(lambda: _began(life, with_writer))
            for _ in range(30):
                with suppress(RetriableError):  # a partition has no leader yet: nothing is known
                    life.look(with_writer, 10.0)
                    if by == "refence":
                        life.refence(with_writer)
        except Superseded:
            left.append(life.current.incarnation)

    threads = [
        Thread(target=go_on, args=(old, writer), kwargs={"begins": False}),
        Thread(target=world.grow),
        Thread(target=go_on, args=(new, its_writer), kwargs={"begins": True}),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with suppress(Superseded):  # it may have ended before the newer one began
        old.check()
        left.append(0)
    assert 2 not in left
    assert 0 not in left
    new.check()


def _began(life: TaskFence, writer: StatusWriter) -> bool:
    try:
        life.begin(writer)
    except RetriableError:
        return False
    return True


class Contested(StatusWriter):
    """Somebody else writes an older record after each of ours."""

    def write(self, topic: str, entries: Iterable[Entry], **more: Any) -> None:
        entries = list(entries)
        super().write(topic, entries, **more)
        super().write(topic, [(key, b'{"incarnation":0,"fence":0,"token":"","slots":0}') for key, _ in entries], **more)


def test_a_record_that_never_stays_is_given_up_and_reported(world: World) -> None:
    writer = Contested(world.settings, client_id="contested")
    with pytest.raises(RetriableError, match="cannot write the record of task"):
        world.life(1).begin(writer)
    writer.close()


def test_a_task_continues_and_an_older_life_of_it_leaves_when_the_status_topic_grew(lab: Lab) -> None:
    status, topic, name = new_name("status"), lab.topic(), name_that_moves("snk")
    resource = lab.sink_manifest(topic, name=name)
    spec = next_life(lab.spec(resource, {"status.storage.topic": status, "status.storage.partitions": "1"}), 7)
    task = lab.processes.task(spec)
    lab.produce(topic, "v0")
    lab.journal.count("commit")
    grow(lab.servers, status)
    lab.produce(topic, "v1")
    key = incarnation_key(name, 0)
    until(lambda: [r for r in read_all(lab.servers, status) if r.key == key and r.partition != 0], what=task.last_words)
    older = lab.processes.task(spec.for_incarnation(generation=spec.generation, incarnation=6, token="older"))
    assert older.await_exit() == SUPERSEDED, older.last_words()
    lab.produce(topic, "v2")
    lab.wait_committed(name, topic, 3)
    task.stop()


def test_a_task_gets_its_control_records_also_in_a_new_partition(lab: Lab) -> None:
    world = World(lab.servers)
    key = next(k for n in range(99) if partition_of(k := b"control-%d" % n, GROWN) != 0)
    reader = follower(world.settings, world.status, [key])
    reader.check_seconds = 0.2
    lab.produce(world.status, "running", key=key)
    assert until(lambda: reader.poll(0.1)) == [(key, b"running")]
    grow(lab.servers, world.status)
    lab.produce(world.status, "paused", partition=partition_of(key, GROWN), key=key)
    until(lambda: (key, b"paused") in reader.poll(0.1))
    lab.produce(world.status, "resumed", partition=0, key=key)  # by who does not know of the new ones
    until(lambda: (key, b"resumed") in reader.poll(0.1))
    assert reader.caught_up
    reader.close()
