"""A broker that its controller takes for lost lists no brokers. A client that heard that never connects again by itself.

Here it happens again and again, since the broker's session is shorter than the pause between two of its heartbeats; then
Kafka is started anew as it should be.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException

from penstock import ConnectError, TopicPartition
from penstock_cli.embedded import EmbeddedKafka
from penstock_kafka.client_renewal import ClientRenewal
from penstock_runtime.kafka import consumers
from penstock_runtime.kafka.compacted_topic import StatusWriter, follower
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.kafka.key_reader import KeyReader
from penstock_runtime.kafka.offset_commits import GroupCommits
from penstock_runtime.kafka.settings import ClientSettings

from ..checking import assert_exactly_once
from ..reading import Reader, create, produce
from ..running import PATIENCE, Processes, manifest, new_name, specs, until

FENCED = {"broker.session.timeout.ms": "600", "broker.heartbeat.interval.ms": "1500"}
HERE = TopicPartition("status", 0)
TEXT = {"value.converter": "StringConverter"}


class Asked:
    """A client that is asked all the time, in a thread of its own: while `asking`, and then until it has an answer."""

    def __init__(self, name: str, ask: Callable[[], object], asking: threading.Event) -> None:
        self.name = name
        self.failures = 0
        self.answered = False
        self._ask = ask
        self._asking = asking
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ended(self, seconds: float) -> None:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), (
            f"{self.name} has had no answer for {seconds:.0f} s, and {self.failures} failures"
        )

    def _run(self) -> None:
        while self._asking.is_set() or not self.answered:
            try:
                self._ask()
            except (ConnectError, KafkaException):
                self.failures += 1
                self.answered = False
            else:
                self.answered = True
                time.sleep(0.02)


def test_every_client_of_a_task_outlives_brokers_that_listed_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClientRenewal, "AFTER", 8.0)
    monkeypatch.setattr(consumers, "_SECONDS", 5.0)
    with EmbeddedKafka(tmp_path / "kafka") as kafka:
        servers = kafka.bootstrap_servers
        create(servers, "status")
    port = int(servers.rpartition(":")[2])
    kafka = EmbeddedKafka(tmp_path / "kafka", port=port, settings=FENCED)
    kafka.start()
    base = {"bootstrap.servers": servers}
    settings = ClientSettings(base, base, base)
    consumer = RecordConsumer(settings, group="g", client_id="sink")
    tail = KeyReader(settings, "status", b"key")
    following = follower(settings, "status", [b"key"])
    following.check_seconds = 0.1
    writer = StatusWriter(settings, client_id="writer")
    commits = GroupCommits(settings.for_consumer(group_id="g", client_id="commits"))
    bare = Consumer({**base, "group.id": "bare"})

    def commit() -> None:
        commits.committed([HERE])
        commits.commit({HERE: 1})

    asking = threading.Event()
    asking.set()
    asked = [
        Asked("the sink's consumer", consumer.partitions, asking),
        Asked("the reader of one key", lambda: tail.news(5.0), asking),
        Asked("the follower", lambda: following.poll(0.1), asking),
        Asked("the writer", lambda: writer.write("status", [(b"key", b"{}")], timeout=5.0), asking),
        Asked("the committer", commit, asking),
    ]
    stuck = Asked("a bare consumer", lambda: bare.list_topics(timeout=5), asking)
    fenced = [*asked[:2], stuck]  # the others ask for one topic alone, and hear of it less often
    until(
        lambda: all(a.failures for a in fenced),
        seconds=2 * PATIENCE,
        what=lambda: ", ".join(f"{a.name}: {a.failures} failures" for a in fenced),
    )
    kafka.stop()
    with EmbeddedKafka(tmp_path / "kafka", port=port):
        asking.clear()
        for one in asked:
            one.ended(4 * PATIENCE)
        assert not stuck.answered, "librdkafka comes back by itself now: `ClientRenewal` is needed no more"


def test_running_tasks_outlive_brokers_that_listed_none(tmp_path: Path, processes: Processes) -> None:
    file = tmp_path / "out"
    with EmbeddedKafka(tmp_path / "kafka") as kafka:
        servers = kafka.bootstrap_servers
        for topic in ("once", "least"):
            create(servers, topic, 2)
        produce(servers, "lines", [b"before"])
        numbers = {"partitions": 2, "batch.max.records": 500, "batch.max.bytes": 256 << 10, **TEXT}
        once, least, sink = (
            processes.task(specs(resource, servers)[0])
            for resource in (
                manifest(new_name(), "numbers_source:Numbers", numbers, topic="once"),
                manifest(
                    new_name(), "numbers_source:Numbers", numbers, topic="least", delivery_guarantee="at-least-once"
                ),
                manifest(
                    new_name(),
                    "FileStreamSink",
                    {"consumer.override.metadata.max.age.ms": 1_000, **TEXT},
                    topics="lines",
                    file=file,
                ),
            )
        )
        for topic in ("once", "least"):
            with Reader(servers, topic) as reader:
                reader.count(500)
        until(lambda: file.exists() and file.read_text() == "before\n", what=sink.last_words)
    port = int(servers.rpartition(":")[2])
    with EmbeddedKafka(tmp_path / "kafka", port=port, settings=FENCED):
        time.sleep(
            1.5 * ClientRenewal.AFTER
        )  # so long a time is the subject: clients are forgotten, and made anew, meanwhile
    with EmbeddedKafka(tmp_path / "kafka", port=port):
        produce(servers, "lines", [b"after"])
        until(lambda: file.read_text() == "before\nafter\n", seconds=3 * PATIENCE, what=sink.last_words)
        for topic in ("once", "least"):
            with Reader(servers, topic) as reader:
                reader.count(len(reader.to_end()) + 1_000)
        until(lambda: not (once.trouble or least.trouble or sink.trouble))
        for task in (once, least, sink):
            task.stop()
        with Reader(servers, "once") as reader:
            assert_exactly_once(reader.to_end(), 2)
