"""What the operator asks of a short pod, and what that answers: contracts with their own versions. Pure.

A short pod holds the plugins and the secrets, which the operator never sees. It answers in one line of its standard
output (`answer_line`), which holds references in the place of secrets.
"""

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from penstock.errors import ConfigError, Problem
from penstock_model.contracts.pod_identity import Standing
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_spec import TaskSpec

__all__ = ["Action", "JobAnswer", "JobProblem", "JobRequest", "Outcome", "PlanAnswer"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Action(StrEnum):
    """What a short pod does.

    PLAN: validate the connector and split it into tasks; with `JobRequest.prepare`, PREPARE after it.
    PREPARE: make the internal topics, shut out every task of earlier plans, and say the new plan's standing.
    RESET_OFFSETS: forget a connector's offsets (a source's records in the offsets topic, a sink's consumer group).
    """

    PLAN = "Plan"
    PREPARE = "Prepare"
    RESET_OFFSETS = "ResetOffsets"


class JobRequest(_Part):
    """One piece of work.

    Attributes:
        action: what to do.
        id: echoed in the answer; tells answers of older requests apart.
        connector: the Connector as a document (`apiVersion`, `kind`, `metadata` with name, namespace, uid, generation;
            `spec`), as its user wrote it.
        worker: the worker configuration, variables unresolved.
        secrets_dir: where `${secret:<name>:<key>}` is found.
        prepare: PLAN only: no task of the connector is alive, so prepare as well.
        task: PREPARE only: the first task of the plan.
        status: what the operator has read of the status topic; None: the pod reads all of it.
        owner: the mark of the Connector among all that use this Kafka, for `Standing.owner`; a short pod of an earlier
            release passes over it.
    """

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

    def to_json(self) -> str:
        """As the file holds it."""
        return self.model_dump_json(by_alias=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read it.

        Raises:
            ConfigError: not a request of this version; no value is shown.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as e:
            raise ConfigError(
                Problem(".".join(map(str, error["loc"])), f"not a job that this runtime reads: {error['msg']}")
                for error in e.errors(include_url=False, include_input=False)
            ) from None


class Outcome(StrEnum):
    """How it went.

    DONE: as asked.
    INVALID: the configuration is wrong; nothing helps until it (or a secret that it names) changes.
    UNAVAILABLE: Kafka, or something else that is needed, cannot be reached or refuses; try again later.
    SUPERSEDED: somebody else runs a connector of this name at this moment.
    FAILED: anything else, such as a fault of a plugin or of ours.
    """

    DONE = "Done"
    INVALID = "Invalid"
    UNAVAILABLE = "Unavailable"
    SUPERSEDED = "Superseded"
    FAILED = "Failed"


class JobProblem(_Part):
    """A problem or a warning: the property (`spec.config` names stand without a prefix), and what to do."""

    property: str
    message: str

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The same, for the wire."""
        return cls(property=problem.property, message=problem.message)

    def __str__(self) -> str:
        return f"{self.property}: {self.message}" if self.property else self.message


class PlanAnswer(_Part):
    """A validated configuration, split into tasks.

    Attributes:
        kind: `source` or `sink`.
        class_name: the alias of the connector's class.
        version: the connector plugin's own version.
        exactly_once: whether it delivers so.
        tasks: not alive yet (`PodIdentity.apply_to`), secrets as references.
        answers_health: whether this runtime's tasks answer at `pod_layout.HEALTH_PATH` and `READY_PATH`.
    """

    kind: Literal["source", "sink"]
    class_name: str
    version: str
    exactly_once: bool = False
    tasks: tuple[TaskSpec, ...] = ()
    answers_health: bool = Field(default=False, exclude_if=lambda v: not v)


class JobAnswer(_Part):
    """What came of it.

    Attributes:
        id: the request's.
        outcome: in a word.
        message: in a sentence, for everything but DONE and INVALID; no secret in it.
        problems: INVALID: everything that is wrong, at once.
        warnings: what the connector's author should know.
        plan: PLAN, DONE.
        standing: of a prepared plan.
    """

    api_version: Literal["penstock.dev/answer/v1"] = "penstock.dev/answer/v1"
    id: str
    action: Action
    outcome: Outcome
    message: str = ""
    problems: tuple[JobProblem, ...] = ()
    warnings: tuple[JobProblem, ...] = ()
    plan: PlanAnswer | None = None
    standing: Standing | None = None
