"""Kafka Connect's own records of the status topic: states of connectors and tasks, active topics. Pure.

Keys are `status-connector-<name>`, `status-task-<name>-<n>` and `status-topic-<topic>:connector-<name>`; values are JSON
objects with the fields in Connect's order. Tasks write their own state; the operator or `penstock run` writes the rest.
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
    """A state in the status topic.

    Attributes:
        state: in Connect's words; a later Kafka Connect may have more than `State` has.
        worker_id: of the writer.
        generation: in which it was written.
    """

    state: str
    worker_id: str = ""
    generation: int = 0

    @classmethod
    def of(cls, value: bytes | None) -> "Status | None":
        """The state in the value of a record; None for a tombstone, and for a value that cannot be read."""
        try:
            fields = json.loads(value or b"")
            return cls(str(fields["state"]), str(fields["worker_id"]), int(fields["generation"]))
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            return None


def connector_key(name: str) -> bytes:
    """The key of the state of a connector."""
    return f"status-connector-{name}".encode()


def task_key(name: str, task: int) -> bytes:
    """The key of the state of a task."""
    return f"status-task-{name}-{task}".encode()


def connector_status(
    name: str, state: State, *, worker_id: str, generation: int, version: str | None, trace: str | None = None
) -> tuple[bytes, bytes]:
    """The record of a connector's state."""
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
