"""What tasks tell the operator, and the operator running tasks: records of the status topic, with their own versions. Pure.

Keys are JSON arrays whose first part begins with `penstock-`: a Kafka Connect worker on the same topic passes over them.
"""

import json
from collections.abc import Callable
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from penstock_model.contracts.pod_identity import Standing
from penstock_model.contracts.pod_layout import TERMINATION_LIMIT
from penstock_model.contracts.task_spec import TaskState

__all__ = ["Claim", "Control", "Report", "TerminationMessage", "claim_key", "control_key", "report_key"]

_CUT: Final = "..."


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    def to_value(self) -> bytes:
        """The record's value."""
        return self.model_dump_json(by_alias=True, exclude_none=True).encode()

    @classmethod
    def of(cls, value: bytes | None) -> Self | None:
        """Read a record's value; None for a tombstone, and for what is not of a version that we read."""
        try:
            return None if value is None else cls.model_validate_json(value)
        except ValidationError:
            return None


def _key(kind: str, *parts: str | int) -> bytes:
    return json.dumps([f"penstock-{kind}", *parts], separators=(",", ":"), ensure_ascii=False).encode()


def report_key(connector: str, task: int) -> bytes:
    """Of a task's report; `connector` is the Connect name."""
    return _key("report", connector, task)


def control_key(connector: str) -> bytes:
    """Of what a connector's tasks are told."""
    return _key("control", connector)


def claim_key(connector: str) -> bytes:
    """Of who owns a Connect name."""
    return _key("claim", connector)


class Report(_Record):
    """The state of a task, as it sees itself. Written when it changes, not by a clock.

    Attributes:
        connector: the Connect name.
        connector_uid: of the resource; with `pod_uid`, what does not match a live pod is ignored.
        pod_uid: of the pod.
        task: its number.
        standing, incarnation: of this life.
        state: Connect's word: RUNNING, PAUSED, FAILED, UNASSIGNED (it has left).
        acted: the `connector_generation` of the life or control record that it acts on.
        since: when this state began, milliseconds.
        versions: plugin versions by place (`connector`, `value.converter`, `transforms.hoist`).
        trouble: what hinders it now and may pass (Kafka is away); None: nothing.
        message: FAILED: the error in a sentence, redacted.
        trace: FAILED: its trace, redacted, bounded.
    """

    api_version: Literal["penstock.dev/report/v1"] = "penstock.dev/report/v1"
    connector: str
    connector_uid: str
    pod_uid: str
    task: int
    standing: Standing
    incarnation: int
    state: str
    acted: int
    since: int
    versions: dict[str, str] = {}
    trouble: str | None = None
    message: str | None = None
    trace: str | None = None


class Control(_Record):
    """What the running tasks of a connector are told. The higher generation of this record and of their `PodIdentity` wins.

    Attributes:
        connector_uid: of the resource; tasks of another one pass over it.
        generation: `metadata.generation`.
        state: Running or Paused.
    """

    api_version: Literal["penstock.dev/control/v1"] = "penstock.dev/control/v1"
    connector_uid: str
    generation: int
    state: TaskState


class Claim(_Record):
    """Who owns a Connect name, for operators that cannot see each other's resources.

    Attributes:
        connector_uid, namespace, name: the resource.
        created: its `creationTimestamp`; the older one owns the name, then the smaller uid.
        operator: the release that wrote it, `<namespace>/<name>`.
        cluster: that the release is in; None: an older release wrote it, which did not say.
        installation: of the release there, which no two clusters share, whatever they are called; None: as above.
    """

    api_version: Literal["penstock.dev/claim/v1"] = "penstock.dev/claim/v1"
    connector_uid: str
    namespace: str
    name: str
    created: str
    operator: str = ""
    cluster: str | None = None
    installation: str | None = None


class TerminationMessage(_Record):
    """What a process says when it ends, in the container's termination message: also where Kafka cannot be reached.

    Attributes:
        exit_code: `penstock_model.contracts.exit_codes`.
        message: the error in a sentence, redacted; None: ended as asked.
        trace: as much of its end as there is room for, redacted.
        trouble: what hindered it last.
    """

    api_version: Literal["penstock.dev/last-word/v1"] = "penstock.dev/last-word/v1"
    exit_code: int = Field(alias="exitCode")
    message: str | None = None
    trace: str | None = None
    trouble: str | None = None

    def to_message(self, limit: int = TERMINATION_LIMIT) -> str:
        """As JSON of so many bytes at most: the trace is cut from its beginning, then the message from its end."""

        def size(trace: int, message: int) -> int:
            return len(self._cut(trace, message).to_value())

        trace, message = len(self.trace or ""), len(self.message or "")
        if size(trace, message) > limit:
            trace = _most(trace, lambda n: size(n, message) <= limit)
        if size(trace, message) > limit:
            message = _most(message, lambda n: size(0, n) <= limit)
        return self._cut(trace, message).to_value().decode()

    def _cut(self, trace: int, message: int) -> Self:
        """With so many characters of each."""

        def kept(text: str | None, length: int, *, end: bool) -> str | None:
            if text is None or length >= len(text):
                return text
            if length == 0:
                return None
            return _CUT + text[-length:] if end else text[:length] + _CUT

        return self.model_copy(
            update={"trace": kept(self.trace, trace, end=True), "message": kept(self.message, message, end=False)}
        )


def _most(length: int, fits: Callable[[int], bool]) -> int:
    """The greatest number up to `length` that fits; 0 when none does."""
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
