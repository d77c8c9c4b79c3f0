"""Every row of the table in docs/decisions/0001, on a real broker: what a process that should be dead can still do."""

import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from confluent_kafka.admin import AdminClient

from penstock.errors import ConnectError, RetriableError, Superseded
from penstock_kafka.errors import Fenced, TransactionAborted
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.fencing.incarnation import TaskFence, TransactionalIds
from penstock_runtime.kafka import transactional_producer
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_to_end
from penstock_runtime.kafka.offsets_topic import load
from penstock_runtime.kafka.producer_buffer import Outgoing
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import Incarnation, incarnation_key, named_ids
from penstock_runtime.kafka.transactional_producer import TransactionalProducer

from ..reading import create, read_all
from ..running import Processes, manifest, new_name, next_life, specs

STATUS, OFFSETS = "zombie-status", "zombie-offsets"


class World:
    """A task whose lives and processes a test moves step by step."""

    def __init__(self, servers: str) -> None:
        self.name = f"c{uuid.uuid4().hex[:10]}"
        self.topic = f"topic-{self.name}"
        client = {"bootstrap.servers": servers}
        self.settings = ClientSettings(producer=client, consumer=client, admin=client)
        self.ids = TransactionalIds("penstock", self.name, 0)
        self.writer = StatusWriter(self.settings, client_id="zombies")
        self.servers = servers
        self.producers: list[TransactionalProducer] = []
        for topic in (STATUS, OFFSETS):
            if topic not in made(servers):
                create(servers, topic, 1, cleanup_policy="compact")
        create(servers, self.topic)

    def life(
        self,
        incarnation: int,
        *,
        token: str = "t",
        slots: int = 2,
        group: str = "penstock",
        plan: tuple[int, str] = (0, ""),
    ) -> TaskFence:
        ids = TransactionalIds(group, self.name, 0)
        return TaskFence(self.settings, self.settings, STATUS, ids, Incarnation(incarnation, 0, token, slots, *plan))

    def began(self, incarnation: int, **more: Any) -> TaskFence:
        """A life that has written its record and fenced (W and F)."""
        life = self.life(incarnation, **more)
        life.begin(self.writer)
        return life

    def producer(self, slot: int = 1) -> TransactionalProducer:
        """`init_transactions` of a worker's id."""
        self.producers.append(TransactionalProducer(self.settings, self.ids.slot(slot), client_id="zombie"))
        return self.producers[-1]

    def last(self) -> bytes | None:
        """What compaction would keep of the task's records."""
        return [v for k, v in read_to_end(self.settings, STATUS) if k == incarnation_key(self.name, 0)][-1]

    def send(self, producer: TransactionalProducer, text: str) -> None:
        producer.begin()
        producer.send(Outgoing(length=1, topic=self.topic, value=[text.encode()]))

    def shown(self) -> list[bytes | None]:
        return [r.value for r in read_all(self.servers, self.topic)]


def made(servers: str) -> set[str]:
    return set(AdminClient({"bootstrap.servers": servers}).list_topics(timeout=10).topics)


@pytest.fixture
def world(kafka: str) -> World:
    return World(kafka)


def test_one_that_had_its_producer_before_the_fence_commits_nothing_after_it(world: World) -> None:
    world.began(1)
    zombie = world.producer()
    world.send(zombie, "late")
    world.began(2)
    with pytest.raises((Fenced, TransactionAborted)):
        zombie.commit()
    zombie.close()
    assert world.shown() == []


def test_what_it_had_committed_before_the_fence_is_in_the_offsets_that_the_new_life_reads(world: World) -> None:
    world.began(1)
    zombie = world.producer()
    world.send(zombie, "in time")
    key, value = f'["{world.name}",{{"p":0}}]'.encode(), b'{"n":1}'
    zombie.send(Outgoing(length=1, topic=OFFSETS, key=[key], value=[value]))
    zombie.commit()
    world.began(2)
    stored = load(world.settings, world.name, topic=OFFSETS)
    assert [dict(o) for o in stored.offsets.values()] == [{"n": 1}]
    assert world.shown() == [b"in time"]


def test_one_that_makes_its_producer_after_the_fence_finds_the_newer_record_and_leaves(world: World) -> None:
    old = world.began(1)
    world.began(2)
    world.producer()
    with pytest.raises(Superseded, match="was taken over by incarnation 2"):
        old.check()


def test_a_new_life_that_such_a_zombie_fenced_finds_its_own_record_and_continues(world: World) -> None:
    world.began(1)
    new = world.began(2)
    producer = world.producer()
    world.send(producer, "first try")
    world.producer()  # the zombie: the same id, later
    with pytest.raises((Fenced, TransactionAborted)):
        producer.commit()
    new.refence(world.writer)
    assert (new.current.incarnation, new.current.fence) == (2, 1)
    again = world.producer()
    new.check()
    world.send(again, "second try")
    again.commit()
    assert world.shown() == [b"second try"]


def test_a_batch_that_the_driver_gave_up_shows_nothing_when_its_worker_continues(world: World) -> None:
    life = world.began(1)
    frozen = world.producer(1)
    told = life.current
    world.send(frozen, "batch k")
    life.refence(world.writer)
    other = world.producer(2)
    life.check()
    world.send(other, "batch k, again")
    other.commit()
    with pytest.raises((Fenced, TransactionAborted)):
        frozen.commit()
    late = TaskFence(world.settings, world.settings, STATUS, world.ids, told)
    world.producer(1)  # goes on from before its init_transactions
    with pytest.raises(Superseded):
        late.check()
    assert world.shown() == [b"batch k, again"]


def test_a_life_with_fewer_slots_fences_the_slots_of_the_one_before(world: World) -> None:
    world.began(1, slots=4)
    zombie = world.producer(4)
    world.send(zombie, "slot 4")
    assert world.began(2, slots=1).current.slots == 4
    with pytest.raises((Fenced, TransactionAborted)):
        zombie.commit()
    assert world.shown() == []


def test_an_older_life_neither_begins_nor_fences_again(world: World) -> None:
    old = world.began(1)
    world.began(2)
    for leaves in (lambda: old.begin(world.writer), lambda: old.refence(world.writer), lambda: world.began(1)):
        with pytest.raises(Superseded):
            leaves()


def test_the_greatest_record_counts_when_an_old_life_writes_late(world: World) -> None:
    old, new = world.life(1), world.began(2)
    world.writer.write(STATUS, [old.current.entry(world.name, 0)])
    new.check()
    with pytest.raises(Superseded):
        old.check()
    new.refence(world.writer)  # and its own record is the last again
    assert b'"incarnation":2,"fence":1' in (world.last() or b"")


def test_a_life_that_does_nothing_but_look_makes_its_record_the_last_again(world: World) -> None:
    """Else compaction would keep the late one alone, and whoever still acts for it would find that nobody is newer."""
    old, new = world.life(1), world.began(2)
    new.look(world.writer)
    world.writer.write(STATUS, [old.current.entry(world.name, 0)])
    assert b'"incarnation":1' in (world.last() or b"")
    new.look(world.writer)
    assert b'"incarnation":2' in (world.last() or b"")
    ends = len(read_to_end(world.settings, STATUS))
    new.look(world.writer)  # its own record is nothing to answer
    assert len(read_to_end(world.settings, STATUS)) == ends
    new.close()


def test_one_that_only_looks_leaves_when_a_newer_life_has_written_its_record(world: World) -> None:
    old = world.began(1)
    old.look(world.writer)
    world.writer.write(STATUS, [Incarnation(9, 0, "x", 2).entry("somebody-else", 0)])
    old.look(world.writer)
    world.began(2)
    with pytest.raises(Superseded, match="was taken over by incarnation 2"):
        old.look(world.writer)
    old.close()


def test_a_life_under_another_group_id_fences_what_the_one_before_wrote_with(world: World) -> None:
    world.began(1)
    driver = TransactionalProducer(world.settings, world.ids.driver, client_id="zombie")
    worker = world.producer(2)
    for zombie in (driver, worker):
        world.send(zombie, "late")
    world.began(2, group="renamed")
    for zombie in (driver, worker):
        with pytest.raises((Fenced, TransactionAborted)):
            zombie.commit()
        zombie.close()
    assert world.shown() == []


def test_a_life_that_ended_before_it_fenced_leaves_the_ids_of_the_one_before_to_the_next(world: World) -> None:
    world.began(1, group="first")
    ended = world.life(2, group="second")
    zombie = TransactionalProducer(world.settings, f"first-{world.name}-0", client_id="zombie")
    world.send(zombie, "late")
    with (
        patch.object(transactional_producer, "fence", side_effect=RetriableError("ended")),
        pytest.raises(RetriableError),
    ):
        ended.begin(world.writer)
    entry = (incarnation_key(world.name, 0), world.last())  # the only one that compaction keeps
    assert named_ids([entry], world.name, 0) == {f"first-{world.name}-0", f"second-{world.name}-0"}
    world.began(3, group="third")
    with pytest.raises((Fenced, TransactionAborted)):
        zombie.commit()
    zombie.close()
    entry = (incarnation_key(world.name, 0), world.last())  # what is fenced need not be fenced by all that come
    assert named_ids([entry], world.name, 0) == {f"third-{world.name}-0"}


def test_a_start_that_failed_while_it_fenced_fences_every_id_when_it_is_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else who holds an id under the worker's earlier `group.id` could commit behind the new life's back."""
    world.began(1, group="first")
    fenced: list[str] = []
    real = transactional_producer.fence

    def fails_at_first(settings: ClientSettings, ids: Any) -> None:
        if not fenced:
            fenced.append("")
            raise RetriableError("Kafka is away for a moment")
        fenced.extend(ids)
        real(settings, ids)

    monkeypatch.setattr(transactional_producer, "fence", fails_at_first)
    life = world.life(2, group="second")
    with pytest.raises(RetriableError):
        life.begin(world.writer)
    life.begin(world.writer)
    assert f"first-{world.name}-0" in fenced
    life.close()


def test_at_least_once_a_life_of_an_older_plan_leaves_also_where_it_begins_last(world: World) -> None:
    older = TaskFence(
        world.settings, world.settings, STATUS, world.ids, Incarnation(1, 0, "a", 0, 7, "b"), fences=False
    )
    newer = TaskFence(
        world.settings, world.settings, STATUS, world.ids, Incarnation(1, 0, "b", 0, 8, "a"), fences=False
    )
    newer.begin(world.writer)
    with pytest.raises(Superseded):
        older.begin(world.writer)
    newer.look(world.writer)
    newer.close()


def test_at_least_once_a_task_that_is_started_again_follows_its_own_plan(world: World) -> None:
    first = TaskFence(
        world.settings, world.settings, STATUS, world.ids, Incarnation(1, 0, "a", 0, 7, "a"), fences=False
    )
    next_ = TaskFence(
        world.settings, world.settings, STATUS, world.ids, Incarnation(2, 0, "b", 0, 7, "a"), fences=False
    )
    first.begin(world.writer)
    next_.begin(world.writer)
    with pytest.raises(Superseded, match="incarnation 2"):
        first.look(world.writer)
    first.close()


def test_at_least_once_the_ids_of_a_transactional_life_stay_known(world: World) -> None:
    world.began(1, slots=4)
    plain = TaskFence(world.settings, world.settings, STATUS, world.ids, Incarnation(2, 0, "b", 0), fences=False)
    plain.begin(world.writer)
    assert plain.current.slots == 4
    assert named_ids([(incarnation_key(world.name, 0), world.last())], world.name, 0) == {world.ids.driver}


@pytest.mark.parametrize("first_begins_last", [True, False])
def test_of_two_lives_with_one_number_one_leaves(world: World, *, first_begins_last: bool) -> None:
    a, b = world.life(1, token="a"), world.life(1, token="b")
    steps: list[Callable[[], None]] = [lambda: a.begin(world.writer), lambda: b.begin(world.writer)]
    left = []
    for step in reversed(steps) if first_begins_last else steps:
        try:
            step()
        except Superseded:
            left.append(step)
    checks = []
    for life in (a, b):
        try:
            life.check()
            checks.append(life)
        except Superseded:
            pass
    assert checks == [b]


def test_offsets_committed_behind_an_open_transaction_of_somebody_else_are_read(world: World) -> None:
    """Else a task that starts while another connector's commit is under way would begin too early, and double records."""
    other, own = world.producer(1), world.producer(2)
    other.begin()
    other.send(Outgoing(length=1, topic=OFFSETS, key=[b'["somebody",{"p":0}]'], value=[b"{}"]))
    other._producer.flush(10)
    own.begin()
    key = f'["{world.name}",{{"p":0}}]'.encode()
    own.send(Outgoing(length=1, topic=OFFSETS, key=[key], value=[b'{"n":7}']))
    own.commit()
    ends = threading.Timer(1.0, other.commit)
    ends.start()
    stored = load(world.settings, world.name, topic=OFFSETS)
    ends.join()
    assert [dict(o) for o in stored.offsets.values()] == [{"n": 7}]


def test_each_call_of_a_fenced_producer_says_so_in_our_words(world: World) -> None:
    """What waits for room in the client's queue, too: raw, the task would fail in place of leaving."""
    small = replace(world.settings, queue_bytes=1_000)

    def zombie(work: Callable[[TransactionalProducer], object]) -> ConnectError:
        producer = TransactionalProducer(small, world.ids.slot(1), client_id="zombie")
        producer.begin()
        producer.send(Outgoing(length=1, topic=world.topic, value=[b"x" * 900]))
        producer._buffer.await_all(10)
        transactional_producer.fence(world.settings, [world.ids.slot(1)])
        try:
            with pytest.raises(ConnectError) as e:
                work(producer)
            return e.value
        finally:
            producer.abort()
            producer.close()

    def sending(producer: TransactionalProducer) -> None:
        for _ in range(1_000):
            producer.send(Outgoing(length=1, topic=world.topic, value=[b"x" * 900]))

    for work in (sending, TransactionalProducer.commit, lambda p: (p.abort(), p.begin(), p.commit())):
        assert isinstance(zombie(work), Fenced | TransactionAborted)
    assert world.shown() == []


def test_a_superseded_task_that_waits_for_room_leaves_as_superseded(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    create(kafka, topic)
    (tmp_path / "lines").write_text("".join(f"{n:0500d}\n" for n in range(400_000)))
    (spec,) = specs(
        manifest(
            new_name(),
            "FileStreamSource",
            file=tmp_path / "lines",
            topic=topic,
            batch_max_bytes=100_000_000,
            value_converter="StringConverter",
            producer_override_buffer_memory=1 << 20,
            producer_override_linger_ms=1_000,
        ),
        kafka,
    )
    task = processes.task(spec)
    task.await_event(lambda e: e["event"] == "progress" and e.get("written", 0) > 0)
    newer = processes.task(next_life(spec))
    assert task.await_exit() == ExitCode.SUPERSEDED, task.last_words()
    assert not [e for e in task.events if e["event"] == "failed"]
    newer.kill()
