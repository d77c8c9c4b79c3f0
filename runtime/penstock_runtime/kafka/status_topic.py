"""Records of the status topic: Connect's own (`penstock.status_records`) and ours (incarnations).

Ours start with `penstock-`; a Kafka Connect worker on the same topic logs one warning for each and passes over them.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering

from penstock.status_records import State, connector_status, task_status, topic_status
from penstock_runtime.kafka.compacted import Entry

__all__ = ["Incarnation", "State", "connector_status", "incarnated_tasks", "incarnation_key", "latest_incarnation",
           "named_ids", "task_status", "topic_status"]  # fmt: skip


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@total_ordering
@dataclass(frozen=True)
class Incarnation:
    """One life of a task, and within it one fencing: whoever acts on a smaller one than the topic's must not write.

    Ordered by generation, plan, incarnation, fence, token: a life of an older plan is older than any of a newer one,
    however often it was started again.

    Attributes:
        incarnation: raised with every start of the task.
        fence: raised within a life whenever the outcome of a batch is unknown.
        token: unique per life, to tell two lives that chose the same number apart.
        slots: how many `<id>/<slot>` transactional ids may exist, in this life and the ones before.
        generation: of the connector's configuration; raised with every plan.
        plan: unique per plan, to tell two plans that chose the same generation apart.
    """

    incarnation: int
    fence: int
    token: str
    slots: int
    generation: int = 0
    plan: str = ""

    def __lt__(self, other: "Incarnation") -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[int, str, int, int, str, int]:
        return (self.generation, self.plan, self.incarnation, self.fence, self.token, self.slots)

    @classmethod
    def of(cls, value: bytes) -> "Incarnation":
        """The incarnation of a record's value."""
        v = json.loads(value)
        return cls(v["incarnation"], v["fence"], v["token"], v["slots"], v.get("generation", 0), v.get("plan", ""))

    def entry(self, connector: str, task: int, *, ids: Iterable[str] = ()) -> Entry:
        """Its record.

        Args:
            connector: its name.
            task: its number.
            ids: the drivers' transactional ids, this life's and those that one before it may still hold: they contain the
                worker's `group.id`, which the next life may have another of. A worker's is one of these and `/<slot>`.
        """
        value: dict[str, object] = {
            "incarnation": self.incarnation, "fence": self.fence, "token": self.token, "slots": self.slots,
            "generation": self.generation, "plan": self.plan,
        }  # fmt: skip
        if names := sorted(ids):
            value["ids"] = names
        return incarnation_key(connector, task), _json(value)


def incarnation_key(connector: str, task: int) -> bytes:
    """The key of a task's incarnation record."""
    return _json(["penstock-incarnation", connector, task])


def latest_incarnation(entries: Iterable[Entry], connector: str, task: int) -> Incarnation | None:
    """The greatest incarnation among records, which need not be the last: an old life may write late."""
    key = incarnation_key(connector, task)
    found = [Incarnation.of(value) for k, value in entries if k == key and value is not None]
    return max(found, default=None)


def named_ids(entries: Iterable[Entry], connector: str, task: int) -> frozenset[str]:
    """The drivers' transactional ids that records of this task name; older records name none."""
    key = incarnation_key(connector, task)
    return frozenset(name for k, v in entries if k == key and v is not None for name in json.loads(v).get("ids", ()))


def incarnated_tasks(entries: Iterable[Entry], connector: str) -> dict[int, Incarnation]:
    """The greatest incarnation of every task that this connector ever had."""
    tasks: dict[int, Incarnation] = {}
    for key, value in entries:
        if value is None or not key.startswith(b'["penstock-incarnation"'):
            continue
        _, name, task = json.loads(key)
        if name == connector:
            one = Incarnation.of(value)
            tasks[task] = max(one, tasks.get(task, one))
    return tasks
