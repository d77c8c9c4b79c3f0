"""Rules and limits for creating a Connector's topics, as far as they are known outside a pod (KIP-158). Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from penstock.errors import ConfigError, Problem
from penstock_model.connect.topic_creation_rules import PREFIX, TopicRules
from penstock_model.connect.topic_limits import TopicLimits
from penstock_model.connect.variables import has_variable
from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_model.resources.topic_policy_selection import PolicyBinding, bind, rivalry

__all__ = ["ApplicableRules", "applicable_rules", "conflicts"]


class ApplicableRules(NamedTuple):
    """Rules and limits of a source, or the reason why they are unknown. Without rules, brokers create its topics."""

    rules: TopicRules | None = None
    limits: tuple[TopicLimits, ...] = ()
    unknown: str = ""


def applicable_rules(
    connector: Mapping[str, Any], config: Mapping[str, str], policies: Sequence[Mapping[str, Any]]
) -> ApplicableRules:
    """Return the rules and limits for a Connector.

    Args:
        connector: the resource.
        config: its properties as strings.
        policies: TopicCreationPolicies of its namespace.
    """
    named = (connector["spec"].get("topicCreationPolicyRef") or {}).get("name")
    found = bind(named, connector["metadata"].get("labels") or {}, config, policies)
    if found.missing:
        return ApplicableRules(unknown=f"the TopicCreationPolicy {found.missing} does not exist")
    if problems := conflicts(found):
        return ApplicableRules(unknown="; ".join(map(str, problems)))
    policy = found.policy or TopicPolicy()
    try:
        limits = tuple(map(TopicLimits.of, policy.limits))
        if policy.rules is not None:
            return ApplicableRules(TopicRules.of_policy(policy.rules), limits)
        own = {n: t for n, t in config.items() if n.startswith(PREFIX)}
        if opaque := [n for n, t in own.items() if has_variable(t)]:
            return ApplicableRules(unknown=f"{', '.join(opaque)}: only a pod knows the values of variables")
        return ApplicableRules(TopicRules.of(own, enabled=True), limits)
    except ConfigError as e:
        return ApplicableRules(unknown="; ".join(map(str, e.problems)))
    except ValueError as e:  # a pattern from a newer release
        return ApplicableRules(unknown=str(e))


def conflicts(found: PolicyBinding) -> list[Problem]:
    """Return the reasons why the policies that apply to a Connector, and its own rules, cannot be applied together."""
    problems = [
        Problem(name, f"this TopicCreationPolicy cannot be applied: {why}") for name, why in found.invalid.items()
    ]
    if found.rivals:
        problems.append(Problem("", rivalry(found.rivals)))
    return [*problems, *found.refused]
