"""Kafka Connect's records in the status topic: states of connectors and tasks, active topics. Pure.

Keys are `status-connector-<name>`, `status-task-<name>-<n>` and `status-topic-<topic>:connector-<name>`; values are JSON
objects with the fields in Connect's order. Tasks write their own state; the operator or `penstock run` writes the rest.
"""

import json
from enum import StrEnum
from typing import Final, NamedTuple

__all__ = [
    "TOPIC_PREFIX",
    "ActiveTopic",
    "State",
    "Status",
    "connector_key",
    "connector_status",
    "is_topic_of",
    "task_key",
    "task_status",
    "topic_key",
    "topic_status",
]

TOPIC_PREFIX: Final = b"status-topic-"


class State(StrEnum):
    """States of connectors and tasks, as in Connect."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


class Status(NamedTuple):
    """State in the status topic.

    Attributes:
        state: state as in Connect; a later Kafka Connect may have more states than `State`.
        worker_id: worker ID of the writer.
        generation: generation of the writer.
    """

    state: str
    worker_id: str = ""
    generation: int = 0

    @classmethod
    def of(cls, value: bytes | None) -> "Status | None":
        """Return the state in the value of a record; None for a tombstone, and for a value that cannot be read."""
        try:
            fields = json.loads(value or b"")
            return cls(str(fields["state"]), str(fields["worker_id"]), int(fields["generation"]))
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            return None


class ActiveTopic(NamedTuple):
    """Topic that a connector has used (KIP-558).

    Attributes:
        name: name of the topic.
        task: first task that used it.
        discovered: time of that use, in milliseconds since 1970.
    """

    name: str
    task: int
    discovered: int

    @classmethod
    def of(cls, value: bytes | None) -> "ActiveTopic | None":
        """Return the topic in the value of a record; None for a tombstone, and for a value that cannot be read."""
        try:
            topic = json.loads(value or b"")["topic"]
            return cls(str(topic["name"]), int(topic["task"]), int(topic["discoverTimestamp"]))
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            return None

    @classmethod
    def earlier(cls, before: bytes | None, now: bytes) -> bytes:
        """Return the earlier discovery from two records of one topic: each task records its first use."""
        first, second = cls.of(before), cls.of(now)
        is_first = (
            before is not None and first is not None and (second is None or first.discovered <= second.discovered)
        )
        return before if is_first and before is not None else now


def is_topic_of(key: bytes, connector: str) -> bool:
    """Return whether a key belongs to an active topic of this connector. Topic names have no colon; connector names may."""
    return key.startswith(TOPIC_PREFIX) and key.partition(b":")[2] == f"connector-{connector}".encode()


def topic_key(topic: str, connector: str) -> bytes:
    """Return the key of an active topic."""
    return TOPIC_PREFIX + f"{topic}:connector-{connector}".encode()


def connector_key(name: str) -> bytes:
    """Return the key of the state of a connector."""
    return f"status-connector-{name}".encode()


def task_key(name: str, task: int) -> bytes:
    """Return the key of the state of a task."""
    return f"status-task-{name}-{task}".encode()


def connector_status(
    name: str, state: State, *, worker_id: str, generation: int, version: str | None, trace: str | None = None
) -> tuple[bytes, bytes]:
    """Return the record of a connector's state."""
    return connector_key(name), _status(state, trace, worker_id, generation, version)


def task_status(
    name: str,
    task: int,
    state: State,
    *,
    worker_id: str,
    generation: int,
    version: str | None,
    trace: str | None = None,
) -> tuple[bytes, bytes]:
    """Return the record of a task's state."""
    return task_key(name, task), _status(state, trace, worker_id, generation, version)


def topic_status(topic: str, connector: str, task: int, discovered: int) -> tuple[bytes, bytes]:
    """Return the record of an active topic (KIP-558); `discovered` in milliseconds."""
    value = {"topic": {"name": topic, "connector": connector, "task": task, "discoverTimestamp": discovered}}
    return topic_key(topic, connector), _json(value)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _status(state: State, trace: str | None, worker_id: str, generation: int, version: str | None) -> bytes:
    return _json(
        {"state": state.value, "trace": trace, "worker_id": worker_id, "generation": generation, "version": version}
    )
