"""TopicCreationPolicies that apply to a Connector, and their combined rules and limits (KIP-158). Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from penstock.errors import ConfigError, Problem
from penstock_model.connect.topic_creation_rules import PREFIX
from penstock_model.connect.topic_limits import literal_violations
from penstock_model.contracts.topic_policy import PolicyLimits, PolicyRules, TopicPolicy
from penstock_model.resources.effective_topic_policy import effective_policy
from penstock_model.resources.topic_creation_policy import ConnectorSelector

__all__ = ["PolicyBinding", "bind", "name_of", "rivalry", "selector_of"]


@dataclass(frozen=True, slots=True)
class PolicyBinding:
    """Combined policies of a namespace for one Connector.

    Attributes:
        policy: the rules of one policy and the limits of all; None: no policy applies. Incomplete if one of the attributes
            below reports a problem.
        selected: whether a policy applies that the Connector does not name.
        missing: the policy that the Connector names but that does not exist, or empty.
        invalid: the problems of policies that cannot be applied, by name.
        rivals: the policies with rules that select it, if there are several and it names none with rules.
        refused: the problems of the Connector's `topic.creation.*` that these policies do not allow.
    """

    policy: TopicPolicy | None = None
    selected: bool = False
    missing: str = ""
    invalid: Mapping[str, str] = field(default_factory=dict)
    rivals: tuple[str, ...] = ()
    refused: tuple[Problem, ...] = ()


def bind(
    named: str | None, labels: Mapping[str, str], config: Mapping[str, str], documents: Iterable[Mapping[str, Any]]
) -> PolicyBinding:
    """Combine the policies for a Connector: the rules of one, and the limits of all that it names or that select it.

    The rules are those of the policy that it names, or else of the only policy with rules that selects it.

    Args:
        named: the policy in its `spec.topicCreationPolicyRef`, or None.
        labels: labels of the Connector.
        config: its properties as written.
        documents: the policies of its namespace, as the API server returns them.
    """
    found = sorted((d for d in documents if name_of(d) == named or _selects(d, labels)), key=name_of)
    good: dict[str, TopicPolicy] = {}
    invalid: dict[str, str] = {}
    lax: set[str] = set()
    for document in found:
        name = name_of(document)
        try:
            good[name] = effective_policy(document)
        except ConfigError as e:
            invalid[name] = "; ".join(map(str, e.problems))
            continue
        if document["spec"].get("overridePolicy") == "Allow":
            lax |= {name}
    inline = [name for name in config if name.startswith(PREFIX)]
    ruling = {name: policy.rules for name, policy in good.items() if policy.rules is not None}
    if named in ruling:
        ruling = {named: ruling[named]}
    if inline:  # these are the rules, wherever policies allow them
        ruling = {name: rules for name, rules in ruling.items() if name not in lax}
    rules = next(iter(ruling.values())) if len(ruling) == 1 else None
    limits = tuple(each for policy in good.values() for each in policy.limits)
    return PolicyBinding(
        policy=TopicPolicy(rules=rules, limits=limits) if rules is not None or limits else None,
        selected=any(name_of(d) != named for d in found),
        missing=named if named is not None and not any(name_of(d) == named for d in found) else "",
        invalid=invalid,
        rivals=tuple(ruling) if len(ruling) > 1 else (),
        refused=tuple(_refused(inline, config, rules, limits)) if inline else (),
    )


def _refused(
    inline: Sequence[str], config: Mapping[str, str], rules: PolicyRules | None, limits: Sequence[PolicyLimits]
) -> Iterable[Problem]:
    if rules is not None:
        yield Problem(
            "",
            f"the TopicCreationPolicy {rules.policy} has rules for this connector, but spec.config has {', '.join(inline)}: "
            f"only one of them can apply; remove these properties, or set spec.overridePolicy: Allow in the policy",
        )
        return
    yield from literal_violations(config, limits)


def rivalry(names: Sequence[str]) -> str:
    """Return the problem if several policies with rules select a Connector, and the remedy."""
    return (
        f"the TopicCreationPolicies {' and '.join(names)} select this connector, and each has rules: only one of them can "
        f"apply; narrow a connectorSelector, remove the rules of one policy, or name the policy in "
        f"spec.topicCreationPolicyRef"
    )


def name_of(document: Mapping[str, Any]) -> str:
    """Return the name of a resource."""
    return str((document.get("metadata") or {}).get("name") or "")


def selector_of(document: Mapping[str, Any]) -> ConnectorSelector | None:
    """Return the selector of a policy; None if it has none, or an invalid one."""
    given = (document.get("spec") or {}).get("connectorSelector")
    if given is None:
        return None
    try:
        return ConnectorSelector.model_validate(given)
    except ValidationError:
        return None


def _selects(document: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    selector = selector_of(document)
    return selector is not None and selector.selects(labels)
