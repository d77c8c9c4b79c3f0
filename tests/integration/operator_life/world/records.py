"""The status topic as tasks see it: they write reports there, and read what the operator tells them."""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from penstock_model.contracts.task_reports import Claim, Control, Report, claim_key, control_key, report_key

from ...running import PATIENCE

__all__ = ["StatusRecords"]


class StatusRecords:
    """One status topic of one partition.

    Args:
        servers: bootstrap servers of Kafka.
        topic: its name; made when `make` is called.
        on_record: told of every record, from a thread.
    """

    def __init__(self, servers: str, topic: str, on_record: Callable[[bytes, bytes | None], None]) -> None:
        self.servers, self.topic = servers, topic
        self._on_record = on_record
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._made = threading.Lock()
        self._is_made = False
        self.latest: dict[bytes, bytes] = {}
        self.tombstones: list[bytes] = []
        self.history: list[tuple[bytes, bytes | None]] = []
        self._producer = Producer(
            {"bootstrap.servers": servers, "linger.ms": 0, "log_level": 0, "message.timeout.ms": 5000}
        )
        self._thread = threading.Thread(target=self._read, name="status records", daemon=True)
        self._thread.start()

    def make(self) -> None:
        """Have the topic, as a short pod does that prepares."""
        with self._made:
            if self._is_made:
                return
            admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
            made = admin.create_topics([NewTopic(self.topic, 1, 1, config={"cleanup.policy": "compact"})])
            try:
                made[self.topic].result(30)
            except KafkaException as e:
                if e.args[0].name() != "TOPIC_ALREADY_EXISTS":
                    raise
            self._is_made = True

    def write(self, key: bytes, value: bytes | None) -> None:
        """Write a record; it may arrive later, when Kafka is away."""
        self._producer.produce(self.topic, key=key, value=value)
        self._producer.flush(10)

    def report(self, report: Report) -> None:
        """A task tells of itself."""
        self.write(report_key(report.connector, report.task), report.to_value())

    def control(self, connector: str) -> Control | None:
        """What its tasks are told."""
        return Control.of(self.latest.get(control_key(connector)))

    def claim(self, connector: str) -> Claim | None:
        """Who owns the name."""
        return Claim.of(self.latest.get(claim_key(connector)))

    def of(self, connector: str) -> list[bytes]:
        """The keys of ours that stand there for a Connect name."""
        return [k for k in list(self.latest) if k.startswith(b'["penstock-') and json.loads(k)[1] == connector]

    def states(self, key: str) -> list[str | None]:
        """Kafka Connect's states under a key, one after the other; None: a tombstone. A repeated one is told once."""
        found = [None if v is None else str(json.loads(v)["state"]) for k, v in list(self.history) if k == key.encode()]
        return [state for state, _ in groupby(found)]

    def until(self, claim: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Wait until a claim about the records holds."""
        with self._changed:
            assert self._changed.wait_for(lambda: bool(claim()), seconds), f"not within {seconds:.0f} s: {what}"

    def close(self) -> None:
        """Let go of the connections."""
        self._stopping.set()
        self._thread.join(30)
        self._producer.flush(2)

    def _read(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "stand-in",
                "enable.auto.commit": False,
                "log_level": 0,
                "allow.auto.create.topics": False,
                "fetch.wait.max.ms": 20,
            }
        )
        try:
            while not self._stopping.is_set():
                with suppress(KafkaException):
                    if self.topic in consumer.list_topics(timeout=2).topics:
                        break
                self._stopping.wait(0.2)
            else:
                return
            consumer.assign([TopicPartition(self.topic, 0, OFFSET_BEGINNING)])
            while not self._stopping.is_set():
                message = consumer.poll(0.2)
                if message is None or message.error() is not None:
                    continue
                key, value = bytes(message.key() or b""), message.value()
                with self._changed:
                    self.history.append((key, value))
                    if value is None:
                        self.latest.pop(key, None)
                        self.tombstones.append(key)
                    else:
                        self.latest[key] = value
                    self._changed.notify_all()
                self._on_record(key, value)
        finally:
            consumer.close()
