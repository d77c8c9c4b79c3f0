"""Decide the actions for a Connector from one observation of it. Pure; the table of tests is its specification.

This code keeps no state, does not wait and writes nothing: the same observation gives the same decision, and after a
decision was carried out, the next observation requires no action.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from penstock_model.resources.connector import State
from penstock_operator.connector.decide.autoscaling.step import autoscaling_step
from penstock_operator.connector.decide.config_check import known_config
from penstock_operator.connector.decide.disabled_topic_creation import with_last_plan_requested
from penstock_operator.connector.decide.executors.step import executors_step
from penstock_operator.connector.decide.held_template import (
    hashes_of_present_pods,
    is_template_refused,
    without_new_pods,
)
from penstock_operator.connector.decide.log_level import log_level_to_write
from penstock_operator.connector.decide.offsets_step import OffsetsStep, offsets_step
from penstock_operator.connector.decide.plan_rules import adopt_and_run
from penstock_operator.connector.decide.plan_step import plan_tasks
from penstock_operator.connector.decide.release_rollout import rollout_progress
from penstock_operator.connector.decide.restart_requests import RestartRequests, kept_actions, restart_requests
from penstock_operator.connector.decide.step_outcome import StepOutcome, pod_names, soonest, together, waiting
from penstock_operator.connector.decide.stopped_or_deleted import deleting, stopped, without_tasks
from penstock_operator.connector.decide.task_set import without_lost_preparation
from penstock_operator.connector.decide.topics_reset import TopicsReset, reset_topics
from penstock_operator.connector.decide.used_tokens import newly_used
from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import FailedJob
from penstock_operator.connector.model.plans import PodHashOf
from penstock_operator.connector.model.pod_status import Phase
from penstock_operator.connector.model.verdict import Kind, Pending, Verdict
from penstock_operator.reasons import Reason

__all__ = ["decide"]

_LOOK: Final = 2.0
_OWNER_LOOK: Final = 10.0
"""Seconds until the next check of a name's owner, whose deletion may cause no event."""


def decide(observed: Observation, pod_hash: PodHashOf) -> Decision:
    """Return the decision.

    Args:
        observed: the Connector and its surroundings at one moment.
        pod_hash: returns the hash that a task's pod must have.
    """
    outcome = _outcome(observed, pod_hash)
    offsets, finalizer, is_deleted = OffsetsStep(outcome.persisted), outcome.finalizer, observed.deleting is not None
    topics = TopicsReset(outcome.persisted)
    if not is_deleted:
        offsets = offsets_step(observed, outcome.persisted)
        topics = reset_topics(observed, offsets.persisted)
        # The finalizer stays while deletion must reset offsets that are this Connector's.
        wanted = observed.connector.spec.deletion.offsets == "Reset" and observed.name.refusal is None
        finalizer = None if wanted == observed.has_finalizer else wanted
    executors = executors_step(observed, outcome, pod_hash)
    autoscaling = autoscaling_step(observed, outcome, executors)
    return Decision(
        save=outcome.save,
        persisted=replace(
            topics.persisted,
            reconfiguration=observed.requested.reconfiguration,
            autoscaling=autoscaling.persisted,
        ),
        verdict=outcome.verdict,
        config=outcome.config,
        state=outcome.state,
        plan=outcome.plan,
        pending=outcome.pending,
        finalizer=finalizer,
        publish=offsets.publish,
        delete=tuple(dict.fromkeys((*outcome.delete, *offsets.delete))),
        create=(*outcome.create, *offsets.create),
        drop=outcome.drop,
        claim=observed.name.refusal is None and not is_deleted,
        control_state=outcome.control_state,
        forget=outcome.forget,
        topics_reset=topics.mark,
        log_level=log_level_to_write(observed),
        used_tokens=() if is_deleted else newly_used(observed, topics.persisted, topics.mark),
        executors=executors,
        autoscaling=autoscaling,
        requeue_after=soonest(
            offsets.requeue_after,
            topics.requeue_after,
            outcome.requeue_after,
            executors.requeue_after,
            autoscaling.requeue_after,
        ),
        queued=offsets.queued or outcome.queued,
        rollout=outcome.rollout,
    )


def _outcome(observed: Observation, pod_hash: PodHashOf) -> StepOutcome:
    """Return the outcome of the steps that apply to the Connector's state."""
    for check in _BEFORE_TASKS:
        if (outcome := check(observed)) is not None:
            return outcome
    if is_template_refused(observed):
        return _with_refused_template(observed)
    return _without_restarts(observed, pod_hash) or _running(observed, pod_hash)


def _being_deleted(observed: Observation) -> StepOutcome | None:
    """Stop the tasks of a deleted Connector, reset its offsets if that is requested, and remove its finalizer."""
    return None if observed.deleting is None else deleting(observed)


def _name_of_another(observed: Observation) -> StepOutcome | None:
    """Run nothing if its Connect name belongs to another Connector."""
    if observed.name.refusal is None:
        return None
    refused = without_tasks(observed, Verdict(Kind.STALLED, *observed.name.refusal), "Failed")
    return replace(refused, requeue_after=_OWNER_LOOK)


def _asked_to_stop(observed: Observation) -> StepOutcome | None:
    """Stop the tasks if `spec.state` is Stopped."""
    return stopped(observed) if observed.connector.spec.state is State.STOPPED else None


def _in_a_namespace_that_ends(observed: Observation) -> StepOutcome | None:
    """Do nothing if its namespace is being deleted: no object can be created there, and the Connector is deleted soon."""
    if not observed.namespace_ends:
        return None
    verdict = Verdict(Kind.IN_PROGRESS, Reason.NAMESPACE_TERMINATING, "its namespace is being deleted")
    return StepOutcome(persisted=observed.persisted, verdict=verdict, config=known_config(observed), state="Stopping")


def _offsets_in_use(observed: Observation) -> StepOutcome | None:
    """Wait while a pod may be changing its offsets, so that no task starts."""
    if not (busy := observed.pods_changing_offsets):
        return None
    message = f"the tasks wait for {pod_names(busy)}, which {'is' if len(busy) == 1 else 'are'} changing the offsets"
    return waiting(observed, Reason.WAITING, message, requeue_after=_LOOK)


def _pods_of_an_earlier_one(observed: Observation) -> StepOutcome | None:
    """Wait while pods of an earlier Connector of this name exist."""
    if not observed.pods.foreign:
        return None
    message = f"pods of an earlier Connector of this name still exist: {', '.join(sorted(observed.pods.foreign))}"
    return waiting(observed, Reason.WAITING, message, requeue_after=_LOOK)


def _records_of_an_earlier_one(observed: Observation) -> StepOutcome | None:
    """Remove records of an earlier Connector of this name from Kafka, if that is possible now."""
    if not observed.records.has_stale or observed.records.trouble is not None:
        return None
    message = "records of an earlier Connector of this name are being removed"
    return waiting(observed, Reason.WAITING, message, requeue_after=_LOOK, forget=True)


_BEFORE_TASKS: Final[tuple[Callable[[Observation], StepOutcome | None], ...]] = (
    _being_deleted,
    _name_of_another,
    _asked_to_stop,
    _in_a_namespace_that_ends,
    _offsets_in_use,
    _pods_of_an_earlier_one,
    _records_of_an_earlier_one,
)
"""Checks before the steps for tasks. Each returns its outcome, or None if it does not apply; the first outcome counts."""


def _running(observed: Observation, pod_hash: PodHashOf) -> StepOutcome:
    persisted = without_lost_preparation(observed)
    annotations = observed.connector.metadata.annotations
    restarts = restart_requests(annotations, persisted, running=True, tasks=persisted.tasks, now=observed.now)
    persisted = replace(persisted, handled=kept_actions(annotations, persisted, restarts.handled))
    if restarts.all:  # planned again; its tasks start from the beginning with that plan
        persisted = replace(persisted, job=FailedJob())
    observed = replace(observed, persisted=persisted)
    planning = plan_tasks(observed)
    observed = with_last_plan_requested(observed, planning)
    tasks = adopt_and_run(observed, pod_hash, restarts, planning)
    outcome = together(planning, tasks, rollout_progress(observed, pod_hash, tasks))
    outcome = _with_policy_problem(observed, outcome)
    if restarts.all:  # the next run requests another plan: no pod is created for this one
        outcome = replace(outcome, create=())
    if restarts.handled:  # planning uses the restarts in the status
        outcome = replace(outcome, requeue_after=0.0)
    return outcome


def _with_policy_problem(observed: Observation, outcome: StepOutcome) -> StepOutcome:
    """Report in the outcome that a change of policies is not applied to a source, which keeps the last good rules."""
    problem, last = observed.requested.policy.problem, observed.plan(observed.persisted.plan)
    if problem is None or observed.requested.policy.blocks or outcome.pending is not None:
        return outcome
    if last is not None and last.kind == "sink":  # creates no topics
        return outcome
    return replace(outcome, pending=Pending(problem.reason, f"{problem.message}; the last good rules stay in use"))


def _without_restarts(observed: Observation, pod_hash: PodHashOf) -> StepOutcome | None:
    """Keep tasks running while the status topic loses records, since they might not start again; None: this does not apply.

    A lost task is replaced by an identical one. The requested changes are applied once the topic is compacted, or
    immediately if no task is running.
    """
    persisted, annotations = observed.persisted, observed.connector.metadata.annotations
    last = observed.plan(persisted.plan)
    if not observed.records.topic_fault or last is None or not observed.is_prepared(last):
        return None
    if all(p.phase is Phase.ENDED for p in observed.pods.tasks):
        return None
    planning, present = plan_tasks(observed), hashes_of_present_pods(observed)
    asked = restart_requests(annotations, persisted, running=True, tasks=persisted.tasks, now=observed.now)
    plan = planning.plan
    is_other = plan is not None and (
        plan.hash != last.hash or any(pod_hash(plan, n) != present(plan, n) for n in range(len(plan.tasks)))
    )
    if not asked.handled and not is_other:
        return None
    tasks = adopt_and_run(observed, present, RestartRequests(later=True), replace(planning, plan=None))
    text = f"no task is restarted until the status topic is compacted: {observed.records.topic_fault}"
    tasks = replace(tasks, pending=Pending(Reason.STATUS_TOPIC_NOT_COMPACTED, text))
    return together(planning, tasks, rollout_progress(observed, pod_hash, tasks))


def _with_refused_template(observed: Observation) -> StepOutcome:
    """Create no pods while the template is refused. A restart waits for an acceptable template."""
    persisted, pod_hash = observed.persisted, hashes_of_present_pods(observed)
    persisted = replace(persisted, handled=kept_actions(observed.connector.metadata.annotations, persisted, ()))
    observed = replace(observed, persisted=persisted)
    planning = plan_tasks(observed)
    last = planning.plan or observed.plan(persisted.plan)
    if last is not None and not observed.is_prepared(last):
        return planning  # a set of tasks that has not been prepared keeps waiting
    tasks = without_new_pods(adopt_and_run(observed, pod_hash, RestartRequests(later=True), planning))
    return together(planning, tasks, rollout_progress(observed, pod_hash, tasks))
