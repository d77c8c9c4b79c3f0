"""The plan for what is asked now, or what is done to come to one. Pure."""

from dataclasses import replace
from typing import Final

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_operator.connector.decide import job_step
from penstock_operator.connector.decide.decision import (
    CreateJob,
    Decision,
    job_facts,
    known_flaws,
    refused,
    unknown,
    valid,
    waiting,
)
from penstock_operator.connector.decide.refused_pods import of_plan, pause
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.observe.pod_status import JobPod
from penstock_operator.connector.plans import Plan
from penstock_operator.connector.render.conditions import Kind, Verdict
from penstock_operator.connector.render.names import plan_name
from penstock_operator.reasons import Reason

__all__ = ["planned"]

_UNWATCHED_AGAIN: Final = 60.0
"""Where Secrets are not watched, nobody tells that one has come which a refused configuration named."""
_STARTING: Final = Verdict(Kind.UNDER_WAY, Reason.STARTING, "the tasks are about to start")


def planned(facts: Observation) -> tuple[Plan | None, Decision]:
    """The plan, and a decision that what runs is added to; without a plan, what is done to come to one."""
    memory = facts.memory
    if flaws := known_flaws(facts):
        found = refused(facts, replace(memory, refused="", refusal=()), flaws)
        return None, replace(found, delete=_jobs(facts))
    known = facts.plan(facts.due)
    if known is None:
        kept = facts.refusals.get(of_plan(plan_name(facts.connector.metadata.name, facts.due)))
        if kept is not None and (left := pause(kept, facts.now)) > 0:
            found = waiting(facts, kept.reason, kept.message, again=left)
            return None, replace(found, delete=_jobs(facts))
        known = facts.split()
    if known is not None:
        memory = replace(memory, refused="", refusal=())
        if known.hash == facts.due:
            return known, Decision(memory, _STARTING, valid(facts, known), "Pending", plan=known)
        known = known.shaped(facts.shape)  # the same tasks: nobody need be asked
        return known, Decision(memory, _STARTING, valid(facts, known), "Pending", plan=known, save=(known,))
    if memory.refused == facts.due:
        found = _missing(facts, refused(facts, memory, memory.refusal))
        again = _UNWATCHED_AGAIN if facts.secrets.names and facts.secrets.hash is None else None
        return None, replace(found, delete=_jobs(facts), again=again)
    plan, found = _by_job(facts)
    return plan, _missing(facts, found)


def _missing(facts: Observation, found: Decision) -> Decision:
    """What a missing Secret comes to: it may be on its way, so that nobody is called; the rest is told with it."""
    secrets = facts.secrets
    if not secrets.missing:
        return found
    reason = Reason.WORKER_SECRET_MISSING if secrets.worker_missing else Reason.SECRET_MISSING
    told = list(secrets.missing)
    if found.config.valid is False:
        told += (p for p in facts.memory.refusal if "${secret:" not in p)
    return replace(found, verdict=Verdict(Kind.UNDER_WAY, reason, "; ".join(told)), state="Pending")


def _by_job(facts: Observation) -> tuple[Plan | None, Decision]:
    due = facts.due
    alive = any(p.lives(facts.now, facts.patience) for p in facts.task_pods)
    step = job_step.step(job_facts(facts, Action.PLAN, due))
    memory = replace(facts.memory, job=step.memory)
    if step.answer is None:
        config = unknown("is being checked")
        found = waiting(facts, step.reason, step.message, memory=memory, again=step.again, config=config)
        # Where no task lives, and none may come meanwhile, the same pod may shut out those that were.
        prepare = not alive and not _goes_on(facts) and not facts.name_unseen
        create = () if step.create is None else (CreateJob(step.create, Action.PLAN, due, prepare=prepare),)
        if create and prepare:  # whichever plan comes next: this pod may shut out its tasks
            found = replace(found, memory=replace(memory, fence=""))
        return None, replace(found, create=create, delete=step.delete, queued=step.queued)
    if step.answer.outcome is Outcome.INVALID or step.answer.plan is None:
        problems = tuple(map(str, step.answer.problems)) or (step.answer.message or "the plugin refuses it",)
        found = refused(facts, replace(memory, refused=due, refusal=problems), problems)
        return None, replace(found, delete=step.delete)
    plan = _plan(facts, step.answer)
    memory = replace(memory, refused="", refusal=())
    if step.answer.standing is not None and not alive:
        memory = replace(memory, standing=step.answer.standing, fence=plan.fence(facts.connector.connect_name))
    return plan, Decision(memory, _STARTING, valid(facts, plan), "Pending", plan=plan, save=(plan,), delete=step.delete)


def _goes_on(facts: Observation) -> bool:
    """Whether tasks of the last good plan are run, and replaced, while another is made."""
    last = facts.plan(facts.memory.plan)
    return last is not None and bool(last.tasks) and facts.is_prepared(last)


def _plan(facts: Observation, answer: JobAnswer) -> Plan:
    assert answer.plan is not None
    warnings = tuple(map(str, answer.warnings))
    last = facts.plan(facts.memory.plan)
    return Plan.of(
        facts.asked, facts.shape, answer.plan, warnings, facts.secrets_in_force, facts.memory.restarted, last
    )


def _jobs(facts: Observation) -> tuple[JobPod, ...]:
    """Those that plan. A preparation is of the last good plan, which goes on."""
    return tuple(p for p in facts.job_pods if p.leaving is None and p.action == Action.PLAN)
