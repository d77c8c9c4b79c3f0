"""What a task pod is told besides its task spec: which life of the task this is. A contract with its own version. Pure."""

import uuid
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from penstock.errors import ConfigError, Problem
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_spec import TaskSpec, TaskState

__all__ = ["PodIdentity", "Standing"]

_OWNER: Final = "@"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Standing(_Part):
    """A plan's place among the plans of its connector (`TaskSpec.generation`, `TaskSpec.plan`): the greater one fences.

    Made by whoever shut out the tasks of earlier plans.

    Attributes:
        generation: greater than those of all plans before it.
        plan: unique, which tells two plans of one generation apart; what an operator had prepared ends with its owner.
    """

    generation: int
    plan: str

    @classmethod
    def of_owner(cls, generation: int, owner: str = "") -> Self:
        """A new plan's place.

        Args:
            generation: of the plan.
            owner: the mark of the Connector that it is prepared for (`JobRequest.owner`); empty: of no Connector.
        """
        plan = uuid.uuid4().hex
        return cls(generation=generation, plan=f"{plan}{_OWNER}{owner}" if owner else plan)

    @property
    def owner(self) -> str:
        """The mark of the Connector that it was prepared for; empty: of none, or by an earlier release."""
        return self.plan.partition(_OWNER)[2]

    def is_after(self, other: "Standing") -> bool:
        """Whether the tasks of the other one leave when they find this one."""
        return (self.generation, self.plan) > (other.generation, other.plan)


class PodIdentity(_Part):
    """One life of one task, in a pod.

    Attributes:
        connector_uid: of the Connector resource; reports carry it, control records of another uid are not for us.
        connector_generation: `metadata.generation` for which the pod was made; a control record of a higher one wins.
        standing: the plan's.
        incarnation: the lives of this task, counted over all plans.
        token: unique per life.
        state: what to do from the first moment on.
        status: what the operator had read of the status topic when it made the pod.
    """

    api_version: Literal["penstock.dev/life/v1"] = "penstock.dev/life/v1"
    connector_uid: str
    connector_generation: int
    standing: Standing
    incarnation: int = Field(ge=1)
    token: str
    state: TaskState = TaskState.RUNNING
    status: StatusSnapshot | None = Field(default=None, exclude_if=lambda v: v is None)

    def apply_to(self, spec: TaskSpec) -> TaskSpec:
        """The task spec of this life."""
        live = spec.for_incarnation(
            generation=self.standing.generation,
            incarnation=self.incarnation,
            token=self.token,
            plan=self.standing.plan,
        )
        return live.model_copy(update={"state": self.state, "status": self.status})

    def to_json(self) -> str:
        """As the environment variable holds it."""
        return self.model_dump_json(by_alias=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read it.

        Raises:
            ConfigError: not a life of this version.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as e:
            raise ConfigError(
                Problem(".".join(map(str, error["loc"])), f"not a life that this runtime reads: {error['msg']}")
                for error in e.errors(include_url=False, include_input=False)
            ) from None
