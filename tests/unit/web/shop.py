"""Shop with connectors in every state, whose resources change while pages are open."""

import copy
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from penstock_web.revision import Revision
from penstock_web.source import Event, Measurement

from .resources import Resources

__all__ = ["Shop", "connector", "many"]

AT = "2026-11-29T12:00:00Z"
TRACE = """Traceback (most recent call last):
  File "penstock_sql/sink/writer.py", line 88, in write
    self._connection.executemany(statement, rows)
psycopg.errors.UndefinedColumn: column "discount" of relation "orders" does not exist
LINE 1: INSERT INTO "orders" ("id","total","discount") VALUES ($1,$2,$3)"""


class Shop(Resources):
    """WebSource whose documents can be changed by `put`, from any thread."""

    def __init__(self, *documents: dict[str, Any], now: float | None = None) -> None:
        super().__init__(*documents)
        self.now = time.time() if now is None else now
        self.measured: dict[tuple[str, str], tuple[Measurement, ...]] = {}
        self.occurred: tuple[Event, ...] = ()
        self.asked = 0
        self._revision = Revision()

    def put(self, document: dict[str, Any]) -> None:
        own = document["metadata"]
        self.documents = [
            d
            for d in self.documents
            if (d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"])
            != (document["kind"], own.get("namespace"), own["name"])
        ]
        self.documents.append(document)
        self.change()

    def remove(self, name: str) -> None:
        self.documents = [d for d in self.documents if d["metadata"]["name"] != name]
        self.change()

    def change(self) -> None:
        self._revision.grow()

    def measure(self, namespace: str, name: str, rate: float, lag: int | None = None, tasks: int = 1) -> None:
        start = self.now - 3540
        self.measured[namespace, name] = tuple(
            Measurement(start + 60 * n, task, _wave(rate, n), None if lag is None else int(_wave(lag, n + 20)))
            for n in range(60)
            for task in range(tasks)
        )

    def history(self, namespace: str, name: str) -> Sequence[Measurement]:
        self.asked += 1
        return self.measured.get((namespace, name), ())

    def revision(self) -> int:
        return self._revision.number

    async def changed(self, since: int) -> int:
        return await self._revision.greater_than(since)

    async def events(self, namespace: str, name: str) -> Sequence[Event]:
        return self.occurred


def connector(
    name: str,
    state: str = "Running",
    *,
    namespace: str = "shop",
    class_name: str = "FileStreamSource",
    kind: str = "source",
    tasks: Sequence[str] | None = None,
    config: Mapping[str, Any] | None = None,
    reason: str = "",
    message: str = "",
    stalled: bool = False,
    trace: str = "",
    **spec: Any,
) -> dict[str, Any]:
    """A Connector in a state, as the operator writes it."""
    states = (["Failed" if state == "Failed" else "Running"] if tasks is None else tasks) if state != "Stopped" else []
    is_ready = state in ("Running", "Paused", "Stopped") and not reason
    wanted = state if state in ("Paused", "Stopped") else "Running"
    ready = {"status": str(is_ready), "reason": reason or state, "message": message or "all tasks run"}
    conditions = [
        {"type": "Ready", **ready},
        {
            "type": "Reconciling",
            "status": str(not is_ready and not stalled),
            "reason": "NotReconciling" if is_ready else reason,
        },
        {"type": "Stalled", "status": str(stalled), "reason": reason if stalled else "NotStalled"},
        {"type": "ConfigValid", "status": str(reason != "ConfigInvalid"), "reason": "Valid", "message": ""},
    ]
    rows = [
        {
            "id": n,
            "state": each,
            "pod": f"{name}-{n}-1",
            "restarts": 3 if each == "Failed" else 0,
            "since": AT,
            "lastRecordTime": AT,
            "versions": {"connector": "0.1.0", "valueConverter": "0.1.0", "transforms": {"mask": "0.1.0"}},
            **({"message": message, "trace": trace, "reason": reason} if each == "Failed" else {}),
        }
        for n, each in enumerate(states)
    ]
    running = sum(each == "Running" for each in states)
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}-{name}",
            "generation": 1,
            "creationTimestamp": AT,
            "labels": {},
        },
        "spec": {
            "class": class_name,
            "state": wanted,
            "tasksMax": max(1, len(states)),
            "config": {"topic": "orders", "file": "/data/orders.jsonl"} if config is None else dict(config),
            **spec,
        },
        "status": {
            "observedGeneration": 1,
            "state": state,
            "connector": {"class": class_name, "type": kind, "version": "0.1.0"},
            "conditions": [{**c, "lastTransitionTime": AT, "message": c.get("message", "")} for c in conditions],
            "tasks": rows,
            "taskSummary": f"{running}/{len(states)}",
            "lastRecordTime": AT,
            "activeTopics": [] if state == "Pending" else [{"name": "orders", "task": 0, "since": AT}],
            "activeTopicCount": 0 if state == "Pending" else 1,
        },
    }


def many(number: int, failed: Sequence[int] = ()) -> list[dict[str, Any]]:
    """This many Connectors in five namespaces, of which some have failed."""
    template = connector("x")
    broken = connector("x", "Failed", reason="TasksFailed", message="cannot write: disk full; free space", trace=TRACE)
    found = []
    for n in range(number):
        document = copy.deepcopy(broken if n in failed else template)
        document["metadata"] |= {"name": f"feed-{n:04}", "namespace": f"team-{n % 5}", "uid": str(n)}
        found.append(document)
    return found


def _wave(mean: float, n: int) -> float:
    return max(0.0, mean * (1 + 0.25 * math.sin(n / 6) + 0.12 * math.sin(n * 1.7) + 0.05 * math.cos(n * 3.1)))
