"""Which plan a Connector runs: the last good one, until another may take its place. Pure.

A change of the Connector's own is taken up as soon as its plan is there. A change of the release that ends pods waits for a
place among the release's restarts (`rollout.places`); meanwhile everything, lost tasks too, goes by the last plan.
"""

from dataclasses import replace
from typing import Final

from penstock_model.resources.connector import State
from penstock_operator.connector.decide.decision import Decision, valid
from penstock_operator.connector.decide.holding import as_they_are
from penstock_operator.connector.decide.pod_identity import LifeOf
from penstock_operator.connector.decide.restart_requests import Requests
from penstock_operator.connector.decide.tasks import run
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.observe.pod_status import Phase
from penstock_operator.connector.plans import Plan
from penstock_operator.connector.render.conditions import Kind, Pending
from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import ConditionType, Reason
from penstock_operator.rollout.share import Phase as RolloutPhase
from penstock_operator.rollout.share import Place, Record, share

__all__ = ["followed", "running"]

_UNPULLED: Final = frozenset(
    (Reason.ERR_IMAGE_PULL, Reason.IMAGE_PULL_BACK_OFF, Reason.INVALID_IMAGE_NAME, Reason.ERR_IMAGE_NEVER_PULL,
     Reason.REGISTRY_UNAVAILABLE, Reason.IMAGE_INSPECT_ERROR, Reason.SIGNATURE_VALIDATION_FAILED)
)  # fmt: skip


def running(facts: Observation, plan: Plan | None, life: LifeOf, asked: Requests, planned: Decision) -> Decision:
    """What follows for the tasks, of the plan that they are to have now.

    Args:
        facts: with the memory as it was before planning.
        plan: for what is asked now; None: there is none yet.
        life: what a task's pod must be made from.
        asked: restarts.
        planned: what planning does besides, with its memory.
    """
    last = facts.plan(facts.memory.plan)
    goes_on = last is not None and (facts.is_prepared(last) or not last.tasks)
    facts = replace(facts, memory=planned.memory)
    is_own = facts.is_own_change
    is_checked = planned.config.valid is not None or facts.memory.job.attempts > 0
    # What was changed together is done together: the template waits while the plan that belongs to it is first made.
    waits = plan is None and is_own and not is_checked
    tasks = as_they_are(facts) if asked.all or waits else life
    asked = replace(asked, later=asked.later or waits)
    if last is None or not goes_on:
        chosen = plan or last
        return planned if chosen is None else _with(facts, plan, chosen, tasks, asked, planned)
    if plan is None:
        if not is_own and planned.config.valid is None and not facts.secrets.missing:
            text = f"{planned.verdict.message}; the last good configuration goes on"
            pending = Pending(planned.verdict.reason, text, planning=True)
            planned = replace(planned, config=valid(facts, last), pending=pending)
        return _with(facts, None, last, tasks, asked, planned)
    if plan.hash == last.hash or is_own or not _ends_pods(last, plan, life):
        rollout = None if is_own else facts.memory.rollout
        return _with(facts, plan, plan, tasks, asked, planned, rollout)
    if _unpulled(facts):  # there is nothing left to go on with
        return _with(facts, plan, plan, tasks, asked, planned, Record(facts.release, facts.now, counts=False))
    held = _with(facts, None, last, tasks, asked, planned)
    place = _place(facts)
    if not place.free:
        return replace(held, pending=Pending(place.reason, place.message))
    counts = held.verdict.kind is Kind.READY and facts.connector.spec.state is State.RUNNING
    return _with(facts, plan, plan, tasks, asked, planned, Record(facts.release, facts.now, counts))


def followed(facts: Observation, life: LifeOf, found: Decision) -> Decision:
    """What a restart for a change of the release has come to, and what it takes of the release's limit."""
    record, now, limits = found.memory.rollout, facts.now, facts.rollout
    # Something else is asked for by now, perhaps what was before: a worker's Secret is no part of `release`.
    if record is not None and (record.release != facts.release or found.memory.plan != facts.due):
        record = None
    if record is not None and facts.connector.spec.state is not State.RUNNING:
        record = replace(record, counts=False)
    taken = share(
        record, ready_since=_ready_since(facts, found), replaced=_replaced(found, life), now=now, limits=limits
    )
    until = taken.until
    if record is not None and taken.phase is RolloutPhase.RESTING:
        until = record.since + limits.progress_deadline_seconds
        if not record.counts or until <= now:  # what happens later has other reasons
            record = until = None
    pending = found.pending
    taken = replace(
        taken, waits=pending is not None and not pending.planning, planning=pending is not None and pending.planning
    )
    waits = [w for w in (found.again, None if until is None else max(until - now, 0.1)) if w is not None]
    memory = replace(found.memory, rollout=record)
    return replace(found, memory=memory, share=taken, again=min(waits, default=None))


def _with(
    facts: Observation, adopted: Plan | None, chosen: Plan, life: LifeOf, asked: Requests, planned: Decision,
    rollout: Record | None = None,
) -> Decision:  # fmt: skip
    """Run the chosen plan; an adopted one is the last good one from now on."""
    memory = facts.memory
    if adopted is not None:
        last = facts.plan(memory.plan)
        if last is not None and last.restarted != adopted.restarted:  # also its place among earlier plans
            memory = replace(memory, standing=None, fence="")
        memory = replace(memory, plan=adopted.hash, own=facts.own, rollout=rollout)
    return run(replace(facts, memory=memory), chosen, life, asked, replace(planned, memory=memory))


def _ends_pods(last: Plan, plan: Plan, life: LifeOf) -> bool:
    """Whether tasks of one plan cannot go on as those of the other."""
    if len(last.tasks) != len(plan.tasks) or last.fence("") != plan.fence(""):
        return True
    return any(life(last, n) != life(plan, n) for n in range(len(plan.tasks)))


def _unpulled(facts: Observation) -> bool:
    """Whether no task of the last plan runs, since its image can no longer be had."""
    alive = [p for p in facts.task_pods if p.phase is not Phase.ENDED and p.leaving is None]
    return bool(alive) and all(p.hindrance is not None and p.hindrance[0] in _UNPULLED for p in alive)


def _place(facts: Observation) -> Place:
    if facts.kafka_trouble is None:
        return facts.place
    text = "waits until the operator sees again whether tasks are healthy; the last good configuration goes on"
    return Place(False, Reason.ROLLOUT_QUEUED, text)


def _ready_since(facts: Observation, found: Decision) -> float | None:
    if found.verdict.kind is not Kind.READY:
        return None
    before = facts.memory.conditions.get(ConditionType.READY, {})
    since = instant(before.get("lastTransitionTime")) if before.get("status") == "True" else None
    return facts.now if since is None else since


def _replaced(found: Decision, life: LifeOf) -> bool:
    """Whether all pods are of the plan that runs, and have started."""
    if found.plan is None or found.plan.hash != found.memory.plan:
        return False
    tasks = [found.memory.task(n) for n in range(len(found.plan.tasks))]
    return all(t.over or (t.started is not None and t.life == life(found.plan, t.id)) for t in tasks)
