"""The status topic on a real broker: read from the beginning and on, through whatever happens to the broker."""

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from penstock_cli.embedded import EmbeddedKafka
from penstock_kafka import topic_consumer
from penstock_kafka.compacted_reader import CompactedReader
from penstock_kafka.topic_consumer import TopicConsumer
from penstock_model.connect.status_records import ActiveTopic
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.status_snapshot import topic_mark
from penstock_model.contracts.task_reports import Claim, Control, Report, claim_key, control_key, report_key
from penstock_operator.errors import Unavailable
from penstock_operator.kafka import StatusTopic
from penstock_operator.kafka.clients import reader_clients
from penstock_operator.kafka.writer import Writer
from penstock_operator.settings import Settings

from ..secured import secured_kafka

NAME = "shop.orders-in"
SECONDS = 60.0
POLLS = 6  # in five seconds
USER = "operator"
PASSWORD = "right-password"


def settings(servers: str, topic: str, **more: str) -> Settings:
    return Settings.of(
        {
            "release": {"name": "penstock", "namespace": "ns"},
            "worker": {"bootstrap.servers": servers, "status.storage.topic": topic, **more},
            "images": {"runtime": "r:1"},
        }
    )


class Watched:
    """A status topic, and what it told."""

    def __init__(self, given: Settings) -> None:
        self.changes: queue.Queue[str] = queue.Queue()
        self.turns: queue.Queue[str | None] = queue.Queue()
        self.topics: queue.Queue[str] = queue.Queue()
        self.status = StatusTopic(given, self.changes.put, on_turn=self._turned, on_topics=self.topics.put)

    def _turned(self) -> None:
        self.turns.put(self.status.trouble)

    def until(self, is_so: Callable[[StatusTopic], object]) -> None:
        """Wait until it is so; asked anew whenever something is told."""
        deadline = time.monotonic() + SECONDS
        while not is_so(self.status):
            assert time.monotonic() < deadline, f"never so; trouble: {self.status.trouble}"
            try:
                self.changes.get(timeout=0.2)
            except queue.Empty:
                continue


@pytest.fixture
def watch() -> Iterator[Callable[[Settings], Watched]]:
    made: list[Watched] = []

    def begin(given: Settings) -> Watched:
        made.append(Watched(given))
        return made[-1]

    yield begin
    for watched in made:
        watched.status.close()


Watch = Callable[[Settings], Watched]


def admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers})


def make(servers: str, topic: str, partitions: int = 3) -> None:
    client = admin(servers)
    for future in client.create_topics([NewTopic(topic, partitions, 1, config={"cleanup.policy": "compact"})]).values():
        future.result(30)


def remove(servers: str, topic: str) -> None:
    client = admin(servers)
    for future in client.delete_topics([topic]).values():
        future.result(30)


def put(servers: str, topic: str, *entries: tuple[bytes, bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random"})
    for key, value in entries:
        producer.produce(topic, key=key, value=value)
    assert producer.flush(30) == 0


def report(task: int = 0, state: str = "RUNNING", name: str = NAME) -> tuple[bytes, bytes]:
    value = Report(
        connector=name,
        connector_uid="u",
        pod_uid="p",
        task=task,
        epoch=PlanEpoch(generation=1, plan="x"),
        incarnation=1,
        state=state,
        acted=1,
        since=0,
    )
    return report_key(name, task), value.to_value()


CONTROL = Control(connector_uid="u", generation=3, state="Paused")
CLAIM = Claim(
    connector_uid="u",
    namespace="shop",
    name="orders-in",
    created="2026-01-01T00:00:00Z",
    operator="ns/penstock",
    cluster="c",
    installation="i",
)
ACTIVE = (
    f"status-topic-orders:connector-{NAME}".encode(),
    b'{"topic":{"name":"orders","connector":"' + NAME.encode() + b'","task":0,"discoverTimestamp":7}}',
)
STATE = (f"status-task-{NAME}-0".encode(), b'{"state":"RUNNING"}')


def states(status: StatusTopic, name: str = NAME) -> dict[int, str]:
    return {task: r.state for task, r in status.reports(name).items()}


def test_what_was_written_before_and_after_the_start_is_read(kafka: str, topic: str, watch: Watch) -> None:
    make(kafka, topic)
    claim = (claim_key(NAME), CLAIM.to_value())
    control = (control_key(NAME), CONTROL.to_value())
    put(kafka, topic, report(0), report(1), report(1, "FAILED"), ACTIVE, STATE, claim, control, (b"alien", b"?"))
    watched = watch(settings(kafka, topic))
    watched.until(lambda s: s.caught_up)
    status = watched.status
    assert status.trouble is None
    assert states(status) == {0: "RUNNING", 1: "FAILED"}
    assert status.active_topics(NAME) == [ActiveTopic("orders", 0, 7)]
    assert (status.control(NAME), status.claim(NAME), status.names()) == (CONTROL, CLAIM, [NAME])
    put(kafka, topic, report(0, "PAUSED"))
    watched.until(lambda s: states(s)[0] == "PAUSED")


def test_a_change_is_reported_by_its_name_and_the_same_again_is_not(kafka: str, topic: str, watch: Watch) -> None:
    make(kafka, topic)
    watched = watch(settings(kafka, topic))
    watched.until(lambda s: s.caught_up)
    put(kafka, topic, report(0))
    assert watched.changes.get(timeout=SECONDS) == NAME
    put(kafka, topic, report(0), report(0), report(0, name="another"))
    assert watched.changes.get(timeout=SECONDS) == "another"


def test_only_topics_are_distinguished_and_a_task_knows_which_there_are(kafka: str, topic: str, watch: Watch) -> None:
    make(kafka, topic)
    watched = watch(settings(kafka, topic))
    watched.until(lambda s: s.caught_up)
    put(kafka, topic, ACTIVE)
    assert watched.topics.get(timeout=SECONDS) == NAME
    put(kafka, topic, ACTIVE, (ACTIVE[0], ACTIVE[1].replace(b":7", b":9")), report(0))
    assert watched.changes.get(timeout=SECONDS) == NAME
    assert (watched.topics.qsize(), watched.changes.qsize()) == (0, 0)
    of_task, of_job = watched.status.snapshot(NAME, 0), watched.status.snapshot(NAME)
    assert of_task is not None
    assert of_job is not None
    assert (of_task.marks(), of_job.marks()) == (frozenset({topic_mark("orders")}), frozenset())


def test_records_are_written_and_forgotten(kafka: str, topic: str, watch: Watch) -> None:
    make(kafka, topic)
    incarnation = (b'["penstock-incarnation","shop.orders-in",0]', b"{}")
    put(kafka, topic, report(0), ACTIVE, STATE, incarnation, report(0, name="another"))
    one, other = watch(settings(kafka, topic)), watch(settings(kafka, topic))
    one.until(lambda s: s.caught_up)
    other.until(lambda s: s.caught_up)
    one.status.write([(control_key(NAME), CONTROL.to_value()), (claim_key(NAME), CLAIM.to_value())])
    one.until(lambda s: s.control(NAME) == CONTROL and s.claim(NAME) == CLAIM)
    other.until(lambda s: s.control(NAME) == CONTROL and s.claim(NAME) == CLAIM)
    one.status.forget(NAME)
    other.until(lambda s: list(s.names()) == ["another"] and not s.active_topics(NAME))
    assert other.status._records.keys(NAME) == []
    late = watch(settings(kafka, topic))
    late.until(lambda s: s.caught_up)
    assert list(late.status.names()) == ["another"]


@pytest.mark.slow
def test_a_write_whose_client_another_thread_closes_is_reported_as_no_answer(kafka: str, topic: str) -> None:
    make(kafka, topic)
    writer = Writer(settings(kafka, topic).worker_now, topic, KafkaError.str)
    met: list[Exception] = []
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            try:
                writer.write([(control_key(NAME), CONTROL.to_value())] * 100, SECONDS)
            except Exception as e:  # noqa: BLE001 (which it is, is the question)
                met.append(e)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(60):
        writer.close()
        over.wait(0.01)  # some writes get under way meanwhile, as far as they get
    over.set()
    for thread in threads:
        thread.join(SECONDS)
    writer.close()
    assert {type(e) for e in met} == {Unavailable}


@pytest.mark.slow
def test_our_records_lie_where_java_s_partitioner_puts_them(kafka: str, topic: str, watch: Watch) -> None:
    from penstock_kafka.murmur2 import partition_of

    make(kafka, topic, partitions=7)
    watched = watch(settings(kafka, topic))
    watched.until(lambda s: s.caught_up)
    names = [f"shop.c{n}" for n in range(20)]
    watched.status.write([(control_key(n), CONTROL.to_value()) for n in names])
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": kafka, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, p, 0) for p in range(7)])
    found = consumer.consume(20, 30)
    consumer.close()
    assert {(m.key(), m.partition()) for m in found} == {
        (control_key(n), partition_of(control_key(n), 7)) for n in names
    }


def test_a_topic_that_is_not_there_counts_as_empty_and_is_noticed_when_it_comes(
    kafka: str, topic: str, watch: Watch
) -> None:
    watched = watch(settings(kafka, topic))
    watched.until(lambda s: s.caught_up)
    assert watched.status.trouble is None
    with pytest.raises(Unavailable, match="does not exist yet"):
        watched.status.write([(control_key(NAME), CONTROL.to_value())])
    assert topic not in admin(kafka).list_topics(timeout=30).topics, "neither reading nor writing makes the topic"
    make(kafka, topic)
    put(kafka, topic, report(0))
    watched.until(lambda s: states(s) == {0: "RUNNING"})
    watched.status.write([(control_key(NAME), CONTROL.to_value())])


@pytest.mark.slow
def test_a_topic_that_is_deleted_and_recreated_is_read_again(kafka: str, topic: str, watch: Watch) -> None:
    make(kafka, topic)
    put(kafka, topic, report(0), report(1), report(2))
    watched = watch(settings(kafka, topic))
    watched.until(lambda s: len(states(s)) == 3)
    remove(kafka, topic)
    watched.until(lambda s: not states(s))
    assert watched.status.caught_up
    make(kafka, topic, partitions=5)
    put(kafka, topic, report(4, "PAUSED"))
    watched.until(lambda s: states(s) == {4: "PAUSED"})


@pytest.mark.slow
def test_a_topic_that_is_recreated_immediately_is_read_again(kafka: str, topic: str, watch: Watch) -> None:
    make(kafka, topic, partitions=1)
    put(kafka, topic, report(0))
    watched = watch(settings(kafka, topic))
    watched.until(lambda s: states(s))
    remove(kafka, topic)
    while topic in admin(kafka).list_topics(timeout=30).topics:
        pass
    make(kafka, topic, partitions=1)
    put(kafka, topic, *(report(task, "PAUSED") for task in range(5, 10)))  # further on than what had been read
    watched.until(lambda s: set(states(s)) == set(range(5, 10)))


@pytest.mark.slow
def test_a_broker_that_is_unavailable_at_the_start_is_reported_and_found_when_it_comes(
    kafka_on: Callable[[str], EmbeddedKafka], topic: str, watch: Watch
) -> None:
    broker = kafka_on("kafka")
    broker.start()
    servers = broker.bootstrap_servers
    make(servers, topic)
    put(servers, topic, report(0))
    broker.stop()
    watched = watch(settings(servers, topic))
    watched.until(lambda s: s.trouble and "cannot be reached" in s.trouble)
    assert watched.status.trouble == f"Kafka at {servers} cannot be reached: " + _cause(watched.status.trouble)
    assert "Connection refused" in watched.status.trouble
    assert not watched.status.caught_up
    broker.start()
    watched.until(lambda s: s.caught_up and s.trouble is None)
    assert states(watched.status) == {0: "RUNNING"}


def _cause(text: str | None) -> str:
    return (text or "").partition("cannot be reached: ")[2]


@pytest.mark.slow
def test_a_broker_that_is_restarted_is_reported_and_its_news_are_read(
    own_kafka: EmbeddedKafka, topic: str, watch: Watch
) -> None:
    servers = own_kafka.bootstrap_servers
    make(servers, topic)
    put(servers, topic, report(0))
    watched = watch(settings(servers, topic))
    watched.until(lambda s: states(s))
    own_kafka.stop()
    watched.until(lambda s: s.trouble)
    assert states(watched.status) == {0: "RUNNING"}, "what is known stays known"
    with pytest.raises(Unavailable):
        watched.status.write([(control_key(NAME), CONTROL.to_value())], timeout=1.0)
    own_kafka.start()
    watched.until(lambda s: s.trouble is None)
    put(servers, topic, report(0, "FAILED"))
    watched.until(lambda s: states(s) == {0: "FAILED"})
    watched.status.write([(control_key(NAME), CONTROL.to_value())], timeout=20.0)
    watched.until(lambda s: s.control(NAME) == CONTROL)


@pytest.mark.slow
def test_a_name_that_cannot_be_resolved_is_reported(topic: str, watch: Watch) -> None:
    watched = watch(settings("no-such-host.invalid:9092", topic))
    watched.until(lambda s: s.trouble and "does not resolve" in s.trouble)
    assert "no-such-host.invalid" in (watched.status.trouble or "")


@pytest.mark.slow
def test_a_port_that_speaks_another_protocol_is_reported_and_the_thread_lives(topic: str, watch: Watch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        watched = watch(settings(f"127.0.0.1:{server.getsockname()[1]}", topic))
        connection, _ = server.accept()
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.close()
        watched.until(lambda s: s.trouble and "has not answered yet" not in s.trouble)
        assert watched.status.turn_age < 30


def secured(servers: str, topic: str, secrets: Path, password: str) -> Settings:
    """Settings whose password stands in a mounted Secret."""
    (secrets / "kafka").mkdir(parents=True, exist_ok=True)
    (secrets / "kafka" / "password").write_text(password)
    jaas = f'o.PlainLoginModule required username="{USER}" password="${{secret:kafka:password}}";'
    return Settings.of(
        {
            "release": {"name": "penstock", "namespace": "ns"},
            "worker": {
                "bootstrap.servers": servers,
                "status.storage.topic": topic,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": jaas,
            },
            "images": {"runtime": "r:1"},
        },
        secrets,
    )


@pytest.mark.slow
def test_credentials_that_are_refused_are_reported_without_them_and_read_again(
    tmp_path: Path, topic: str, watch: Watch
) -> None:
    with secured_kafka(tmp_path / "sasl", {USER: PASSWORD}, without_acls=True) as broker:
        watched = watch(secured(broker.secured, topic, tmp_path / "secrets", "wrong-password"))
        watched.until(lambda s: s.trouble and "does not accept the credentials" in s.trouble)
        assert "wrong-password" not in (watched.status.trouble or "")
        make(broker.plain, topic)
        (tmp_path / "secrets" / "kafka" / "password").write_text(PASSWORD)
        watched.until(lambda s: s.trouble is None and s.caught_up)
        watched.status.write([(control_key(NAME), CONTROL.to_value())])
        watched.until(lambda s: s.control(NAME) == CONTROL)
        watched.status.close()


@pytest.mark.slow
def test_a_topic_that_may_not_be_read_is_reported_with_what_is_needed(tmp_path: Path, topic: str, watch: Watch) -> None:
    with secured_kafka(tmp_path / "sasl", {USER: PASSWORD}, without_acls=True) as broker:
        make(broker.plain, topic)
        deny = AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            f"User:{USER}",
            "*",
            AclOperation.ALL,
            AclPermissionType.DENY,
        )
        client = admin(broker.plain)
        for future in client.create_acls([deny]).values():
            future.result(30)
        watched = watch(secured(broker.secured, topic, tmp_path / "secrets", PASSWORD))
        watched.until(lambda s: s.trouble and "does not allow" in s.trouble)
        assert f"read topic {topic} (Describe and Read are needed)" in (watched.status.trouble or "")
        assert not watched.status.caught_up
        for removed in client.delete_acls([_any_of(topic)]).values():
            removed.result(30)
        watched.until(lambda s: s.trouble is None and s.caught_up)
        watched.status.close()


@pytest.mark.slow
def test_who_has_only_the_rights_on_the_topic_reads_and_writes_it(tmp_path: Path, topic: str, watch: Watch) -> None:
    with secured_kafka(tmp_path / "sasl", {USER: PASSWORD}) as broker:
        make(broker.plain, topic)
        broker.allow(USER, ResourceType.TOPIC, topic, AclOperation.READ, AclOperation.WRITE)
        watched = watch(secured(broker.secured, topic, tmp_path / "secrets", PASSWORD))
        watched.until(lambda s: s.caught_up and s.trouble is None)
        watched.status.write([(control_key(NAME), CONTROL.to_value())])
        watched.until(lambda s: s.control(NAME) == CONTROL)
        assert watched.status.trouble is None
        watched.status.close()


def _any_of(topic: str) -> Any:
    anybody: Any = None
    return AclBindingFilter(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        anybody,
        anybody,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


@pytest.mark.slow
def test_a_status_topic_that_is_idle_is_polled_once_a_second(
    kafka: str, topic: str, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    polls: list[float] = []
    poll = CompactedReader.poll

    def counted(reader: CompactedReader, seconds: float) -> Any:
        polls.append(seconds)
        return poll(reader, seconds)

    monkeypatch.setattr(CompactedReader, "poll", counted)
    make(kafka, topic, partitions=5)
    watched = watch(settings(kafka, topic))
    watched.until(lambda s: s.caught_up)
    before = len(polls)
    with pytest.raises(queue.Empty):
        watched.changes.get(timeout=5.0)
    assert len(polls) - before <= POLLS


@pytest.mark.slow
def test_the_id_of_a_topic_is_reported_again_after_brokers_have_listed_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_consumer, "_ID_SECONDS", 3.0)
    with EmbeddedKafka(tmp_path / "kafka") as started:
        servers = started.bootstrap_servers
        make(servers, "status")
    port = int(servers.rpartition(":")[2])
    asking = TopicConsumer(reader_clients(settings(servers, "status").worker_now(), lambda error: None), "status")
    forgetful = AdminClient({"bootstrap.servers": servers})
    asking._admin = forgetful  # one that asks for all topics hears of it soonest
    fenced = {"broker.session.timeout.ms": "600", "broker.heartbeat.interval.ms": "1500"}
    with closing(asking):
        with EmbeddedKafka(tmp_path / "kafka", port=port, settings=fenced):
            until(lambda: answers(forgetful))
            silent_for(forgetful, 20.0)
        with EmbeddedKafka(tmp_path / "kafka", port=port):
            until(lambda: asking.topic_id(stays_connected=True) is not None)
            assert not answers(forgetful), "librdkafka comes back by itself now: no new client is needed"


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 2 * SECONDS
    while not is_so():
        assert time.monotonic() < deadline


def silent_for(client: AdminClient, seconds: float) -> None:
    """Ask until it has not answered for so long."""
    answered = time.monotonic()

    def is_silent() -> bool:
        nonlocal answered
        if answers(client):
            answered = time.monotonic()
        return time.monotonic() - answered > seconds

    until(is_silent)


def answers(client: AdminClient) -> bool:
    try:
        return bool(client.list_topics(timeout=5.0).brokers)
    except KafkaException:
        return False
