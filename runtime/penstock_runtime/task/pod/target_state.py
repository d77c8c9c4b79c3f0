"""What a running task is to do: the higher generation of its life and of the control record. Pure."""

from dataclasses import dataclass

from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.task_reports import Control
from penstock_model.contracts.task_spec import TaskState

__all__ = ["Wanted"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A target state, and the Connector's generation that asks for it."""

    connector_uid: str
    generation: int
    state: TaskState

    @classmethod
    def of(cls, life: PodIdentity) -> "Wanted":
        """What a life begins with."""
        return cls(life.connector_uid, life.connector_generation, life.state)

    def told(self, control: Control | None) -> "Wanted":
        """After a control record; one of another Connector, or of no higher generation, changes nothing."""
        if control is None or control.connector_uid != self.connector_uid or control.generation <= self.generation:
            return self
        return Wanted(self.connector_uid, control.generation, control.state)
