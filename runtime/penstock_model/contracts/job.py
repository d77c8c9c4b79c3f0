"""Request of the operator to a job pod, and its answer: two contracts, each with a version. Pure.

A job pod has the plugins and the secrets; the operator has neither. The answer is one line of standard output
(`job_answer.answer_line`), which contains references instead of secrets.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field

from penstock.errors import Problem
from penstock_model.contracts.base import Document, Part
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_spec import TaskSpec

__all__ = [
    "LIST_BYTES",
    "Action",
    "JobAnswer",
    "JobProblem",
    "JobRequest",
    "OffsetsVerb",
    "OffsetsWork",
    "Outcome",
    "PlanAnswer",
]

LIST_BYTES: Final = 900 << 10
"""Maximum number of bytes of `JobAnswer.offsets`: a ConfigMap holds 1 MiB, including names."""


class Action(StrEnum):
    """Work of a job pod.

    PLAN: validate the connector and split it into tasks; with `JobRequest.prepare`, then do PREPARE.
    PREPARE: create the internal topics, fence every task of earlier plans, and return the epoch of the new plan.
    RESET_OFFSETS: remove the offsets of a Connector that is deleted (for a source, records of the offsets topic; for a sink,
        offsets of the consumer group). If the configuration is invalid, they are found by the Connect name.
    OFFSETS: carry out `JobRequest.offsets` for a Connector that is not deleted. The plugin is always called.
    LIST_OFFSETS: read the offsets by the Connect name, without plugin code; tasks may be running.
    """

    PLAN = "Plan"
    PREPARE = "Prepare"
    RESET_OFFSETS = "ResetOffsets"
    OFFSETS = "Offsets"
    LIST_OFFSETS = "ListOffsets"


class OffsetsVerb(StrEnum):
    """Action on the offsets. A runtime that does not know a verb rejects the request.

    RESET: delete all of them.
    ALTER: set the positions in `OffsetsWork.document`; others remain.
    """

    RESET = "Reset"
    ALTER = "Alter"


class OffsetsWork(Part):
    """Details of an action on offsets (KIP-875).

    Attributes:
        verb: the action.
        generation: greatest plan generation that may be recorded in the status topic. A greater one means that the
            connector was started after the request; nothing is done then. None: any generation is allowed.
        document: ALTER only: KIP-875's JSON as requested. It is a string, so that no number, null or order of fields
            changes on the way.
    """

    verb: OffsetsVerb
    generation: int | None = None
    document: str = Field(default="", exclude_if=lambda v: not v)


class JobRequest(Document):
    """Request to a job pod.

    Attributes:
        action: work to do.
        id: repeated in the answer, so that answers to older requests are recognized.
        connector: the Connector as a document (`apiVersion`, `kind`, `metadata` with name, namespace, uid, generation;
            `spec`), as the user wrote it.
        worker: worker configuration, variables unresolved.
        secrets_dir: folder in which `${secret:<name>:<key>}` is looked up.
        prepare: PLAN only: also prepare, because no task of the connector runs.
        task: PREPARE only: the first task of the plan.
        status: records that the operator has read from the status topic. None: the pod reads the whole topic.
        owner: ID of the Connector, unique among all that use this Kafka cluster, for `PlanEpoch.owner`.
        offsets: OFFSETS only: the action on them.
        kind: LIST_OFFSETS only: `source` or `sink`, according to the last plan. None: there is no plan; both are listed.
        mounts: images of PluginVersions in the pod, the connector's first, with their declared contents.
        selected: whether a TopicCreationPolicy applies that the Connector does not name.
        registered: PLAN only: whether the Connector has had a valid plan before (KIP-158, `topic.creation.enable`).
    """

    called: ClassVar = "a job"

    api_version: Literal["penstock.dev/job/v1"] = "penstock.dev/job/v1"
    action: Action
    id: str
    connector: dict[str, Any]
    worker: dict[str, str]
    secrets_dir: str | None = None
    prepare: bool = False
    task: TaskSpec | None = None
    status: StatusSnapshot | None = Field(default=None, exclude_if=lambda v: v is None)
    owner: str = Field(default="", exclude_if=lambda v: not v)
    offsets: OffsetsWork | None = Field(default=None, exclude_if=lambda v: v is None)
    kind: Literal["source", "sink"] | None = Field(default=None, exclude_if=lambda v: v is None)
    mounts: tuple[PluginMount, ...] = Field(default=(), exclude_if=lambda v: not v)
    selected: bool = Field(default=False, exclude_if=lambda v: not v)
    registered: bool = Field(default=False, exclude_if=lambda v: not v)

    def with_mounts(self, mounts: Sequence[PluginMount]) -> Self:
        """Return the same request to a pod with these mounts."""
        return self.model_copy(update={"mounts": tuple(mounts)})


class Outcome(StrEnum):
    """Outcome of a job.

    DONE: the work is done.
    INVALID: the configuration is invalid. A retry does not help until it, or a secret that it references, changes.
    UNAVAILABLE: Kafka, or another prerequisite, cannot be reached or rejects a request. Retry later.
    SUPERSEDED: the connector was started elsewhere, or after the request; nothing was done.
    REFUSED: the offsets are unchanged: the plugin rejects the request, or the consumer group has members. For
        LIST_OFFSETS: there are too many offsets.
    FAILED: any other failure, such as a bug in a plugin or in Penstock.
    """

    DONE = "Done"
    INVALID = "Invalid"
    UNAVAILABLE = "Unavailable"
    SUPERSEDED = "Superseded"
    REFUSED = "Refused"
    FAILED = "Failed"


class JobProblem(Part):
    """Problem or warning: the property (without the prefix `spec.config.`), and the cause with a remedy."""

    property: str
    message: str

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the same problem as a part of an answer."""
        return cls(property=problem.property, message=problem.message)

    def __str__(self) -> str:
        return f"{self.property}: {self.message}" if self.property else self.message


class PlanAnswer(Part):
    """Validated configuration, split into tasks.

    Attributes:
        kind: `source` or `sink`.
        class_name: alias of the connector's class.
        version: the connector plugin's own version.
        exactly_once: whether it delivers exactly once.
        tasks: task specs without an incarnation (see `PodIdentity.apply_to`), with references instead of secrets.
        split: hash of the distribution of work; if it changes, a part of the source may belong to another task.
    """

    kind: Literal["source", "sink"]
    class_name: str
    version: str
    exactly_once: bool = False
    tasks: tuple[TaskSpec, ...] = ()
    split: str = Field(default="", exclude_if=lambda v: not v)


class JobAnswer(Part):
    """Answer of a job pod.

    Attributes:
        id: id of the request.
        outcome: outcome of the job.
        message: a sentence, always without secrets; empty for INVALID, and for DONE of PLAN, PREPARE and LIST_OFFSETS.
        problems: INVALID: all problems of the configuration.
        warnings: warnings for the author of the connector.
        plan: result of a PLAN that is DONE.
        epoch: epoch of a prepared plan.
        offsets: result of a LIST_OFFSETS that is DONE: KIP-875's JSON, at most `LIST_BYTES` as UTF-8, with values as
            stored in Kafka.
    """

    api_version: Literal["penstock.dev/answer/v1"] = "penstock.dev/answer/v1"
    id: str
    action: Action
    outcome: Outcome
    message: str = ""
    problems: tuple[JobProblem, ...] = ()
    warnings: tuple[JobProblem, ...] = ()
    plan: PlanAnswer | None = None
    epoch: PlanEpoch | None = None
    offsets: str | None = Field(default=None, exclude_if=lambda v: v is None)
