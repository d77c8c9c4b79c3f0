"""Resolve the rules and limits for a Connector's topics from its TopicCreationPolicies (KIP-158). Pure."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_model.resources.connector import Connector
from penstock_model.resources.topic_policy_selection import PolicyBinding, bind, name_of, rivalry
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.resolutions import PolicyProblem, PolicyResolution
from penstock_operator.reasons import Reason

__all__ = ["resolve"]


def resolve(
    connector: Connector, documents: Sequence[Mapping[str, Any]], last: Plan | None, *, is_own_change: bool
) -> PolicyResolution:
    """Resolve the policies of its namespace for a Connector.

    Running tasks keep the last good rules, however policies change. A named policy that cannot be applied is never
    replaced by rules of another one.

    Args:
        connector: the resource.
        documents: the policies of its namespace.
        last: the plan of its tasks; None: there is none.
        is_own_change: whether the Connector has changed since this plan was made.
    """
    reference = connector.spec.topic_creation_policy_ref
    named = None if reference is None else reference.name
    found = bind(named, connector.metadata.labels, connector.spec.config, documents)
    resolution = _resolve(found, named, {*map(name_of, documents)}, last, is_own_change=is_own_change)
    return replace(resolution, selects=bool(_names(resolution.effective) - {named}))


def _resolve(
    found: PolicyBinding, named: str | None, there: AbstractSet[str], last: Plan | None, *, is_own_change: bool
) -> PolicyResolution:
    known = None if last is None else last.policy
    if problems := _problems(found):
        is_of_named = bool(found.missing) or named in found.invalid
        is_kept = last is not None and not (is_own_change and is_of_named and named not in _names(known))
        problem = PolicyProblem(problems[0].reason, "; ".join(p.message for p in problems))
        return PolicyResolution(known if is_kept else None, problem, blocks=not is_kept)
    if last is None or is_own_change:
        return PolicyResolution(found.policy, refused=tuple(map(str, found.refused)))
    if found.refused:
        return PolicyResolution(known, PolicyProblem(Reason.POLICY_CONFLICT, "; ".join(map(str, found.refused))))
    left = _left(found.policy, known, _names(known) - there)
    if left == found.policy:
        return PolicyResolution(left)
    return PolicyResolution(left, _gone(_names(left) - there))


def _problems(found: PolicyBinding) -> list[PolicyProblem]:
    """Return why the policies for a Connector cannot be applied; empty: they can."""
    problems = []
    if found.missing:
        what = f"the TopicCreationPolicy {found.missing} is not in this namespace"
        message = f"{what}; create it, or name another in spec.topicCreationPolicyRef"
        problems.append(PolicyProblem(Reason.POLICY_MISSING, message))
    for name, why in found.invalid.items():
        problems.append(
            PolicyProblem(Reason.POLICY_INVALID, f"the TopicCreationPolicy {name} cannot be applied: {why}")
        )
    if found.rivals:
        problems.append(PolicyProblem(Reason.POLICY_CONFLICT, rivalry(found.rivals)))
    return problems


def _names(policy: TopicPolicy | None) -> frozenset[str]:
    return frozenset() if policy is None else policy.policies


def _left(found: TopicPolicy | None, known: TopicPolicy | None, gone: AbstractSet[str]) -> TopicPolicy | None:
    """Return the current policy with the limits of deleted policies, and with their rules if there are no others."""
    if known is None or not gone:
        return found
    rules, limits = (None, ()) if found is None else (found.rules, found.limits)
    if rules is None and known.rules is not None and known.rules.policy in gone:
        rules = known.rules
    limits = tuple(
        sorted((*limits, *(each for each in known.limits if each.policy in gone)), key=lambda each: each.policy)
    )
    return TopicPolicy(rules=rules, limits=limits) if rules is not None or limits else None


def _gone(names: Iterable[str]) -> PolicyProblem:
    message = (
        f"the TopicCreationPolicy {' and '.join(sorted(names))}, which its tasks follow, is no longer in this namespace; "
        f"create it again, or restart the connector (penstock.dev/restart) to continue without it"
    )
    return PolicyProblem(Reason.POLICY_MISSING, message)
