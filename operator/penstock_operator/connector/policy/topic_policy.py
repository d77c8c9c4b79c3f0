"""Which rules and limits a Connector's topics are created by, of the TopicCreationPolicy that it names (KIP-158). Pure."""

from collections.abc import Mapping
from typing import Any

from penstock.errors import ConfigError
from penstock_model.resources.connector import Connector
from penstock_model.resources.effective_policy import effective_policy
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.resolutions import NO_POLICY, PolicyProblem, PolicyResolution
from penstock_operator.reasons import Reason

__all__ = ["resolve"]


def resolve(connector: Connector, found: Mapping[str, Any] | None, last: Plan | None) -> PolicyResolution:
    """What the policy that a Connector names comes to. One that is gone or was broken leaves the last good rules in force.

    Args:
        connector: the resource.
        found: the policy of that name; None: there is none.
        last: the plan that its tasks are made from.
    """
    named = connector.spec.topic_creation_policy
    if named is None:
        return NO_POLICY
    known = last.policy if last is not None else None
    good = known if known is not None and known.rules.policy == named.name else None
    what = f"the TopicCreationPolicy {named.name}"
    if found is None:
        message = f"{what} is not in this namespace; create it, or name another in spec.topicCreationPolicy"
        return PolicyResolution(good, PolicyProblem(Reason.POLICY_MISSING, message))
    try:
        return PolicyResolution(effective_policy(found))
    except ConfigError as e:
        message = f"{what} cannot be applied: {'; '.join(map(str, e.problems))}"
        return PolicyResolution(good, PolicyProblem(Reason.POLICY_INVALID, message))
