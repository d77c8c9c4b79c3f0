"""The request of the operator to a job pod, and its answer: two contracts, each with a version. Pure.

A job pod has the plugins and the secrets; the operator has neither. The answer is one line of standard output
(`job_answer.answer_line`), which holds references in place of secrets.
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
"""The most bytes of `JobAnswer.offsets`: a ConfigMap holds 1 MiB, names and all."""


class Action(StrEnum):
    """What a job pod does.

    PLAN: validate the connector and split it into tasks; with `JobRequest.prepare`, do PREPARE after it.
    PREPARE: create the internal topics, fence every task of earlier plans, and return the epoch of the new plan.
    RESET_OFFSETS: remove the offsets of a Connector that is deleted (of a source: records of the offsets topic; of a sink:
        the consumer group's). Where the configuration is wrong they are found by name.
    OFFSETS: what `JobRequest.offsets` says, for a Connector that stays. Nothing is done by name: the plugin is asked.
    LIST_OFFSETS: read the offsets, by name alone, beside tasks that may run. No code of a plugin runs.
    """

    PLAN = "Plan"
    PREPARE = "Prepare"
    RESET_OFFSETS = "ResetOffsets"
    OFFSETS = "Offsets"
    LIST_OFFSETS = "ListOffsets"


class OffsetsVerb(StrEnum):
    """What is done with the offsets. A runtime that does not know a verb refuses the request.

    RESET: forget all of them.
    ALTER: set the positions of `OffsetsWork.document`; others stay.
    """

    RESET = "Reset"
    ALTER = "Alter"


class OffsetsWork(Part):
    """What an action on offsets does (KIP-875).

    Attributes:
        verb: what is done.
        generation: the greatest plan generation that may be recorded in the status topic. A greater one means that the
            connector was started after this was asked for: then nothing is done. None: any may be.
        document: ALTER only: KIP-875's JSON as it was asked for. As text, so that it comes as it was written: no number,
            null or order of fields changes on the way.
    """

    verb: OffsetsVerb
    generation: int | None = None
    document: str = Field(default="", exclude_if=lambda v: not v)


class JobRequest(Document):
    """A request to a job pod.

    Attributes:
        action: what to do.
        id: repeated in the answer, so that answers to older requests are recognised.
        connector: the Connector as a document (`apiVersion`, `kind`, `metadata` with name, namespace, uid, generation;
            `spec`), as its user wrote it.
        worker: the worker configuration, variables unresolved.
        secrets_dir: where `${secret:<name>:<key>}` is found.
        prepare: PLAN only: prepare as well, because no task of the connector runs.
        task: PREPARE only: the first task of the plan.
        status: what the operator has read of the status topic. None: the pod reads all of it.
        owner: an id of the Connector that is unique among all that use this Kafka, for `PlanEpoch.owner`. A job pod of an
            earlier release ignores it.
        offsets: OFFSETS only: what is done with them.
        kind: LIST_OFFSETS only: `source` or `sink`, as the last plan has it. None: there is no plan, and both are listed.
        mounts: the images of PluginVersions in the pod, the connector's first, with what they are declared to hold. A
            request with mounts is of version 2, so that a runtime that knows none refuses it, and asks no other plugin.
        selected: a TopicCreationPolicy applies that the Connector does not name.
        registered: PLAN only: the Connector has had a valid plan before (KIP-158, `topic.creation.enable`).
    """

    called: ClassVar = "a job"

    api_version: Literal["penstock.dev/job/v1", "penstock.dev/job/v2"] = "penstock.dev/job/v1"
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
        """The same request to a pod with these mounts."""
        version = "penstock.dev/job/v2" if mounts else "penstock.dev/job/v1"
        return self.model_copy(update={"mounts": tuple(mounts), "api_version": version})


class Outcome(StrEnum):
    """The outcome of a job.

    DONE: the work is done.
    INVALID: the configuration is wrong. A retry does not help until it, or a secret that it names, changes.
    UNAVAILABLE: Kafka, or another prerequisite, cannot be reached or refuses. Retry later.
    SUPERSEDED: the connector was started elsewhere, or since this was asked for; nothing was done.
    REFUSED: the offsets stay as they are: the plugin does not agree, or the consumer group has members. Of LIST_OFFSETS:
        they are too many.
    FAILED: anything else, such as a fault of a plugin or of Penstock.
    """

    DONE = "Done"
    INVALID = "Invalid"
    UNAVAILABLE = "Unavailable"
    SUPERSEDED = "Superseded"
    REFUSED = "Refused"
    FAILED = "Failed"


class JobProblem(Part):
    """A problem or a warning: the property (names of `spec.config` without that prefix), and what to do."""

    property: str
    message: str

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The same problem as a part of an answer."""
        return cls(property=problem.property, message=problem.message)

    def __str__(self) -> str:
        return f"{self.property}: {self.message}" if self.property else self.message


class PlanAnswer(Part):
    """A validated configuration, split into tasks.

    Attributes:
        kind: `source` or `sink`.
        class_name: the alias of the connector's class.
        version: the connector plugin's own version.
        exactly_once: whether it delivers exactly once.
        tasks: task specs of no incarnation yet (see `PodIdentity.apply_to`), with references in place of secrets.
        split: the hash of what the plugin gave each task; with another one, a part of the source may be another task's.
    """

    kind: Literal["source", "sink"]
    class_name: str
    version: str
    exactly_once: bool = False
    tasks: tuple[TaskSpec, ...] = ()
    split: str = Field(default="", exclude_if=lambda v: not v)


class JobAnswer(Part):
    """The answer of a job pod.

    Attributes:
        id: of the request.
        outcome: of the job.
        message: a sentence without secrets, for every outcome but INVALID, and DONE of PLAN and PREPARE.
        problems: INVALID: all problems of the configuration.
        warnings: for the author of the connector.
        plan: of a PLAN that is DONE.
        epoch: of a prepared plan.
        offsets: of a LIST_OFFSETS that is DONE: KIP-875's JSON, at most `LIST_BYTES` as UTF-8. They are shown as Kafka holds
            them.
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
