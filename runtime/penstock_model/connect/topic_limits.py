"""The rails within which a connector's topics are created, whoever wrote the rules: `limits` of policies (KIP-158). Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from penstock_java.regex import JavaPattern, compile_java
from penstock_model.connect.topic_creation_rules import TopicGroup
from penstock_model.contracts.topic_policy import PolicyLimits

__all__ = ["TopicLimits", "violations"]

_BROKERS: Final = -1
_MOST_PATTERNS: Final = 5


@dataclass(frozen=True, slots=True)
class TopicLimits:
    """The limits of one policy, with its patterns compiled, each by itself."""

    given: PolicyLimits
    topics: tuple[JavaPattern, ...] | None

    @classmethod
    def of(cls, given: PolicyLimits) -> "TopicLimits":
        """The limits, ready to be asked.

        Raises:
            ValueError: a pattern is no Java regular expression, or one that this runtime cannot take.
        """
        return cls(given, None if given.topics is None else tuple(map(compile_java, given.topics)))

    def violations(self, topic: str, rule: TopicGroup) -> Iterator[str]:
        """Why this topic may not be created by this rule: the limit, the rule, and what would do."""
        given, name = self.given, self.given.policy
        if self.topics is not None and not any(p.matches(topic) for p in self.topics):
            patterns = ", ".join((given.topics or ())[:_MOST_PATTERNS])
            more = ", ..." if len(self.topics) > _MOST_PATTERNS else ""
            yield (
                f"limits.topics of the TopicCreationPolicy {name} allows {patterns}{more}; write to a topic whose whole "
                f"name matches, have the limit widened, or have the topic created by whoever may"
            )
        most, least = given.max_partitions, given.min_replication_factor
        if most is not None and (rule.partitions == _BROKERS or rule.partitions > most):
            yield (
                f"limits.maxPartitions of the TopicCreationPolicy {name} is {most}, and {rule.where} asks for "
                f"{_count(rule.partitions, 'partitions')}"
            )
        if least is not None and rule.replication_factor < least:  # -1 too
            yield (
                f"limits.minReplicationFactor of the TopicCreationPolicy {name} is {least}, and {rule.where} asks for "
                f"{_count(rule.replication_factor, 'copies')}"
            )
        if given.config is not None and (others := sorted({*rule.settings} - {*given.config})):
            yield (
                f"limits.config of the TopicCreationPolicy {name} does not have {', '.join(others)}, which {rule.where} "
                f"sets; it allows {', '.join(given.config) or 'no setting'}"
            )


def violations(limits: Sequence[TopicLimits], topic: str, rule: TopicGroup) -> list[str]:
    """Every limit, of every policy, that forbids to create this topic by this rule."""
    return [text for each in limits for text in each.violations(topic, rule)]


def _count(number: int, what: str) -> str:
    if number == _BROKERS:
        return f"the broker's default, which cannot be known beforehand (-1); write a number of {what}"
    return str(number)
