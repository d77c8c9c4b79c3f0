"""Choice between the last good plan and the requested one, according to the rules in `plan_rules`. Pure."""

from dataclasses import dataclass, replace

from penstock_operator.connector.decide.canary import Canary
from penstock_operator.connector.decide.held_template import hashes_of_present_pods
from penstock_operator.connector.decide.restart_requests import RestartRequests
from penstock_operator.connector.decide.step_outcome import StepOutcome, soonest
from penstock_operator.connector.decide.task_set import run_tasks
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.plans import Plan, PodHashOf
from penstock_operator.rollout.progress import RolloutRestart

__all__ = ["PlanChoice"]


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """Choice between the last good plan and the requested one.

    Attributes:
        observed: the Connector, with its persisted state after planning.
        planning: outcome of planning.
        last: the last good plan; None: there is none.
        plan: the requested plan; None: there is none yet.
        is_last_prepared: whether tasks of the last plan may run; if not, all tasks must be prepared and started.
        is_own: whether the Connector itself has changed; if not, any change is one of the release.
        pod_hash: returns the hash that a task's pod must have.
        pod_hash_now: the same for this run, in which changes of pods may have to wait.
        restarts: restarts requested by annotations.
    """

    observed: Observation
    planning: StepOutcome
    last: Plan | None
    plan: Plan | None
    is_last_prepared: bool
    is_own: bool
    pod_hash: PodHashOf
    pod_hash_now: PodHashOf
    restarts: RestartRequests

    @classmethod
    def of(
        cls, observed: Observation, pod_hash: PodHashOf, restarts: RestartRequests, planning: StepOutcome
    ) -> "PlanChoice":
        """Return the choice for the arguments of `adopt_and_run`."""
        plan, last = planning.plan, observed.plan(observed.persisted.plan)
        is_last_prepared = last is not None and (observed.is_prepared(last) or not last.tasks)
        persisted = planning.persisted
        if not persisted.own_hash and last is not None:  # it was lost: only later changes count
            persisted = replace(persisted, own_hash=observed.requested.own_hash)
        observed = replace(observed, persisted=persisted)
        is_own = observed.is_own_change
        is_checked = planning.config.valid is not None or observed.persisted.job.attempts > 0
        # Apply changes that were made together at the same time: the template waits for the plan of the same change.
        waits = plan is None and is_own and not is_checked
        pod_hash_now = hashes_of_present_pods(observed) if restarts.all or waits else pod_hash
        restarts = replace(restarts, later=restarts.later or waits)
        return cls(observed, planning, last, plan, is_last_prepared, is_own, pod_hash, pod_hash_now, restarts)

    def keep(self, planning: StepOutcome | None = None) -> StepOutcome:
        """Run the last plan, after the outcome of planning or the given one."""
        assert self.last is not None
        return self._run(self.last, self.observed.persisted, planning or self.planning)

    def adopt(self, rollout: RolloutRestart | None = None) -> StepOutcome:
        """Run the requested plan, which becomes the last good one; `rollout` is the restart for a change of the release."""
        assert self.plan is not None
        return self._run(self.plan, _with_adopted(self.observed, self.plan, rollout), self.planning)

    def _run(self, plan: Plan, persisted: PersistedState, planning: StepOutcome) -> StepOutcome:
        if not self.is_own:  # without a change of the Connector there is no canary
            persisted = replace(persisted, canary=None)
        return run_tasks(replace(self.observed, persisted=persisted), plan, self.pod_hash_now, self.restarts, planning)

    def run_canary(self, canary: Canary) -> StepOutcome:
        """Run the first tasks with the canary's plan, and the others with the last one."""
        assert self.last is not None
        observed, persisted = self.observed, self.observed.persisted
        if canary.plan.restarted not in _carried_out(observed, self.last):  # all tasks restart, each with its plan
            persisted = replace(persisted, epoch=None, fence="")
        observed = replace(observed, persisted=persisted)
        outcome = run_tasks(observed, self.last, self.pod_hash_now, self.restarts, self.planning, canary)
        known = canary.persisted_after(persisted.canary, outcome.persisted.tasks)
        duration = observed.connector.spec.rollout.canary_duration.total_seconds()
        left = canary.seconds_left(outcome.persisted.tasks, self.pod_hash, duration, observed.now)
        if self.plan is not None and left is not None and left <= 0:
            return self.adopt()
        return replace(
            outcome,
            persisted=replace(outcome.persisted, canary=known),
            pending=outcome.pending or canary.pending(self.last, known, left, duration),
            requeue_after=soonest(outcome.requeue_after, left if left is not None and left > 0 else None),
        )


def _with_adopted(observed: Observation, plan: Plan, rollout: RolloutRestart | None) -> PersistedState:
    """Return the persisted state with another plan as the last good one."""
    persisted, last = observed.persisted, observed.plan(observed.persisted.plan)
    if last is not None and plan.restarted not in _carried_out(observed, last):  # its tasks must be prepared again
        persisted = replace(persisted, epoch=None, fence="")
    return replace(persisted, plan=plan.hash, own_hash=observed.requested.own_hash, rollout=rollout, canary=None)


def _carried_out(observed: Observation, last: Plan) -> tuple[str, ...]:
    """Return the tokens of completed restarts: those of the last plan and the running canary."""
    canary = observed.plan(observed.persisted.canary.plan) if observed.persisted.canary is not None else None
    return (last.restarted, *([] if canary is None else [canary.restarted]))
