"""Records of the status topic: Connect's own (`penstock_model.connect.status_records`) and ours (incarnations).

Ours start with `penstock-`; a Kafka Connect worker on the same topic logs one warning for each and passes over them.
"""

import json
from collections.abc import Iterable

from penstock_kafka.records import Entry
from penstock_model.connect.status_records import State, connector_status, task_status, topic_status
from penstock_model.contracts.incarnation import Incarnation, incarnation_key

__all__ = ["Incarnation", "State", "connector_status", "incarnated_tasks", "incarnation_key", "latest_incarnation",
           "named_ids", "task_status", "topic_status"]  # fmt: skip


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
        try:
            _, name, task = json.loads(key)
        except (ValueError, RecursionError):  # no key of ours: the topic is written by others, too
            continue
        if name == connector:
            one = Incarnation.of(value)
            tasks[task] = max(one, tasks.get(task, one))
    return tasks
