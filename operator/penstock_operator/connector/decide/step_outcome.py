"""Outcome of one step of a decision. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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

__all__ = ["StepOutcome", "pod_names", "soonest", "together", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """Outcome of one step of `decide`, with the fields of `Decision`. `together` combines several outcomes."""

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
        """Return the outcome of the next step: it keeps the status fields that are not changed, and drops the actions."""
        status = ("persisted", "verdict", "config", "state", "plan", "pending")
        return StepOutcome(**{**{name: getattr(self, name) for name in status}, **changes})


def together(*outcomes: StepOutcome) -> StepOutcome:
    """Return the outcome of all these steps: the status fields of the last one, and the actions of all."""
    return replace(
        outcomes[-1],
        save=tuple({p.hash: p for o in outcomes for p in o.save}.values()),
        delete=tuple(dict.fromkeys(p for o in outcomes for p in o.delete)),
        create=tuple(c for o in outcomes for c in o.create),
        drop=tuple(h for o in outcomes for h in o.drop),
        control_state=next((o.control_state for o in reversed(outcomes) if o.control_state is not None), None),
        forget=any(o.forget for o in outcomes),
        requeue_after=soonest(*(o.requeue_after for o in outcomes)),
        queued=any(o.queued for o in outcomes),
    )


def waiting(
    observed: Observation, reason: str, message: str, *, requeue_after: float | None = None, forget: bool = False
) -> StepOutcome:
    """Return the outcome of a Connector that waits for something else."""
    return StepOutcome(
        persisted=observed.persisted,
        verdict=Verdict(Kind.IN_PROGRESS, reason, message),
        config=known_config(observed),
        state="Pending",
        requeue_after=requeue_after,
        forget=forget,
    )


def soonest(*seconds: float | None) -> float | None:
    """Return the shortest of these delays; None: there is none."""
    return min((s for s in seconds if s is not None), default=None)


def pod_names(pods: Sequence[Pod]) -> str:
    """Return `pod a` or `pods a, b`, for a message."""
    return f"{'pod' if len(pods) == 1 else 'pods'} {', '.join(sorted(p.name for p in pods))}"
