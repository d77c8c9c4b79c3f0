"""Kafka Connect's own records of the status topic: states of connectors and tasks, active topics. Pure.

Keys are `status-connector-<name>`, `status-task-<name>-<n>` and `status-topic-<topic>:connector-<name>`; values are JSON
objects whose fields stand in Connect's order (connect-semantics 1). Tasks write their own, whoever starts and ends them
writes the rest: operator and `penstock run`.
"""

import json
from enum import StrEnum
from typing import NamedTuple

__all__ = ["State", "Status", "connector_key", "connector_status", "task_key", "task_status", "topic_status"]


class State(StrEnum):
    """The states of connectors and tasks, in Connect's words."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


class Status(NamedTuple):
    """A state as it stands in the topic.

    Attributes:
        state: in Connect's words; that of a later Kafka Connect may be none that we know.
        worker_id: who wrote it.
        generation: that it was written in.
    """

    state: str
    worker_id: str = ""
    generation: int = 0

    @classmethod
    def of(cls, value: bytes | None) -> "Status | None":
        """Of a record's value; None for a tombstone, and for what cannot be read."""
        try:
            found = json.loads(value or b"")
            return cls(str(found["state"]), str(found["worker_id"]), int(found["generation"]))
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            return None


def connector_key(name: str) -> bytes:
    """Of a connector's state."""
    return f"status-connector-{name}".encode()


def task_key(name: str, task: int) -> bytes:
    """Of a task's state."""
    return f"status-task-{name}-{task}".encode()


def connector_status(
    name: str, state: State, *, worker_id: str, generation: int, version: str | None, trace: str | None = None
) -> tuple[bytes, bytes]:
    """The record of a connector's state."""
    return connector_key(name), _status(state, trace, worker_id, generation, version)


def task_status(
    name: str, task: int, state: State, *, worker_id: str, generation: int, version: str | None,
    trace: str | None = None,
) -> tuple[bytes, bytes]:  # fmt: skip
    """The record of a task's state."""
    return task_key(name, task), _status(state, trace, worker_id, generation, version)


def topic_status(topic: str, connector: str, task: int, discovered: int) -> tuple[bytes, bytes]:
    """The record of an active topic (KIP-558); `discovered` in milliseconds."""
    value = {"topic": {"name": topic, "connector": connector, "task": task, "discoverTimestamp": discovered}}
    return f"status-topic-{topic}:connector-{connector}".encode(), _json(value)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _status(state: State, trace: str | None, worker_id: str, generation: int, version: str | None) -> bytes:
    return _json(
        {"state": state.value, "trace": trace, "worker_id": worker_id, "generation": generation, "version": version}
    )
