"""Identity of a task pod: its incarnation and epoch, separate from the task spec. A contract with a version. Pure."""

import uuid
from typing import ClassVar, Final, Literal, Self

from pydantic import Field

from penstock_model.contracts.base import Document, Part
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_spec import TaskSpec, TaskState

__all__ = ["PlanEpoch", "PodIdentity"]

_OWNER: Final = "@"
_YIELDS: Final = "!"
"""First character of the ID of a plan that yields; it sorts before all hexadecimal digits."""


class PlanEpoch(Part):
    """Plan generation and plan id (`TaskSpec.generation`, `TaskSpec.plan`). Tasks of a greater epoch supersede others.

    The process that fences the tasks of earlier plans creates it.

    Attributes:
        generation: greater than those of all earlier plans.
        plan: a unique ID, so that two plans of one generation differ. It ends with the owner, if an operator requested it.
            IDs of plans without tasks sort before those of plans with tasks.
    """

    generation: int
    plan: str

    @classmethod
    def of_owner(cls, generation: int, owner: str = "", *, yields: bool = False) -> Self:
        """Return the epoch of a new plan.

        Args:
            generation: generation of the plan.
            owner: owner id of the Connector that it is prepared for (`JobRequest.owner`); empty for none.
            yields: whether it yields to all plans of the same generation that have tasks.
        """
        plan = f"{_YIELDS}{uuid.uuid4().hex}" if yields else uuid.uuid4().hex
        return cls(generation=generation, plan=f"{plan}{_OWNER}{owner}" if owner else plan)

    @property
    def owner(self) -> str:
        """Return the owner for which it was prepared, or an empty string."""
        return self.plan.partition(_OWNER)[2]

    def is_after(self, other: "PlanEpoch") -> bool:
        """Return whether tasks of this epoch supersede those of the other one."""
        return other < self

    def __lt__(self, other: "PlanEpoch") -> bool:
        return (self.generation, self.plan) < (other.generation, other.plan)


class PodIdentity(Document):
    """One incarnation of a task, in a pod.

    Attributes:
        connector_uid: uid of the Connector resource. Reports contain it; control records of another uid are ignored.
        connector_generation: the `metadata.generation` for which the pod was created. A control record of a higher one
            overrides `state`.
        epoch: epoch of the plan.
        incarnation: counted over all plans of the connector.
        token: unique for each incarnation.
        state: state in which the task starts.
        status: records that the operator had read from the status topic when it created the pod.
    """

    called: ClassVar = "a pod identity"

    api_version: Literal["penstock.dev/pod-identity/v1"] = "penstock.dev/pod-identity/v1"
    connector_uid: str
    connector_generation: int
    epoch: PlanEpoch
    incarnation: int = Field(ge=1)
    token: str
    state: TaskState = TaskState.RUNNING
    status: StatusSnapshot | None = Field(default=None, exclude_if=lambda v: v is None)

    def apply_to(self, spec: TaskSpec) -> TaskSpec:
        """Return the task spec of this incarnation."""
        started = spec.for_incarnation(
            generation=self.epoch.generation,
            incarnation=self.incarnation,
            token=self.token,
            plan=self.epoch.plan,
        )
        return started.model_copy(update={"state": self.state, "status": self.status})
