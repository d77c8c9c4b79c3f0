"""A broker that is stopped and comes back, and one that does not: nothing lost, nothing doubled."""

import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from penstock import ConnectError, RetriableError, TopicPartition
from penstock_cli.embedded import EmbeddedKafka
from penstock_runtime.kafka.compacted_topic import read_to_end
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.kafka.producer_records import Outgoing
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.transactional_producer import TransactionalProducer

from ..checking import assert_exactly_once
from ..reading import Reader, create, produce, read_all
from ..running import Processes, Running, manifest, new_name, specs, until

AWAY = 30.0 if os.environ.get("PENSTOCK_SOAK") else 10.0
GRACE = 5.0  # seconds; task.shutdown.graceful.timeout.ms


def source(servers: str, processes: Processes) -> Running:
    create(servers, "numbers", 2)
    resource = manifest(
        new_name(),
        "numbers_source:Numbers",
        topic="numbers",
        partitions=2,
        batch_max_records=500,
        value_converter="StringConverter",
        batch_max_bytes=256 << 10,  # so small that Spark is never worth it
    )
    return processes.task(specs(resource, servers)[0])


def sink(servers: str, processes: Processes, file: Path, topic: str = "lines") -> Running:
    resource = manifest(
        new_name(),
        "FileStreamSink",
        topics=topic,
        file=file,
        value_converter="StringConverter",
        consumer_override_max_poll_records=500,
    )
    return processes.task(specs(resource, servers)[0])


@pytest.mark.soak
def test_a_source_under_load_continues_when_the_broker_comes_back(
    own_kafka: EmbeddedKafka, processes: Processes
) -> None:
    servers = own_kafka.bootstrap_servers
    task = source(servers, processes)
    with Reader(servers, "numbers") as reader:
        reader.count(2_000)
        own_kafka.stop()
        until(lambda: task.trouble)
        time.sleep(AWAY)  # so long a time is the subject
        assert task.process.poll() is None
        own_kafka.start()
        reader.count(len(reader.to_end()) + 2_000)
        until(lambda: task.trouble is None)
        task.stop(2 * GRACE)
        assert_exactly_once(reader.to_end(), 2)


@pytest.mark.soak
def test_a_sink_under_load_continues_when_the_broker_comes_back(
    own_kafka: EmbeddedKafka, processes: Processes, tmp_path: Path
) -> None:
    servers, file = own_kafka.bootstrap_servers, tmp_path / "out"
    produce(servers, "lines", (b"%d" % n for n in range(50_000)))
    task = sink(servers, processes, file)
    until(lambda: file.exists() and file.stat().st_size > 10_000)
    own_kafka.stop()  # when it holds more records than it has written: they come after the client has told of the loss
    until(lambda: task.trouble, what=task.last_words)
    time.sleep(AWAY)
    assert task.process.poll() is None
    assert task.trouble
    own_kafka.start()
    produce(servers, "lines", (b"%d" % n for n in range(50_000, 60_000)))
    until(lambda: file.read_text().endswith("\n59999\n"), what=task.last_words)
    until(lambda: task.trouble is None)
    task.stop(2 * GRACE)
    assert {int(line) for line in file.read_text().splitlines()} == set(range(60_000))


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_task_without_its_broker_stays_alive_reports_that_and_still_stops(
    own_kafka: EmbeddedKafka, processes: Processes, tmp_path: Path, kind: str
) -> None:
    servers, file = own_kafka.bootstrap_servers, tmp_path / "out"
    if kind == "source":
        task = source(servers, processes)
        with Reader(servers, "numbers") as reader:
            reader.count(2_000)
    else:
        produce(servers, "lines", (b"%d" % n for n in range(2_000)))
        task = sink(servers, processes, file)
        until(lambda: file.exists() and file.read_text().endswith("\n1999\n"))
    own_kafka.kill()
    said = until(lambda: task.trouble, seconds=15)
    assert servers.split(":")[1] in said or "broker" in said
    time.sleep(AWAY)  # so long a time is the subject
    assert task.process.poll() is None
    assert task.trouble
    task.stop(2 * GRACE)


def reading(servers: str) -> ClientSettings:
    client = {"bootstrap.servers": servers}
    return ClientSettings(
        producer=client, consumer={**client, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 500}, admin=client
    )


def test_a_commit_whose_broker_becomes_unavailable_under_it_is_given_up_in_time_and_made_again(
    own_kafka: EmbeddedKafka,
) -> None:
    settings = reading(own_kafka.bootstrap_servers)
    create(own_kafka.bootstrap_servers, "committed", 1)
    of = TopicPartition("committed", 0)
    committed, refused, back = threading.Event(), threading.Event(), threading.Event()
    last = 0

    def commit() -> None:
        nonlocal last
        consumer = RecordConsumer(settings, group="committing", client_id="committing")
        while not (refused.is_set() and back.is_set() and committed.is_set()):
            last += 1
            try:
                consumer.commit({of: last})
                committed.set()
            except RetriableError:
                if stopping.is_set():
                    refused.set()
        consumer.close()

    stopping = threading.Event()
    thread = threading.Thread(target=commit, daemon=True)
    thread.start()
    assert committed.wait(60)
    stopping.set()
    own_kafka.stop()  # in all likelihood in the midst of one
    assert refused.wait(25)
    committed.clear()
    back.set()
    own_kafka.start()
    thread.join(60)
    consumer = RecordConsumer(settings, group="committing", client_id="looking")
    assert consumer.committed([of]) == {of: last}
    consumer.close()


def test_a_producer_whose_transaction_is_open_closes_while_its_broker_is_gone(own_kafka: EmbeddedKafka) -> None:
    """Its client waits for the broker without end. A task that waited with it would not come back with the next broker."""
    create(own_kafka.bootstrap_servers, "numbers")
    base = {"bootstrap.servers": own_kafka.bootstrap_servers}
    producer = TransactionalProducer(ClientSettings(base, base, base), "open", client_id="open")
    producer.begin()
    assert producer.send(Outgoing(2, "numbers", [b"a", b"b"])) == []
    own_kafka.stop()

    def close() -> None:
        producer.abort()
        producer.close()

    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()


def test_what_a_broker_was_asked_as_it_became_unavailable_may_be_asked_again(own_kafka: EmbeddedKafka) -> None:
    settings = reading(own_kafka.bootstrap_servers)
    create(own_kafka.bootstrap_servers, "asked", 1)
    of = TopicPartition("asked", 0)
    asked, stopping = threading.Event(), threading.Event()
    refused: list[ConnectError] = []

    def ask() -> None:
        consumer = RecordConsumer(settings, group="asking", client_id="asking")
        consumer.assign({of: 0})
        while not refused:  # behind what the broker holds back, so that one question is always under way
            try:
                consumer.ends([of])
                asked.set()
            except ConnectError as e:
                if stopping.is_set():
                    refused.append(e)
        consumer.close()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert asked.wait(60)
    stopping.set()
    own_kafka.stop()
    thread.join(60)
    assert [type(e) for e in refused] == [RetriableError]


def test_a_topic_whose_leader_is_not_back_yet_is_read_again_later(own_kafka: EmbeddedKafka) -> None:
    """A broker that was frozen, or restarted, says for a moment that its partitions have no leader."""
    settings = reading(own_kafka.bootstrap_servers)
    create(own_kafka.bootstrap_servers, "status", 5)
    produce(own_kafka.bootstrap_servers, "status", [b"x"] * 20)
    ended, refused = threading.Event(), []

    def read() -> None:
        while not ended.is_set():
            try:
                read_to_end(settings, "status")
            except RetriableError:
                continue
            except ConnectError as e:
                refused.append(str(e))

    threads = [threading.Thread(target=read, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        broker = psutil.Process(own_kafka.pid)
        broker.suspend()
        time.sleep(6)  # longer than the broker's session
        broker.resume()
        until(lambda: len(read_all(own_kafka.bootstrap_servers, "status")) == 20)
    ended.set()
    for thread in threads:
        thread.join(60)
    assert refused == []
