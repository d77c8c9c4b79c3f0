"""Records of the status topic between tasks and the operator: reports, control records, claims. Each has a version. Pure.

Keys are JSON arrays whose first element starts with `penstock-`. A Kafka Connect worker on the same topic ignores them.
"""

import json
from collections.abc import Callable
from typing import Final, Literal, Self

from pydantic import Field, ValidationError

from penstock_model.contracts.base import Part
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.pod_layout import TERMINATION_LIMIT
from penstock_model.contracts.task_spec import TaskState
from penstock_model.contracts.texts import cut_trace

__all__ = [
    "Claim",
    "Control",
    "Report",
    "TerminationMessage",
    "UsedToken",
    "UsedTokens",
    "claim_key",
    "control_key",
    "report_key",
    "used_tokens_key",
]

_CUT: Final = "..."
_PROGRESS: Final = ("last_record", "delivered", "lag", "read_rate", "busy", "partitions", "figures_at")


class _Record(Part):
    def to_value(self) -> bytes:
        """Return the value of the record."""
        return self.model_dump_json(by_alias=True, exclude_none=True).encode()

    @classmethod
    def of(cls, value: bytes | None) -> Self | None:
        """Read the value of a record; None for a tombstone, or a version that this release does not support."""
        try:
            return None if value is None else cls.model_validate_json(value)
        except ValidationError:
            return None


def _key(kind: str, *parts: str | int) -> bytes:
    return json.dumps([f"penstock-{kind}", *parts], separators=(",", ":"), ensure_ascii=False).encode()


def report_key(connector: str, task: int) -> bytes:
    """Return the key of the report of a task; `connector` is the Connect name."""
    return _key("report", connector, task)


def control_key(connector: str) -> bytes:
    """Return the key of the control record of a connector."""
    return _key("control", connector)


def claim_key(connector: str) -> bytes:
    """Return the key of the claim to a Connect name."""
    return _key("claim", connector)


def used_tokens_key(connector: str) -> bytes:
    """Return the key of the tokens that were used under a Connect name."""
    return _key("used-tokens", connector)


class UsedToken(Part):
    """Request in an annotation that was carried out, started or rejected.

    Attributes:
        action: `reset`, `alter` or `reset-topics`.
        token: token that the user chose.
        content: for `alter`, a hash of the JSON that came with the token.
        connector_uid: uid of the resource that had the annotation.
        at: time of use, in seconds since 1970.
    """

    action: str
    token: str
    content: str = ""
    connector_uid: str
    at: int


class UsedTokens(_Record):
    """Tokens of requests that change offsets or active topics of a Connect name, newest last.

    They outlive the resource: a resource recreated from a backup has the old annotations and no status. The
    operator writes the record before a token's request can have an effect, and never removes it.
    """

    api_version: Literal["penstock.dev/used-tokens/v1"] = "penstock.dev/used-tokens/v1"
    tokens: tuple[UsedToken, ...] = ()


class Report(_Record):
    """State of a task, which the task writes when it changes.

    Attributes:
        connector: the Connect name.
        connector_uid: uid of the resource. A report whose uids match no running pod is ignored.
        pod_uid: uid of the pod.
        task: number of the task.
        epoch, incarnation: of this pod.
        state: state as in Connect: RUNNING, PAUSED, FAILED, UNASSIGNED (it has stopped); empty while it starts.
        acted: the `connector_generation` of the pod identity or control record that it follows.
        since: start of this state, in milliseconds.
        versions: plugin versions by place (`connector`, `value.converter`, `transforms.hoist`).
        trouble: a temporary problem (Kafka cannot be reached); None for none.
        lagging: growth of a sink's lag, in words; None if it does not grow or is unknown.
        progress: evidence that this incarnation works: `none`, `loop` (it has written records, or there were none),
            `steady` (it has also run for some more seconds).
        last_record: time of the last record delivered before this report, in milliseconds, or None.
        last_loop: with `trouble`, time when the loop last completed before it, in milliseconds, or None.
        delivered: number of records that this incarnation had delivered when `figures_at` was measured.
        lag: number of records of its topics that a sink had not delivered then; None: unknown, or a source.
        read_rate: records per second that a sink has read since the previous figures, or since it started; None: that time
            is too short, or a source.
        busy: percentage of that time in which the sink did not wait for records; None as for `read_rate`.
        partitions: number of partitions that a sink reads; None: unknown, or a source.
        figures_at: when these figures were measured, in milliseconds; at most once a minute, and only while they change.
            None: not yet.
        message: FAILED: the error as a sentence, redacted.
        trace: FAILED: the traceback, redacted, of limited length.
        asked: last request of the plugin for new task configurations: its time in milliseconds with 13 digits, and a digest
            of the state that it depends on. The latest request is the greatest. None: no request.
        executors_wanted: number of executors that the task can use now; None: `spec.spark.executors` is not set, or
            the connector cannot use them.
        executors: number of executors connected to the task; None as for `executors_wanted`.
        executors_trouble: reason why the task does not use the executors that it wants, or None.
    """

    api_version: Literal["penstock.dev/report/v1"] = "penstock.dev/report/v1"
    connector: str
    connector_uid: str
    pod_uid: str
    task: int
    epoch: PlanEpoch
    incarnation: int
    state: str
    acted: int
    since: int
    versions: dict[str, str] = Field(default_factory=dict)
    trouble: str | None = None
    lagging: str | None = None
    progress: Literal["none", "loop", "steady"] = "none"
    last_record: int | None = None
    last_loop: int | None = None
    delivered: int | None = Field(None, ge=0)
    lag: int | None = Field(None, ge=0)
    read_rate: float | None = Field(None, ge=0)
    busy: int | None = Field(None, ge=0, le=100)
    partitions: int | None = Field(None, ge=0)
    figures_at: int | None = None
    message: str | None = None
    trace: str | None = None
    asked: str | None = Field(None, pattern=r"^[0-9]{13} [0-9a-f]{1,64}$")
    executors_wanted: int | None = None
    executors: int | None = None
    executors_trouble: str | None = None

    def differs_in_progress_alone(self, other: "Report") -> bool:
        """Return whether only the time of the last record and the figures differ."""
        return self.model_copy(update={n: getattr(other, n) for n in _PROGRESS}) == other


class Control(_Record):
    """Target state of the running tasks of a connector.

    A task follows this record or its `PodIdentity`, whichever has the higher generation.

    Attributes:
        connector_uid: uid of the resource; tasks of another resource ignore the record.
        generation: `metadata.generation`.
        state: Running or Paused.
        topics_reset: token of the last reset of the active topics (KIP-558): if it changes, a task records again the
            topics that it uses. Later records keep it. None: there was no reset.
        log_level: log levels of the tasks (`LogLevels.parse`). None: the level of the release.
    """

    api_version: Literal["penstock.dev/control/v1"] = "penstock.dev/control/v1"
    connector_uid: str
    generation: int
    state: TaskState
    topics_reset: str | None = None
    log_level: str | None = None


class Claim(_Record):
    """Owner of a Connect name, for operators that cannot read each other's resources.

    Attributes:
        connector_uid, namespace, name: of the resource.
        created: its `creationTimestamp`. The older resource owns the name; if equal, the one with the smaller uid.
        operator: `<namespace>/<name>` of the Helm release that wrote it.
        cluster: id of the cluster of that release.
        installation: id of that release; no two clusters share it, even with equal cluster ids.
    """

    api_version: Literal["penstock.dev/claim/v1"] = "penstock.dev/claim/v1"
    connector_uid: str
    namespace: str
    name: str
    created: str
    operator: str
    cluster: str
    installation: str


class TerminationMessage(_Record):
    """Termination message of a container, which reaches the operator even if Kafka is unreachable.

    Attributes:
        exit_code: see `penstock_model.contracts.exit_codes`.
        message: the error as a sentence, redacted; None if the process stopped on request.
        trace: end of the traceback, redacted, as much as fits.
        trouble: last temporary problem.
        reason: for exit code LOST, the reason in the status: `JvmLost`, or `OOMKilled` if the kernel killed a child
            process; None: Spark was lost.
        classes: from a verifying pod, the Java classes that it has found (`verification.classes_text`).
        definitions: from a verifying pod, the digest of the configuration definitions in its log (`definitions.find_line`).
    """

    api_version: Literal["penstock.dev/last-word/v1"] = "penstock.dev/last-word/v1"
    exit_code: int = Field(alias="exitCode")
    message: str | None = None
    trace: str | None = None
    trouble: str | None = None
    reason: str | None = None
    classes: str | None = None
    definitions: str | None = None

    def to_message(self, limit: int = TERMINATION_LIMIT) -> str:
        """Return JSON of at most `limit` bytes: the trace is cut at its beginning, then the message at its end."""

        def size(trace: int, message: int) -> int:
            return len(self._cut(trace, message).to_value())

        trace, message = len(self.trace or ""), len(self.message or "")
        if size(trace, message) > limit:
            trace = _most(trace, lambda n: size(n, message) <= limit)
        if size(trace, message) > limit:
            message = _most(message, lambda n: size(0, n) <= limit)
        return self._cut(trace, message).to_value().decode()

    def _cut(self, trace: int, message: int) -> Self:
        """Return the message with its trace and text cut to these numbers of characters."""

        def kept(text: str | None, length: int, *, end: bool) -> str | None:
            if text is None or length >= len(text):
                return text
            if length == 0:
                return None
            return f"{_CUT}\n{cut_trace(text, length)}" if end else text[:length] + _CUT

        return self.model_copy(
            update={"trace": kept(self.trace, trace, end=True), "message": kept(self.message, message, end=False)}
        )


def _most(length: int, fits: Callable[[int], bool]) -> int:
    """Return the greatest number up to `length` that fits, or 0."""
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
