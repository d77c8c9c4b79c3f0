"""Kafka in the cluster, and a pod beside it that reads and writes: a broker's addresses mean something only in there."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .api import ready
from .cluster import ROOT, Cluster

__all__ = ["Kafka", "Record"]

_TOOLBOX: Final = """
apiVersion: v1
kind: Pod
metadata: {{name: toolbox}}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  securityContext: {{runAsNonRoot: true, runAsUser: 65532, seccompProfile: {{type: RuntimeDefault}}}}
  containers:
    - name: toolbox
      image: {image}
      imagePullPolicy: IfNotPresent
      command: [python3, -c]
      args: ["import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [15]); signal.sigwait([15])"]
      securityContext: {{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {{drop: [ALL]}}}}
      volumeMounts: [{{name: tmp, mountPath: /tmp}}]
  volumes: [{{name: tmp, emptyDir: {{}}}}]
"""

_READ: Final = """
import base64, json, sys, time
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, TopicPartition
asked = json.loads(sys.argv[1])
consumer = Consumer({"bootstrap.servers": asked["servers"], "group.id": "toolbox", "enable.auto.commit": False,
    "isolation.level": "read_committed", "enable.partition.eof": True, "fetch.wait.max.ms": 50,
    "topic.metadata.refresh.interval.ms": 500})
end = time.monotonic() + asked["seconds"]
names = [asked["topic"]] if asked["topic"] else [t for t in consumer.list_topics(timeout=10).topics]
parts = []
while not parts and time.monotonic() < end:
    topics = consumer.list_topics(timeout=10).topics
    parts = [TopicPartition(n, p, OFFSET_END if asked["from_end"] else OFFSET_BEGINNING)
             for n in names if n in topics for p in topics[n].partitions]
    if not parts:
        time.sleep(0.2)  # the topic is not there yet, and Kafka tells nobody when it is
consumer.assign(parts)
at_end, count = set(), 0
while parts and time.monotonic() < end:
    message = consumer.poll(max(0.0, min(1.0, end - time.monotonic())))
    if message is None:
        continue
    place = (message.topic(), message.partition())
    if message.error():
        if message.error().code() != KafkaError._PARTITION_EOF:
            print("error " + str(message.error()), file=sys.stderr)
            continue
        at_end.add(place)
    else:
        at_end.discard(place)
        count += 1
        value, key = message.value(), message.key()
        if asked["field"]:
            row = json.loads(value)
            print(row[asked["field"]] if isinstance(row, dict) else row)
        elif asked["needles"]:
            whole = b"\\0".join([key or b"", value or b"", *(h[0].encode() + b"=" + (h[1] or b"")
                                                              for h in message.headers() or [])])
            for needle in asked["needles"]:
                if base64.b64decode(needle) in whole:
                    print(json.dumps([message.topic(), message.offset(), needle]))
        else:
            code = lambda data: None if data is None else base64.b64encode(data).decode()
            print(json.dumps([message.topic(), message.partition(), message.offset(), message.timestamp()[1],
                              code(key), code(value)]))
    if count >= asked["least"] and len(at_end) == len(parts) and not asked["whole_time"]:
        break
else:
    if not asked["whole_time"]:
        sys.exit(f"{count} of {asked['least']} records within {asked['seconds']} s")
"""

_WRITE: Final = """
import json, sys
from confluent_kafka import Producer
asked = json.loads(sys.argv[1])
producer = Producer({"bootstrap.servers": asked["servers"]})
for value in asked["values"]:
    producer.produce(asked["topic"], value.encode())
assert producer.flush(30) == 0
"""

_COUNT_UP: Final = """
import json, sys
from confluent_kafka import Producer
asked = json.loads(sys.argv[1])
producer = Producer({"bootstrap.servers": asked["servers"], "linger.ms": 50, "queue.buffering.max.messages": 1000000})
for number in range(1, asked["count"] + 1):
    while True:
        try:
            producer.produce(asked["topic"], number.to_bytes(8, "big"))
            break
        except BufferError:
            producer.poll(0.1)
assert producer.flush(60) == 0
"""

_TALLY: Final = """
import json, sys, time
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
asked = json.loads(sys.argv[1])
consumer = Consumer({"bootstrap.servers": asked["servers"], "group.id": "toolbox", "enable.auto.commit": False,
    "isolation.level": "read_committed", "enable.partition.eof": True})
parts = consumer.list_topics(asked["topic"], timeout=30).topics[asked["topic"]].partitions
consumer.assign([TopicPartition(asked["topic"], p, OFFSET_BEGINNING) for p in parts])
seen, number, different, at_end = bytearray(asked["count"] + 1), 0, 0, set()
end = time.monotonic() + asked["seconds"]
while time.monotonic() < end and not (different == asked["count"] and len(at_end) == len(parts)):
    for message in consumer.consume(10000, 1.0):
        if message.error():
            if message.error().code() == KafkaError._PARTITION_EOF:
                at_end.add(message.partition())
            continue
        at_end.discard(message.partition())
        value = int(message.value())
        number += 1
        different += not seen[value]
        seen[value] = 1
print(json.dumps([number - different, asked["count"] - different]))
"""

_ENDS: Final = """
import json, sys
from confluent_kafka import Consumer, TopicPartition
asked = json.loads(sys.argv[1])
consumer = Consumer({"bootstrap.servers": asked["servers"], "group.id": "toolbox"})
parts = consumer.list_topics(asked["topic"], timeout=30).topics[asked["topic"]].partitions
print(sum(consumer.get_watermark_offsets(TopicPartition(asked["topic"], p), timeout=30)[1] for p in parts))
"""

_MAKE: Final = """
import json, sys
from confluent_kafka.admin import AdminClient, NewTopic
asked = json.loads(sys.argv[1])
admin = AdminClient({"bootstrap.servers": asked["servers"]})
for future in admin.create_topics([NewTopic(asked["topic"], asked["partitions"], 1)]).values():
    future.result(30)
"""

_DELETE: Final = """
import json, sys
from confluent_kafka.admin import AdminClient
asked = json.loads(sys.argv[1])
admin = AdminClient({"bootstrap.servers": asked["servers"]})
for future in admin.delete_topics([asked["topic"]]).values():
    future.result(30)
"""

_CONFIGURE: Final = """
import json, sys
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
asked = json.loads(sys.argv[1])
entries = [ConfigEntry(n, v, incremental_operation=AlterConfigOpType.SET) for n, v in asked["settings"].items()]
resource = ConfigResource(ResourceType.TOPIC, asked["topic"], incremental_configs=entries)
admin = AdminClient({"bootstrap.servers": asked["servers"]})
for future in admin.incremental_alter_configs([resource]).values():
    future.result(30)
"""

_DESCRIBE: Final = """
import json, sys
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType
asked = json.loads(sys.argv[1])
admin = AdminClient({"bootstrap.servers": asked["servers"]})
resource = ConfigResource(ResourceType.TOPIC, asked["topic"])
own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
settings = {n: s.value for n, s in admin.describe_configs([resource])[resource].result(30).items() if s.source == own}
print(json.dumps([len(admin.list_topics(asked["topic"], timeout=30).topics[asked["topic"]].partitions), settings]))
"""


@dataclass(frozen=True)
class Record:
    """A committed record."""

    topic: str
    partition: int
    offset: int
    timestamp: float  # seconds since 1970
    key: bytes | None
    value: bytes | None


class Kafka:
    """The broker of examples/kafka in a namespace of its own: port 9092 for everybody, 9093 for names and passwords."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self.namespace = namespace
        self.servers = f"kafka.{namespace}.svc:9092"
        self.with_passwords = f"kafka.{namespace}.svc:9093"

    def start(self) -> None:
        """Bring it up."""
        self._cluster.apply(self.example("kafka-with-passwords.yaml"), self.namespace)
        self.start_toolbox()
        self._cluster.api.until("pods", self.namespace, "kafka-0", ready(), "pod kafka-0 is ready", limit=120)

    def start_toolbox(self) -> None:
        """Bring up only the pod that reads and writes."""
        self._cluster.apply(_TOOLBOX.format(image=self._cluster.images["runtime"]), self.namespace)
        self._cluster.api.until("pods", self.namespace, "toolbox", ready(), "pod toolbox is ready", limit=120)

    def example(self, file: str) -> str:
        """A file of examples/kafka, with the image of this cluster."""
        text = (ROOT / "examples" / "kafka" / file).read_text()
        return "\n".join(_with_image(line, self._cluster.images["kafka"]) for line in text.splitlines())

    def records(self, topic: str, least: int = 1, seconds: float = 60) -> list[Record]:
        """All committed records, as soon as there are so many."""
        found = []
        for line in self._read(topic, least=least, seconds=seconds):
            name, partition, offset, moment, key, value = json.loads(line)
            found.append(Record(name, partition, offset, moment / 1000, _bytes(key), _bytes(value)))
        return found

    def values(self, topic: str, field: str = "order_id", least: int = 1, seconds: float = 60) -> list[int]:
        """One number of each committed record (JSON), as soon as there are so many."""
        return [int(line) for line in self._read(topic, field=field, least=least, seconds=seconds)]

    def arriving(self, topic: str, seconds: float) -> int:
        """How many records come within so many seconds from now on."""
        return len(self._read(topic, from_end=True, whole_time=True, seconds=seconds))

    def holding(self, *texts: str) -> list[tuple[str, int, str]]:
        """Where in all topics these texts stand: topic, offset, text."""
        needles = [base64.b64encode(t.encode()).decode() for t in texts]
        lines = self._read("", needles=needles, least=0, seconds=60)
        return [(t, o, base64.b64decode(n).decode()) for t, o, n in map(json.loads, lines)]

    def write(self, topic: str, values: list[str]) -> None:
        """Produce records."""
        self._run(_WRITE, {"topic": topic, "values": values})

    def write_numbers(self, topic: str, count: int, seconds: float) -> None:
        """Produce the numbers from 1 on, each as eight bytes (LongConverter)."""
        self._run(_COUNT_UP, {"topic": topic, "count": count}, seconds)

    def tally(self, topic: str, count: int, seconds: float) -> tuple[int, int]:
        """Of the numbers from 1 to `count`, as text: how many committed records too many, and how many are missing.

        It waits until none is missing.
        """
        more, missing = json.loads(
            self._run(_TALLY, {"topic": topic, "count": count, "seconds": seconds}, seconds + 60)
        )
        return more, missing

    def end(self, topic: str) -> int:
        """The sum of the end offsets of a topic: its records, with markers of transactions."""
        return int(self._run(_ENDS, {"topic": topic}))

    def create(self, topic: str, partitions: int = 1) -> None:
        """Make a topic."""
        self._run(_MAKE, {"topic": topic, "partitions": partitions})

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self._run(_DELETE, {"topic": topic})

    def configure(self, topic: str, settings: Mapping[str, str]) -> None:
        """Change settings of a topic."""
        self._run(_CONFIGURE, {"topic": topic, "settings": dict(settings)})

    def describe(self, topic: str) -> tuple[int, dict[str, str]]:
        """How many partitions a topic has, and the settings that are its own."""
        partitions, settings = json.loads(self._run(_DESCRIBE, {"topic": topic}))
        return partitions, settings

    def _read(self, topic: str, *, seconds: float, **more: Any) -> list[str]:
        asked = {
            "topic": topic,
            "field": "",
            "needles": [],
            "least": 1,
            "from_end": False,
            "whole_time": False,
            "seconds": seconds,
            **more,
        }
        return self._run(_READ, asked, seconds + 30).splitlines()

    def _run(self, program: str, asked: dict[str, Any], seconds: float = 60) -> str:
        text = json.dumps({"servers": self.servers, **asked})
        return self._cluster.python(self.namespace, "toolbox", program, text, seconds=seconds)


def _with_image(line: str, image: str) -> str:
    name, colon, _ = line.partition("image: penstock-demo-kafka")
    return f"{name}image: {image}" if colon else line


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
