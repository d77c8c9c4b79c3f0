"""What becomes of a Connector: from everything that is so to what follows. Pure; the table of tests is its specification.

Nothing here remembers, waits or writes: the same facts give the same decision, and a decision that was carried out leads
to facts from which nothing follows.
"""

from dataclasses import replace
from typing import Final

from penstock_model.resources.connector import State
from penstock_operator.connector.decide import holding
from penstock_operator.connector.decide.adoption import followed, running
from penstock_operator.connector.decide.decision import Decision, config_known, waiting
from penstock_operator.connector.decide.earlier_release import taken_over
from penstock_operator.connector.decide.plan_step import planned
from penstock_operator.connector.decide.pod_identity import LifeOf
from penstock_operator.connector.decide.restart_requests import Requests, remembered, requests
from penstock_operator.connector.decide.tasks import to_be_prepared_anew
from penstock_operator.connector.decide.teardown import deleting, stopped, without_tasks
from penstock_operator.connector.decide.unsupported_fields import answered
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.persisted_state import JobMemory
from penstock_operator.connector.render.conditions import Kind, Verdict
from penstock_operator.reasons import Reason

__all__ = ["decide"]

_LOOK: Final = 2.0
_OWNER_LOOK: Final = 10.0


def decide(facts: Observation, life: LifeOf) -> Decision:
    """What follows.

    Args:
        facts: gathered live, at one moment.
        life: what a task's pod must be made from.
    """
    if facts.deleting is not None:
        return deleting(facts)
    found = _standing(facts, life)
    refused = answered(facts.connector.metadata.annotations, found.memory, facts.now)
    found = replace(found, memory=replace(found.memory, offsets=refused))
    # Ours is there as long as deletion is to reset offsets that are this Connector's, and not a moment longer.
    wanted = facts.connector.spec.deletion.offsets == "Reset" and facts.name_refusal is None
    return found if wanted == facts.finalizer else replace(found, finalizer=wanted)


def _standing(facts: Observation, life: LifeOf) -> Decision:
    if facts.name_refusal is not None:
        found = without_tasks(facts, Verdict(Kind.STALLED, *facts.name_refusal), "Failed")
        return replace(found, again=_OWNER_LOOK)  # nobody tells of its end
    if facts.connector.spec.state is State.STOPPED:
        return stopped(facts)
    if facts.namespace_ends:  # nothing can be created there; the Connector goes with it in a moment
        verdict = Verdict(Kind.UNDER_WAY, Reason.NAMESPACE_TERMINATING, "its namespace is being deleted")
        return Decision(facts.memory, verdict, config_known(facts), "Stopping")
    if facts.foreign_pods:
        message = f"pods of an earlier Connector of this name are still there: {', '.join(sorted(facts.foreign_pods))}"
        return waiting(facts, Reason.WAITING, message, again=_LOOK)
    if facts.stale_records and facts.kafka_trouble is None:
        found = waiting(facts, Reason.WAITING, "records of an earlier Connector of this name are removed", again=_LOOK)
        return replace(found, forget=True)
    return _living(facts, life)


def _living(facts: Observation, life: LifeOf) -> Decision:
    if holding.is_held(facts):
        return _held(facts)
    facts, kept = taken_over(facts, life)
    facts = replace(facts, memory=to_be_prepared_anew(facts))
    memory = facts.memory
    annotations = facts.connector.metadata.annotations
    asked = requests(annotations, memory, wanted=True, tasks=memory.tasks, now=facts.now)
    memory = replace(memory, handled=remembered(annotations, memory, asked.handled))
    if asked.all:  # planned anew; its tasks begin anew with that plan
        memory = replace(memory, job=JobMemory())
    facts = replace(facts, memory=memory)
    plan, decision = planned(facts)
    found = followed(facts, life, running(facts, plan, life, asked, decision))
    if kept is not None:
        found = replace(found, save=(kept, *(p for p in found.save if p.hash != kept.hash)))
    if asked.all:  # its plan is another one from the next turn on: no pod is made for this one
        found = replace(found, create=())
    return replace(found, again=0.0) if asked.handled else found  # planning goes by what was handled


def _held(facts: Observation) -> Decision:
    """No pod can be made as its template asks. A restart waits for one that pods may be made from."""
    memory, life = facts.memory, holding.as_they_are(facts)
    memory = replace(memory, handled=remembered(facts.connector.metadata.annotations, memory, ()))
    facts = replace(facts, memory=memory)
    plan, decision = planned(facts)
    last = plan or facts.plan(memory.plan)
    if last is not None and not facts.is_prepared(last):
        return decision  # a set of tasks that is to begin anew waits as it is
    return holding.without_new_pods(followed(facts, life, running(facts, plan, life, Requests(later=True), decision)))
