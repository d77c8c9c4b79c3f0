"""State of the demo, read once per second, and its display: connectors, topic, and the file at the other end."""

import json
import re
import time
from dataclasses import dataclass, field

from command import Failed, Kube, Object
from database import changed
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

__all__ = [
    "BACKLOG",
    "BACKLOG_TOPIC",
    "BACKLOG_WITNESS",
    "CANARY",
    "CHANGES",
    "CHANGES_TOPIC",
    "CHANGES_WITNESS",
    "FILE",
    "POLICY",
    "SINK",
    "SOURCE",
    "TOPIC",
    "Connector",
    "Found",
    "Lines",
    "Scene",
    "count_lines",
    "counted",
    "look",
    "look_at_connectors",
    "moved",
    "table",
    "topic_as_created",
]

BACKLOG, BACKLOG_TOPIC, BACKLOG_WITNESS = "history-in", "shop-history", "witness-history"
"""Connector that delivers a backlog (examples/backlog), its topic and its counting pod."""
SOURCE, SINK, TOPIC, FILE = "orders-in", "orders-out", "shop-orders", "/data/orders.txt"
CANARY = "many"
"""Connector that is upgraded to a broken version. It exists only on the demo's own cluster."""
CHANGES, CHANGES_TOPIC, CHANGES_WITNESS = "shop-changes", "shop.public.orders", "witness-changes"
"""Connector of Debezium, its topic and its counting pod, only on the demo's own cluster."""
POLICY = "shop-topics"
_DESCRIBE = """
import os, sys
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType
admin = AdminClient({"bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"]})
resource = ConfigResource(ResourceType.TOPIC, sys.argv[1])
settings = admin.describe_configs([resource])[resource].result(30)
own = [f"{n}={s.value}" for n, s in settings.items() if s.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value]
parts = len(admin.list_topics(sys.argv[1], timeout=30).topics[sys.argv[1]].partitions)
print(f"{parts} partition{'s' * (parts > 1)}", *own, sep=", ")
"""
_ORDER = re.compile(r"order_id=(\d+)")
_WORKERS = re.compile(r"^penstock_task_spark_workers\{.*\} ([0-9.]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Connector:
    """Connector in the form of `kubectl get connectors`.

    `message` is that of condition Ready, `pod` that of task 0; `versions` are the plugin's versions in each task, `pending`
    is the reason of condition UpdatePending.
    """

    name: str
    plugin: str
    state: str
    tasks: str
    ready: str
    reason: str
    message: str
    stalled: bool
    pod: str
    versions: str
    pending: str

    @classmethod
    def of(cls, resource: Object) -> "Connector":
        """Return the connector of a resource."""
        status, meta = resource.get("status", {}), resource["metadata"]
        conditions: dict[str, Object] = {c["type"]: c for c in status.get("conditions", [])}
        ready = conditions.get("Ready", {})
        task: Object = next((t for t in status.get("tasks", []) if t["id"] == 0), {})
        return cls(
            name=meta["name"],
            plugin=resource["spec"]["class"],
            state=status.get("state", ""),
            tasks=status.get("taskSummary", ""),
            ready=ready.get("status", ""),
            reason=ready.get("reason", ""),
            message=ready.get("message", ""),
            stalled=conditions.get("Stalled", {}).get("status") == "True"
            and status.get("observedGeneration") == meta["generation"],
            pod=task.get("pod", ""),
            versions=" ".join(t.get("versions", {}).get("connector", "-") for t in status.get("tasks", [])),
            pending=conditions.get("UpdatePending", {}).get("reason", ""),
        )


@dataclass(frozen=True)
class Found:
    """Counts of the witness in a topic (witness.py)."""

    records: int = 0
    first: int = 0
    last: int = -1
    missing: int = 0
    duplicated: int = 0


@dataclass(frozen=True)
class Lines:
    """File at the other end: the number of lines, and the last line."""

    count: int = 0
    text: str = ""

    @property
    def last(self) -> int:
        """Last order id, or -1 if there is none."""
        found = _ORDER.search(self.text)
        return int(found[1]) if found else -1


@dataclass(frozen=True)
class Scene:
    """State of the demo at a time in seconds, monotonic."""

    at: float
    connectors: dict[str, Connector] = field(default_factory=dict)
    topic: Found = Found()
    lines: Lines = Lines()
    changes: int = 0
    """Number of changes of orders in PostgreSQL; 0 without Debezium."""
    events: Found = Found()
    backlog: Found = Found()
    workers: int | None = None
    """Number of workers of the Spark session that delivers the backlog; 0 without a session, None if it is not known."""

    def running(self, name: str) -> bool:
        """Return whether the connector exists and all its tasks run."""
        return name in self.connectors and self.connectors[name].ready == "True"


def look(kube: Kube) -> Scene:
    """Return the state of the demo. Parts that do not exist yet are empty.

    Raises:
        Failed: the API server does not answer.
    """
    connectors = look_at_connectors(kube)
    sink = connectors.get(SINK)
    lines = _lines(kube, sink.pod) if sink and sink.pod else Lines()
    has_changes = CHANGES in connectors
    return Scene(
        time.monotonic(),
        connectors,
        counted(kube),
        lines,
        changed(kube) if has_changes else 0,
        counted(kube, CHANGES_WITNESS) if has_changes else Found(),
        counted(kube, BACKLOG_WITNESS) if BACKLOG in connectors else Found(),
        _workers(kube, connectors[BACKLOG].pod) if BACKLOG in connectors else None,
    )


def look_at_connectors(kube: Kube) -> dict[str, Connector]:
    """Return the demo's connectors by name.

    Raises:
        Failed: the API server does not answer.
    """
    resources = kube.list("connectors.penstock.dev", "--namespace=demo")
    return {c.name: c for c in map(Connector.of, resources)}


def counted(kube: Kube, witness: str = "witness") -> Found:
    """Return the counts of a witness so far."""
    try:
        return Found(**json.loads(kube.kubectl("logs", "--namespace=demo", witness, "--tail=1")))
    except (Failed, ValueError):  # its pod is starting, or it has found nothing yet
        return Found()


def _workers(kube: Kube, pod: str) -> int | None:
    try:
        metrics = kube.kubectl("get", f"--raw=/api/v1/namespaces/demo/pods/{pod}:9404/proxy/metrics")
    except Failed:  # its pod is starting
        return None
    found = _WORKERS.search(metrics)
    return int(float(found[1])) if found else None


def topic_as_created(kube: Kube, topic: str) -> str:
    """Describe a topic in Kafka: its partitions, and the settings that override defaults."""
    try:
        return kube.kubectl("exec", "--namespace=demo", "witness", "--", "python3", "-c", _DESCRIBE, topic).strip()
    except Failed as e:
        return f"cannot be described: {e}"


def count_lines(kube: Kube, pod: str) -> list[int]:
    """Return the order ids of all lines, in the order of the file."""
    text = kube.kubectl("exec", "--namespace=demo", pod, "--", "grep", "-o", "order_id=[0-9]*", FILE)
    return list(map(int, _ORDER.findall(text)))


def _lines(kube: Kube, pod: str) -> Lines:
    try:
        text = kube.kubectl("exec", "--namespace=demo", pod, "--", "sh", "-c", f"wc -l <{FILE}; tail -n 1 {FILE}")
    except Failed:  # the pod, container or file does not exist yet
        return Lines()
    count, _, last = text.partition("\n")
    return Lines(int(count), last.strip())


def _rate(records: int, before: int, seconds: float) -> int:
    """Return the records per second that were added to a topic between two scenes."""
    if not before:  # it is not known when the first records were added
        return 0
    return round(max(0, records - before) / max(seconds, 0.001))


def table(scene: Scene, before: Scene) -> RenderableType:
    """Render a scene for a terminal of 100 columns."""
    shown = Table("connector", "class", "state", "tasks", "ready", "reason", expand=True)
    for c in scene.connectors.values():
        style = {"True": "green", "False": "red"}.get(c.ready, "yellow")
        shown.add_row(c.name, c.plugin, Text(c.state, style), c.tasks, Text(c.ready, style), c.reason)
    parts: list[RenderableType] = [shown]
    parts += [
        Text(f"{c.name}: {c.message}", "yellow") for c in scene.connectors.values() if c.ready != "True" and c.message
    ]
    parts.append(Text(moved(scene, before)))
    parts.append(Text(scene.lines.text, "dim", overflow="ellipsis", no_wrap=True))
    return Group(*parts)


def moved(scene: Scene, before: Scene) -> str:
    """Describe in one line how many records are in each topic and file."""
    t, seconds = scene.topic, scene.at - before.at
    rate = _rate(t.records, before.topic.records, seconds)
    text = (
        f"topic {TOPIC}: {t.records:,} records, {rate}/s, {t.missing} missing, {t.duplicated} duplicated"
        f" -> {FILE}: {scene.lines.count:,} lines"
    )
    if scene.changes:
        text += f"; PostgreSQL: {scene.changes:,} changes -> topic {CHANGES_TOPIC}: {scene.events.records:,} records"
    if scene.backlog.records or scene.workers:
        pace = _rate(scene.backlog.records, before.backlog.records, seconds)
        spark = f", Spark: {scene.workers} workers" if scene.workers else ""
        text += f"; topic {BACKLOG_TOPIC}: {scene.backlog.records:,} records, {pace:,}/s{spark}"
    return text
