"""Records of the status topic: Kafka Connect's (`penstock_model.connect.status_records`) and incarnation records.

Penstock's own keys start with `penstock-`; a Kafka Connect worker on the same topic logs a warning for each such record.
"""

import json
from collections.abc import Iterable, Sequence

from penstock_kafka.records import Entry
from penstock_model.connect.status_records import (
    ActiveTopic,
    State,
    connector_status,
    is_topic_of,
    task_status,
    topic_status,
)
from penstock_model.contracts.incarnation import Incarnation, incarnation_key
from penstock_model.contracts.status_snapshot import topic_mark

__all__ = [
    "Incarnation",
    "State",
    "active_topics",
    "connector_status",
    "incarnated_tasks",
    "incarnation_key",
    "latest_incarnation",
    "named_ids",
    "recorded_topics",
    "task_status",
    "topic_status",
]


def recorded_topics(entries: Iterable[Entry], connector: str) -> frozenset[bytes]:
    """Return the marks (`topic_mark`) of the topics that this connector has used, from all records of the status topic."""
    return frozenset(topic_mark(topic.name) for topic in active_topics(entries, connector))


def active_topics(entries: Iterable[Entry], connector: str) -> Sequence[ActiveTopic]:
    """Return the active topics of a connector from the records of the status topic, sorted by name.

    If there are several records of one topic, the earliest counts.
    """
    records: dict[bytes, bytes] = {}
    for key, value in entries:
        if not is_topic_of(key, connector):
            continue
        if value is None:
            records.pop(key, None)
        else:
            records[key] = ActiveTopic.earlier(records.get(key), value)
    return sorted(t for value in records.values() if (t := ActiveTopic.of(value)) is not None)


def latest_incarnation(entries: Iterable[Entry], connector: str, task: int) -> Incarnation | None:
    """Return the greatest incarnation of a task, not the last: an earlier process of the task may write late."""
    key = incarnation_key(connector, task)
    incarnations = [Incarnation.of(value) for k, value in entries if k == key and value is not None]
    return max(incarnations, default=None)


def named_ids(entries: Iterable[Entry], connector: str, task: int) -> frozenset[str]:
    """Return the drivers' transactional ids in the records of this task; none if it does not write in transactions."""
    key = incarnation_key(connector, task)
    return frozenset(name for k, v in entries if k == key and v is not None for name in json.loads(v).get("ids", ()))


def incarnated_tasks(entries: Iterable[Entry], connector: str) -> dict[int, Incarnation]:
    """Return the greatest incarnation of every task that this connector has ever had, by task."""
    tasks: dict[int, Incarnation] = {}
    for key, value in entries:
        if value is None or not key.startswith(b'["penstock-incarnation"'):
            continue
        try:
            _, name, task = json.loads(key)
        except (ValueError, RecursionError):  # not written by Penstock
            continue
        if name == connector:
            incarnation = Incarnation.of(value)
            tasks[task] = max(incarnation, tasks.get(task, incarnation))
    return tasks
