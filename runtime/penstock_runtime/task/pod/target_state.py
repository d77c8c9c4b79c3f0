"""The target state of a running task: that of its pod's identity or of the control record, whichever has the higher
generation. Pure.
"""  # noqa: D205 (one sentence)

from dataclasses import dataclass

from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.task_reports import Control
from penstock_model.contracts.task_spec import TaskState

__all__ = ["TargetState"]


@dataclass(frozen=True, slots=True)
class TargetState:
    """A target state, and the Connector's generation that asks for it."""

    connector_uid: str
    generation: int
    state: TaskState

    @classmethod
    def of(cls, identity: PodIdentity) -> "TargetState":
        """The state in which the task of a pod starts."""
        return cls(identity.connector_uid, identity.connector_generation, identity.state)

    def after(self, control: Control | None) -> "TargetState":
        """The state after a control record. One of another Connector, or without a higher generation, changes nothing."""
        if control is None or control.connector_uid != self.connector_uid or control.generation <= self.generation:
            return self
        return TargetState(self.connector_uid, control.generation, control.state)
