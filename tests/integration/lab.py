"""Scripted connectors on a real Kafka, and what they leave there, in one line each.

def test_something(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a", "b")
    name, task = lab.sink(topic)
    assert lab.journal.values(2) == ["a", "b"]
    task.stop()
    assert lab.committed(name, topic) == 2
"""

import json
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_model.contracts.topic_policy import TopicPolicy

from .journal import Journal
from .reading import OPEN_SECONDS, Read, create, read_all
from .running import PATIENCE, Processes, Running, manifest, new_name, specs, until

STRING: Final = {
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    "header.converter": "SimpleHeaderConverter",
}
LOG: Final = {"errors.log.enable": "true", "errors.log.include.messages": "true"}


@dataclass
class Lab:
    """A broker, processes, a journal.

    `worker` (a mapping of worker properties), `policy` (a `TopicPolicy`) and `name` (a text) stand beside properties that
    come by `**`, and so are not typed.
    """

    servers: str
    processes: Processes
    journal: Journal

    # Topics

    def topic(self, word: str = "t", partitions: int = 1, **config: str) -> str:
        """A new topic."""
        name = f"{word}-{uuid.uuid4().hex[:10]}"
        create(self.servers, name, partitions, **config)
        return name

    def produce(self, topic: str, *values: str | bytes | None, partition: int = 0, **more: Any) -> None:
        """Write values, acknowledged; `more` is key, headers, timestamp."""
        producer = Producer({"bootstrap.servers": self.servers, "acks": "all"})
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(30) == 0
        producer.close()

    @contextmanager
    def stream(self, topic: str, pause: float = 0.02) -> Iterator[None]:
        """Records to the first partition of a topic, one after the other, until the end of the `with`."""
        stopping = threading.Event()

        def flow() -> None:
            producer = Producer({"bootstrap.servers": self.servers, "acks": "all", "linger.ms": 0})
            while not stopping.wait(pause):
                producer.produce(topic, "more", partition=0)
                producer.poll(0)
            producer.flush(30)

        thread = threading.Thread(target=flow)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()

    def records(
        self, topic: str, isolation: str = "read_committed", *, open_seconds: float = OPEN_SECONDS
    ) -> list[Read]:
        """What a topic holds; a transaction that is open may end within `open_seconds`."""
        return read_all(self.servers, topic, isolation=isolation, open_seconds=open_seconds)

    def timestamp(self, topic: str, offset: int) -> int:
        """The timestamp of a record in the topic's first partition."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "test-reader"})
        try:
            consumer.assign([TopicPartition(topic, 0, offset)])
            message = consumer.poll(30)
            assert message is not None
            return int(message.timestamp()[1])
        finally:
            consumer.close()

    def values(self, topic: str, *, open_seconds: float = OPEN_SECONDS) -> list[str]:
        """The committed values of a topic, as texts."""
        return [(r.value or b"").decode() for r in self.records(topic, open_seconds=open_seconds)]

    # Connectors

    def spec(self, resource: Mapping[str, Any], worker: Mapping[str, str] | None = None) -> TaskSpec:
        """The spec of a connector's only task, alive."""
        (spec,) = specs(resource, self.servers, worker)
        return spec

    def source_manifest(self, script: Sequence[Any], topic: str, name: Any = None, **config: Any) -> dict[str, Any]:
        """A scripted source; `config`'s names have underscores for dots, its dicts become JSON."""
        given = {
            **STRING,
            "journal": self.journal.path,
            "script": json.dumps(script),
            "topic": topic,
            **_dotted(config),
        }
        return manifest(name or new_name("src"), "scripted_sources:ScriptedSource", given)

    def sink_manifest(self, topics: str, name: Any = None, **config: Any) -> dict[str, Any]:
        """A recording sink, likewise; a `topics` that begins with `regex:` is `topics.regex`."""
        which = {"topics.regex": topics[6:]} if topics.startswith("regex:") else {"topics": topics}
        given = {**STRING, "journal": self.journal.path, **which, **_dotted(config)}
        return manifest(name or new_name("snk"), "scripted_sinks:RecordingSink", given)

    def source(
        self, script: Sequence[Any], topic: str, *, worker: Any = None, policy: Any = None, **config: Any
    ) -> tuple[str, Running]:
        """Start a scripted source; its name and its task."""
        return self.start(self.source_manifest(script, topic, **config), worker, policy=policy)

    def sink(self, topics: str, *, worker: Any = None, **config: Any) -> tuple[str, Running]:
        """Start a recording sink; its name and its task."""
        return self.start(self.sink_manifest(topics, **config), worker)

    def start(
        self,
        resource: Mapping[str, Any],
        worker: Mapping[str, str] | None = None,
        *,
        paused: bool = False,
        policy: TopicPolicy | None = None,
    ) -> tuple[str, Running]:
        """Start a connector's only task, with the topic policy that an operator would stamp; its name and the process."""
        spec = self.spec(resource, worker).model_copy(update={"topic_policy": policy})
        if paused:
            spec = spec.model_copy(update={"state": TaskState.PAUSED})
        return spec.connector, self.processes.task(spec)

    @contextmanager
    def member(self, group: str, topic: str, protocol: str = "classic") -> Iterator["Member"]:
        """A consumer outside of Penstock that has joined the group."""
        member = Member(self.servers, group, topic, protocol)
        try:
            yield member
        finally:
            member.close()

    def members(self, group: str) -> int:
        """How many members a group has."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        (future,) = admin.describe_consumer_groups([group]).values()
        return len(future.result(30).members)

    # Their records and offsets in Kafka

    def committed(self, connector: str, topic: str, partition: int = 0, *, group: str | None = None) -> int | None:
        """What the sink's group has committed."""
        with self._group(group or f"connect-{connector}") as consumer:
            return committed_by(consumer, topic, partition)

    def wait_committed(self, connector: str, topic: str, offset: int, partition: int = 0) -> None:
        """Wait until the sink's group has committed this offset."""
        with self._group(f"connect-{connector}") as consumer:
            until(
                lambda: committed_by(consumer, topic, partition) == offset,
                seconds=2 * PATIENCE,
                what=lambda: f"committed {committed_by(consumer, topic, partition)}, not {offset}",
            )

    @contextmanager
    def _group(self, name: str) -> Iterator[Consumer]:
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": name})
        try:
            yield consumer
        finally:
            consumer.close()

    def offset_records(self, connector: str, topic: str = "connect-offsets") -> list[Read]:
        """The committed records of an offsets topic that are this connector's."""
        start = json.dumps([connector], ensure_ascii=False, separators=(",", ":"))[:-1].encode()
        return [r for r in self.records(topic) if (r.key or b"").startswith(start)]

    def offsets(self, connector: str) -> list[Any]:
        """The offsets that a connector wrote, one after the other."""
        return [json.loads(r.value) if r.value else None for r in self.offset_records(connector)]

    def transactional_ids(self, start: str) -> set[str]:
        """The transactional ids that the broker knows and that begin so."""
        keys = {r.key or b"" for r in self.records("__transaction_state", "read_uncommitted")}
        ids = {k[4:].decode(errors="replace") for k in keys}  # version and length stand before the text
        return {i for i in ids if i.startswith(start)}

    def status(self, key: str) -> list[Any]:
        """The values under a key of the status topic, one after the other."""
        found = [r.value for r in self.records("connect-status") if r.key == key.encode()]
        return [json.loads(v) if v else None for v in found]


class Member:
    """A consumer that has joined a group and owns the topic's first partition."""

    def __init__(self, servers: str, group: str, topic: str, protocol: str = "classic") -> None:
        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "client.id": "somebody-else",
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._consumer.subscribe([topic])
        while not self._consumer.assignment():
            self._consumer.poll(0.1)

    def commit(self, offset: int) -> None:
        """Commit the first partition."""
        self._consumer.commit(offsets=[TopicPartition(self._topic, 0, offset)], asynchronous=False)

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()


def _dotted(config: Mapping[str, Any]) -> dict[str, Any]:
    return {k.replace("_", "."): json.dumps(v) if isinstance(v, dict) else v for k, v in config.items()}


def failed(task: Running) -> str:
    """The message with which a task fails, once it has."""
    assert task.await_exit() in (1, 2), task.last_words()
    assert task.failure is not None, task.last_words()
    return task.failure


_NO_COORDINATOR_YET = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


def committed_by(consumer: Consumer, topic: str, partition: int) -> int | None:
    """What the consumer's group has committed; asked again while it has no coordinator yet."""

    def asked() -> list[TopicPartition]:
        try:
            return consumer.committed([TopicPartition(topic, partition)], timeout=30)
        except KafkaException as e:
            if e.args[0].code() not in _NO_COORDINATOR_YET:
                raise
            return []

    (found,) = until(asked, what=f"a coordinator tells what is committed of {topic}")
    return found.offset if found.offset >= 0 else None
