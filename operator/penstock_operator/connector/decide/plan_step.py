"""Find the plan for the current request, or decide how to obtain one. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from penstock_model.contracts.job import Action, JobProblem, Outcome, PlanAnswer
from penstock_model.contracts.texts import joined
from penstock_operator.connector.decide import job_step
from penstock_operator.connector.decide.canary import no_canary
from penstock_operator.connector.decide.config_check import invalid, known_problems, unchecked, valid
from penstock_operator.connector.decide.disabled_topic_creation import with_topic_creation_off
from penstock_operator.connector.decide.job_step import JobObservation, JobStep
from penstock_operator.connector.decide.step_outcome import StepOutcome, waiting
from penstock_operator.connector.model.decision import CreateJob
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.pod_status import JobPod
from penstock_operator.connector.model.refused_pods import of_plan, pause
from penstock_operator.connector.model.verdict import Kind, Pending, Verdict
from penstock_operator.names import plan_name
from penstock_operator.reasons import Reason

__all__ = ["plan_tasks"]

_MISSING_AGAIN: Final = 60.0
"""Seconds until a missing policy or PluginVersion is looked up again, in case the event of its creation is lost."""
_UNWATCHED_AGAIN: Final = 60.0
"""Seconds until Secrets of a refused configuration are checked again, if no watch reports new ones."""


def plan_tasks(observed: Observation) -> StepOutcome:
    """Return an outcome with the plan for the current request, or without a plan, with the actions to obtain it.

    If the configuration is refused, the plan may be a revision of the last one (`disabled_topic_creation`).
    """
    outcome, problem = _plan_tasks(observed), observed.requested.policy.problem
    if problem is None or not observed.requested.policy.blocks or outcome.plan is None or outcome.plan.kind != "source":
        return with_topic_creation_off(observed, outcome) if outcome.config.valid is False else outcome
    is_missing = problem.reason == Reason.POLICY_MISSING
    blocked = replace(
        outcome,
        plan=None,
        config=unchecked("takes effect once its TopicCreationPolicies can be applied"),
        verdict=Verdict(Kind.IN_PROGRESS if is_missing else Kind.STALLED, problem.reason, problem.message),
        state="Pending" if is_missing else "Failed",
        requeue_after=_MISSING_AGAIN if is_missing else None,
    )
    return blocked if observed.is_idle else with_topic_creation_off(observed, blocked)


def _plan_tasks(observed: Observation) -> StepOutcome:
    if problems := known_problems(observed):
        persisted = replace(observed.persisted, refused="", refusal=())
        refused = _refused(observed, persisted, problems, delete=_plan_jobs(observed))
        return _with_missing_version(observed, refused, problems)
    stored = observed.plan(observed.requested.hash)
    if stored is not None:
        return _planned(observed, _accepted(observed.persisted), stored)
    refusal = observed.pods.refusals.get(of_plan(plan_name(observed.connector.metadata.name, observed.requested.hash)))
    if refusal is not None and (left := pause(refusal, observed.now)) > 0:
        has_last = observed.plan(observed.persisted.plan) is not None
        pending = Pending(refusal.reason, f"{refusal.message}; the last good configuration stays in use", planning=True)
        return replace(
            waiting(observed, refusal.reason, refusal.message, requeue_after=left),
            delete=_plan_jobs(observed),
            pending=pending if has_last else None,
        )
    if (split := observed.stored_split()) is not None:  # the same tasks, with other pod settings or another policy
        plan = split.revised(observed.requested.pod_settings, observed.requested.policy.effective)
        return _planned(observed, _accepted(observed.persisted), plan, save=(plan,))
    if observed.persisted.refused == observed.requested.hash:
        requeue_after = (
            _UNWATCHED_AGAIN if observed.requested.secrets.names and observed.requested.secrets.hash is None else None
        )
        jobs = _plan_jobs(observed)
        outcome = _refused(
            observed, observed.persisted, observed.persisted.refusal, delete=jobs, requeue_after=requeue_after
        )
    else:
        outcome = _plan_by_job(observed)
    return _with_missing_secrets(observed, outcome)


def _planned(
    observed: Observation,
    persisted: PersistedState,
    plan: Plan,
    *,
    save: tuple[Plan, ...] = (),
    delete: tuple[JobPod, ...] = (),
) -> StepOutcome:
    return StepOutcome(
        persisted=persisted,
        verdict=Verdict(Kind.IN_PROGRESS, Reason.STARTING, "the tasks are about to start"),
        config=valid(observed, plan),
        state="Pending",
        plan=plan,
        save=save,
        delete=delete,
    )


def _refused(
    observed: Observation,
    persisted: PersistedState,
    problems: Sequence[str],
    *,
    delete: tuple[JobPod, ...],
    requeue_after: float | None = None,
) -> StepOutcome:
    """Return the outcome for an invalid configuration, which a user must change."""
    count = f"{len(problems)} problems: " if len(problems) > 1 else ""
    rest = ["the tasks keep the last good configuration"] if observed.pods.tasks else []
    verdict = Verdict(Kind.STALLED, Reason.CONFIG_INVALID, f"{count}{joined(*problems, *rest)}")
    return StepOutcome(
        persisted=persisted,
        verdict=verdict,
        config=invalid(problems),
        state="Failed",
        delete=delete,
        requeue_after=requeue_after,
    )


def _with_missing_version(observed: Observation, outcome: StepOutcome, problems: Sequence[str]) -> StepOutcome:
    """Return the outcome for a missing PluginVersion. It may be created later, so the Connector is not stalled."""
    if not observed.requested.plugin.is_missing or len(problems) > len(observed.requested.plugin.problems):
        return outcome
    verdict = replace(outcome.verdict, kind=Kind.IN_PROGRESS, reason=Reason.PLUGIN_VERSION_MISSING)
    return replace(outcome, verdict=verdict, state="Pending", requeue_after=_MISSING_AGAIN)


def _with_missing_secrets(observed: Observation, outcome: StepOutcome) -> StepOutcome:
    """Return the outcome for missing Secrets. They may be created later, so the Connector is not stalled."""
    secrets = observed.requested.secrets
    if not secrets.missing:
        return outcome
    reason = Reason.WORKER_SECRET_MISSING if secrets.worker_missing else Reason.SECRET_MISSING
    problems = list(secrets.missing)
    if outcome.config.valid is False:
        problems += (p for p in observed.persisted.refusal if "${secret:" not in p)
    return replace(outcome, verdict=Verdict(Kind.IN_PROGRESS, reason, "; ".join(problems)), state="Pending")


def _plan_by_job(observed: Observation) -> StepOutcome:
    """Create a job pod in which the plugin validates the configuration and splits the work into tasks."""
    has_tasks = any(p.lives(observed.now, observed.release.node_timeout) for p in observed.pods.tasks)
    step = job_step.step(JobObservation.of(observed, Action.PLAN, observed.requested.hash))
    persisted, answer = replace(observed.persisted, job=step.persisted), step.answer
    if answer is None:
        return _job_under_way(observed, persisted, step, has_tasks=has_tasks)
    if answer.outcome is Outcome.INVALID or answer.plan is None:
        unoffered = observed.requested.plugin.unoffered
        problems = tuple(_with_unoffered(p, unoffered.get(p.property)) for p in answer.problems)
        problems = problems or (answer.message or "the plugin refuses it without a reason",)
        persisted = replace(persisted, refused=observed.requested.hash, refusal=problems)
        return _refused(observed, persisted, problems, delete=step.delete)
    plan = _plan(observed, answer.plan, tuple(map(str, answer.warnings)))
    persisted = _accepted(persisted)
    if answer.epoch is not None and not has_tasks:
        persisted = replace(persisted, epoch=answer.epoch, fence=plan.fence(observed.connector.connect_name))
    return _planned(observed, persisted, plan, save=(plan,), delete=step.delete)


def _with_unoffered(problem: JobProblem, class_name: str | None) -> str:
    """Return the problem as text, with a hint that no PluginVersion offers this class unless `class_name` is None."""
    if class_name is None:
        return str(problem)
    return joined(str(problem), f"no PluginVersion of this namespace offers {class_name}")


def _job_under_way(observed: Observation, persisted: PersistedState, step: JobStep, *, has_tasks: bool) -> StepOutcome:
    # If no task is running or starting, the planning pod also fences old tasks.
    prepare = not has_tasks and not _last_plan_running(observed) and not observed.name.unknown_cause
    create: tuple[CreateJob, ...] = ()
    if step.create is not None:
        job = CreateJob(step.create, Action.PLAN, observed.requested.hash, prepare=prepare)
        registered = observed.plan(observed.persisted.plan) is not None
        create = (replace(job, policy_selects=observed.requested.policy.selects, registered=registered),)
    if create and prepare:  # this pod may fence the tasks of all plans, so any plan must be prepared again
        persisted = replace(persisted, fence="")
    return StepOutcome(
        persisted=persisted,
        verdict=Verdict(Kind.IN_PROGRESS, step.reason, step.message),
        config=unchecked(
            "is being checked" if step.reason == Reason.PLANNING else f"is not checked yet: {step.message}"
        ),
        state="Pending",
        create=create,
        delete=step.delete,
        requeue_after=step.requeue_after,
        queued=step.queued,
    )


def _last_plan_running(observed: Observation) -> bool:
    """Return whether tasks of the last good plan run, and are replaced if lost, during planning."""
    last = observed.plan(observed.persisted.plan)
    return last is not None and bool(last.tasks) and observed.is_prepared(last)


def _plan(observed: Observation, answer: PlanAnswer, warnings: tuple[str, ...]) -> Plan:
    last = observed.plan(observed.persisted.plan)
    plan = Plan.of(
        observed.requested.inputs_hash,
        observed.requested.pod_settings,
        answer,
        warnings,
        observed.requested.secrets_in_force,
        observed.persisted.restarted,
        last,
        observed.requested.policy.effective,
        observed.requested.plugin.mounts,
        observed.requested.plugin.requests,
    )
    return replace(plan, warnings=(*plan.warnings, *no_canary(observed, last, plan)))


def _accepted(persisted: PersistedState) -> PersistedState:
    """Return the persisted state without a refusal of the configuration."""
    return replace(persisted, refused="", refusal=())


def _plan_jobs(observed: Observation) -> tuple[JobPod, ...]:
    """Return the job pods for planning, without those for preparing: these belong to the last good plan, still in force."""
    return tuple(p for p in observed.pods.jobs if p.leaving is None and p.action == Action.PLAN)
