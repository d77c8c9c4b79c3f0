"""Disable topic creation (KIP-158) for a Connector whose own change is refused. Pure.

The tasks of such a Connector keep the last good plan, which contains an earlier worker configuration. A release sets
`topic.creation.enable: false` for security, so the setting must apply to these tasks, too: their plan is revised. The
revision counts as a change of the release, which waits for the rollout's permission.
"""

from dataclasses import replace

from penstock_operator.connector.decide.held_template import is_template_refused
from penstock_operator.connector.decide.step_outcome import StepOutcome
from penstock_operator.connector.model.observation import Observation

__all__ = ["with_last_plan_requested", "with_topic_creation_off"]


def with_topic_creation_off(observed: Observation, outcome: StepOutcome) -> StepOutcome:
    """Return the outcome of planning with the revised last plan if it must be revised, otherwise the same outcome.

    Args:
        observed: the Connector.
        outcome: outcome of planning, without a plan.
    """
    last = observed.plan(observed.persisted.plan)
    if observed.release.creates_topics or last is None or last.kind != "source":
        return outcome
    if is_template_refused(observed):  # no pod can be created
        return outcome
    revised = last.without_topic_creation()
    if revised is last and observed.persisted.rollout is None:  # the restart for it is complete
        return outcome
    stored = observed.plan(revised.hash)
    return replace(outcome, plan=stored or revised, save=(*outcome.save, *(() if stored is not None else (revised,))))


def with_last_plan_requested(observed: Observation, planning: StepOutcome) -> Observation:
    """Return the observation with the revised last plan as the requested one, if planning resulted in that plan."""
    if planning.plan is None or planning.config.valid is True:
        return observed
    requested = replace(observed.requested, own_hash=observed.persisted.own_hash, hash=planning.plan.hash)
    return replace(observed, requested=requested)
