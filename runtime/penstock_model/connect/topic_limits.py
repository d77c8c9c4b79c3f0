"""Limits for creating a connector's topics, regardless of who wrote the rules: `limits` of policies (KIP-158). Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_java_compat.regex import JavaPattern, compile_java
from penstock_model.connect.topic_creation_rules import PREFIX, TopicGroup, TopicRules
from penstock_model.contracts.topic_policy import PolicyLimits

__all__ = ["TopicLimits", "literal_violations", "violations"]

_BROKERS: Final = -1
_MOST_PATTERNS: Final = 5
_VARIABLE: Final = "${"
_WITHIN: Final = {".partitions": "1", ".replication.factor": str(2**15 - 1)}
"""Values that no limit forbids, by suffix of the property."""


@dataclass(frozen=True, slots=True)
class TopicLimits:
    """Limits of one policy, with each of its patterns compiled separately."""

    given: PolicyLimits
    topics: tuple[JavaPattern, ...] | None

    @classmethod
    def of(cls, given: PolicyLimits) -> "TopicLimits":
        """Return the limits with their patterns compiled.

        Raises:
            ValueError: a pattern is not a Java regular expression, or one that this runtime does not support.
        """
        return cls(given, None if given.topics is None else tuple(map(compile_java, given.topics)))

    def forbids(self, topic: str) -> Iterator[str]:
        """Yield the reasons why no rule may create a topic with this name."""
        if self.topics is not None and not any(p.matches(topic) for p in self.topics):
            patterns = ", ".join((self.given.topics or ())[:_MOST_PATTERNS])
            more = ", ..." if len(self.topics) > _MOST_PATTERNS else ""
            yield (
                f"limits.topics of the TopicCreationPolicy {self.given.policy} allows {patterns}{more}; use a topic "
                f"whose whole name matches, or ask an administrator to extend the limit or to create the topic"
            )


def violations(
    limits: Sequence[TopicLimits], topic: str, rule: TopicGroup | None, *, is_off: bool = False
) -> list[str]:
    """Return a message for each limit that forbids creating this topic by this rule, with the rule and the remedy.

    If limits apply but no rule, the topic is not created: automatic creation by brokers would ignore the limits.

    Args:
        limits: limits of all policies that apply.
        topic: name of the topic.
        rule: rule that would create it, or None.
        is_off: whether the worker configuration disables topic creation (`topic.creation.enable`).
    """
    by_name = [text for each in limits for text in each.forbids(topic)]
    if rule is not None:
        return [*by_name, *(text for each in limits for text in _violations(each.given, rule))]
    if not limits:
        return []
    policies = ", ".join(sorted({each.given.policy for each in limits}))
    if is_off:
        return [
            *by_name,
            f"the TopicCreationPolicy {policies} limits how topics are created, and topic.creation.enable is false in the "
            f"worker configuration; ask an administrator to create the topic",
        ]
    return [
        *by_name,
        f"the TopicCreationPolicy {policies} limits how topics are created, but no rule applies to this one; set "
        f"{PREFIX}default.partitions and {PREFIX}default.replication.factor in the connector's configuration, name a "
        f"policy with rules in spec.topicCreationPolicyRef, or ask an administrator to create the topic",
    ]


def literal_violations(properties: Mapping[str, str], limits: Sequence[PolicyLimits]) -> Iterator[Problem]:
    """Yield problems of a connector's own `topic.creation.*` that limits forbid; variables count as allowed values.

    Properties that cannot be parsed are ignored; the check of the rules reports them.

    Args:
        properties: properties of the connector, as written.
        limits: limits of all policies that apply.
    """
    own = {n: t for n, t in properties.items() if n.startswith(PREFIX)}
    for name in (n for n, t in own.items() if _VARIABLE in t):
        for number, within in _WITHIN.items():
            if name.endswith(number):
                own[name] = within
    try:
        rules = TopicRules.of(own, enabled=True)
    except ConfigError:
        return
    for rule in () if rules is None else (*rules.groups, rules.default):
        yield from (Problem(rule.where, text) for each in limits for text in _violations(each, rule))


def _violations(given: PolicyLimits, rule: TopicGroup) -> Iterator[str]:
    name, most, least = given.policy, given.max_partitions, given.min_replication_factor
    if most is not None and (rule.partitions == _BROKERS or rule.partitions > most):
        yield (
            f"limits.maxPartitions of the TopicCreationPolicy {name} is {most}, but {rule.where} requests "
            f"{_count(rule.partitions, 'partitions')}"
        )
    if least is not None and rule.replication_factor < least:  # -1 too
        yield (
            f"limits.minReplicationFactor of the TopicCreationPolicy {name} is {least}, but {rule.where} requests "
            f"{_count(rule.replication_factor, 'copies')}"
        )
    if given.config is not None and (others := sorted({*rule.settings} - {*given.config})):
        yield (
            f"limits.config of the TopicCreationPolicy {name} does not have {', '.join(others)}, which {rule.where} "
            f"sets; it allows {', '.join(given.config) or 'no setting'}"
        )


def _count(number: int, what: str) -> str:
    if number == _BROKERS:
        return f"the broker's default (-1), which is unknown in advance; set the number of {what}"
    return str(number)
