"""TopicCreationPolicies, and the outcome of their rules for a topic name (KIP-158). Pure."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple

from penstock.errors import ConfigError
from penstock_java_compat.regex import matching_within
from penstock_model.connect.topic_creation_rules import TopicGroup, TopicRules
from penstock_model.connect.topic_limits import TopicLimits, violations
from penstock_model.resources.applicable_rules import ApplicableRules, applicable_rules
from penstock_model.resources.effective_topic_policy import effective_policy
from penstock_model.resources.topic_policy_selection import name_of
from penstock_model.resources.values import text_of
from penstock_web.console.health import Tone, condition

__all__ = ["Group", "Outcome", "PolicyView", "outcome_by_policy", "outcome_for", "policy_views", "within_time"]

_BROKERS: Final = "broker's default"
_MOST_SELECTED: Final = 100
_SECONDS: Final = 0.1
"""Seconds for matching all patterns on a page: anyone who may write a Connector or policy can choose patterns."""


class Group(NamedTuple):
    """Group of a policy; `default` has no patterns."""

    name: str
    include: Sequence[str]
    exclude: Sequence[str]
    partitions: str
    replicas: str
    settings: Sequence[tuple[str, str]]


class PolicyView(NamedTuple):
    """One policy."""

    namespace: str
    name: str
    tone: Tone
    state: str
    message: str
    selector: str
    groups: Sequence[Group]
    limits: Sequence[tuple[str, str]]
    overrides: str
    connectors: Sequence[str]
    connector_count: int


class Outcome(NamedTuple):
    """Outcome of the rules for a topic name.

    Attributes:
        topic: its name.
        refusals: why it would not be created; empty: it would.
        unknown: why the rules are unknown.
        where: the rule.
        group: settings of the new topic; None: no rule, so that the brokers create it or reject it.
    """

    topic: str
    refusals: Sequence[str] = ()
    unknown: str = ""
    where: str = ""
    group: Group | None = None


def within_time() -> AbstractContextManager[None]:
    """Limit the time for patterns; later outcomes are unknown."""
    return matching_within(_SECONDS)


def policy_views(policies: Sequence[Mapping[str, Any]]) -> list[PolicyView]:
    """Return all policies by namespace and name."""
    return sorted(map(_view, policies), key=lambda view: (view.namespace, view.name))


def outcome_for(connector: Mapping[str, Any], policies: Sequence[Mapping[str, Any]], topic: str) -> Outcome:
    """Return the outcome of the rules of a Connector for a topic.

    Args:
        connector: the resource.
        policies: policies of its namespace.
        topic: name of the topic.
    """
    config = {name: text_of(value) for name, value in ((connector.get("spec") or {}).get("config") or {}).items()}
    return _outcome(applicable_rules(connector, config, policies), topic)


def outcome_by_policy(policy: Mapping[str, Any], topic: str) -> Outcome:
    """Return the outcome of a single policy for a topic."""
    try:
        effective = effective_policy(policy)
        rules = None if effective.rules is None else TopicRules.of_policy(effective.rules)
        return _outcome(ApplicableRules(rules, tuple(map(TopicLimits.of, effective.limits))), topic)
    except ConfigError as e:
        return Outcome(topic, unknown="; ".join(map(str, e.problems)))
    except ValueError as e:  # a pattern of a newer release
        return Outcome(topic, unknown=str(e))


def _outcome(found: ApplicableRules, topic: str) -> Outcome:
    if found.unknown:
        return Outcome(topic, unknown=found.unknown)
    try:
        rule = None if found.rules is None else found.rules.group_of(topic)
        refusals = violations(found.limits, topic, rule)
    except TimeoutError:
        return Outcome(topic, unknown="its patterns take too long for this name; simplify nested repetitions")
    if rule is None:
        return Outcome(topic, refusals)
    return Outcome(topic, refusals, where=rule.where, group=_group(rule))


def _group(rule: TopicGroup) -> Group:
    return Group(
        name=rule.name,
        include=[p.text for p in rule.include if p.text],
        exclude=[p.text for p in rule.exclude if p.text],
        partitions=_count(rule.partitions),
        replicas=_count(rule.replication_factor),
        settings=sorted(rule.settings.items()),
    )


def _view(policy: Mapping[str, Any]) -> PolicyView:
    spec, status = policy.get("spec") or {}, policy.get("status") or {}
    ready = condition(status, "Ready")
    groups = [*_groups(spec)]
    limits = spec.get("limits") or {}
    names: Sequence[str] = status.get("connectors") or ()
    is_good = ready.get("status", "True") == "True"
    return PolicyView(
        namespace=str(policy["metadata"].get("namespace") or ""),
        name=name_of(policy),
        tone=Tone.GOOD if is_good else Tone.BAD,
        state=str(ready.get("reason") or ("Accepted" if is_good else "")),
        message="" if is_good else str(ready.get("message") or ""),
        selector=_selector(spec.get("connectorSelector")),
        groups=groups,
        limits=[(name, _text(value)) for name, value in sorted(limits.items())],
        overrides=str(spec.get("overridePolicy") or "Forbid"),
        connectors=[str(n) for n in names[:_MOST_SELECTED]],
        connector_count=max(int(status.get("connectorCount") or 0), len(names)),
    )


def _groups(spec: Mapping[str, Any]) -> list[Group]:
    default: Mapping[str, Any] | None = spec.get("default")
    given = [*(spec.get("groups") or ()), *([] if default is None else [{"name": "default", **default}])]
    return [
        Group(
            name=str(g.get("name") or ""),
            include=_list(g.get("include")),
            exclude=_list(g.get("exclude")),
            partitions=_count(g.get("partitions") or (default or {}).get("partitions") or -1),
            replicas=_count(g.get("replicationFactor") or (default or {}).get("replicationFactor") or -1),
            settings=sorted((str(n), str(v)) for n, v in (g.get("config") or {}).items()),
        )
        for g in given
    ]


def _selector(selector: Mapping[str, Any] | None) -> str:
    if selector is None:
        return "Connectors that name it"
    labels = [f"{n}={v}" for n, v in (selector.get("matchLabels") or {}).items()]
    expressions = [
        f"{e.get('key')} {e.get('operator')} {', '.join(map(str, e.get('values') or ()))}".rstrip()
        for e in selector.get("matchExpressions") or ()
    ]
    return ", ".join((*labels, *expressions)) or "all Connectors of the namespace"


def _list(value: object) -> list[str]:
    if value is None:
        return []
    return [str(v) for v in value] if isinstance(value, list) else [str(value)]


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _count(number: object) -> str:
    return _BROKERS if number == -1 else str(number)
