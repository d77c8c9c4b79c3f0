"""What one step of a decision comes to. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock_model.contracts.task_spec import TaskState
from penstock_operator.connector.decide.config_check import known_config
from penstock_operator.connector.model.decision import CreateJob, CreateTask
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.pod_status import Pod
from penstock_operator.connector.model.verdict import Config, Kind, Pending, Verdict
from penstock_operator.rollout.progress import Progress

__all__ = ["StepOutcome", "pod_names", "soonest", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """What one step of `decide` comes to, in the terms of `Decision`.

    `decide` makes one decision of the outcomes of all steps: what the status says is as of the last step, what is done is
    what any step asks for.
    """

    persisted: PersistedState
    verdict: Verdict
    config: Config
    state: str
    plan: Plan | None = None
    pending: Pending | None = None
    save: tuple[Plan, ...] = ()
    finalizer: bool | None = None
    delete: tuple[Pod, ...] = ()
    create: tuple[CreateJob | CreateTask, ...] = ()
    drop: tuple[str, ...] = ()
    control_state: TaskState | None = None
    forget: bool = False
    requeue_after: float | None = None
    queued: bool = False
    rollout: Progress | None = None

    def then(self, **changes: Any) -> "StepOutcome":
        """The outcome of the next step: what the status says stays but for the changes, what is done is the next step's."""
        status = ("persisted", "verdict", "config", "state", "plan", "pending")
        return StepOutcome(**{**{name: getattr(self, name) for name in status}, **changes})


def waiting(
    observed: Observation, reason: str, message: str, *, requeue_after: float | None = None, forget: bool = False
) -> StepOutcome:
    """Something else must come first."""
    return StepOutcome(
        persisted=observed.persisted,
        verdict=Verdict(Kind.UNDER_WAY, reason, message),
        config=known_config(observed),
        state="Pending",
        requeue_after=requeue_after,
        forget=forget,
    )


def soonest(*seconds: float | None) -> float | None:
    """The shortest of these times; None: nothing need happen by itself."""
    return min((s for s in seconds if s is not None), default=None)


def pod_names(pods: Sequence[Pod]) -> str:
    """The pods' names, for a message."""
    return ", ".join(sorted(p.name for p in pods))
