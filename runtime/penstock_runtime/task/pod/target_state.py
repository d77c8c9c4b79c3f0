"""Target state of a running task: from its pod's identity or the control record, whichever has the higher generation."""

from dataclasses import dataclass

from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.task_reports import Control
from penstock_model.contracts.task_spec import TaskState

__all__ = ["TargetState"]


@dataclass(frozen=True, slots=True)
class TargetState:
    """Target state, and the Connector's generation that requests it."""

    connector_uid: str
    generation: int
    state: TaskState

    @classmethod
    def of(cls, identity: PodIdentity) -> "TargetState":
        """Return the state in which the task of a pod starts."""
        return cls(identity.connector_uid, identity.connector_generation, identity.state)

    def after(self, control: Control | None) -> "TargetState":
        """Return the state after a control record, which counts only if it is of this Connector and a higher generation."""
        if control is None or control.connector_uid != self.connector_uid or control.generation <= self.generation:
            return self
        return TargetState(self.connector_uid, control.generation, control.state)
