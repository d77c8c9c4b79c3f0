"""Which rules and limits a Connector's topics are created by, of the TopicCreationPolicy that it names (KIP-158). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from penstock.errors import ConfigError
from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_model.resources.connector import Connector
from penstock_model.resources.effective_policy import effective_policy
from penstock_operator.connector.plans import Plan
from penstock_operator.reasons import Reason

__all__ = ["NO_POLICY", "PolicyProblem", "PolicyResolution", "resolve"]


class PolicyProblem(NamedTuple):
    """Why a policy cannot be applied: a reason and a sentence."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class PolicyResolution:
    """What the policies of the namespace come to for one Connector.

    Attributes:
        effective: what its tasks are to have; None: no policy applies, or none that can be applied.
        problem: why the policy cannot be applied; None: it can, or none is named.
    """

    effective: TopicPolicy | None = None
    problem: PolicyProblem | None = None

    @property
    def blocks(self) -> bool:
        """Whether nothing can be planned, since there are no last good rules either."""
        return self.problem is not None and self.effective is None


NO_POLICY: Final = PolicyResolution()


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
