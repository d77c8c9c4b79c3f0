"""Effective topic policy: the part of a task spec that the operator sets (KIP-158). Pure.

It results from the TopicCreationPolicies that apply to a connector. The operator resolves it, and plugins cannot influence
it; the task that creates topics enforces it.
"""

from pydantic import Field

from penstock_model.contracts.base import Part

__all__ = ["PolicyGroup", "PolicyLimits", "PolicyRules", "TopicPolicy"]


class PolicyGroup(Part):
    """Topics that are created by the same rule.

    Attributes:
        name: name in the policy; `default` for topics that no group matches.
        partitions, replication_factor: of a new topic; -1 is the broker's default.
        config: settings of the topic.
        include, exclude: Java regular expressions for whole names: at least one of `include` and none of `exclude` must
            match. Empty in the default group.
    """

    name: str
    partitions: int
    replication_factor: int
    config: dict[str, str] = Field(default_factory=dict)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class PolicyRules(Part):
    """Rules for creating topics.

    Attributes:
        policy: name of the TopicCreationPolicy.
        groups: groups in order; only the first that matches a topic applies.
        default: group for all other topics.
    """

    policy: str
    groups: tuple[PolicyGroup, ...] = ()
    default: PolicyGroup


class PolicyLimits(Part):
    """Limits of one TopicCreationPolicy; None means no limit.

    Attributes:
        policy: its name.
        max_partitions: maximum number of partitions of a topic.
        min_replication_factor: minimum number of replicas.
        topics: Java regular expressions; a topic's whole name must match one of them.
        config: the settings that a topic may have; no others are allowed.
    """

    policy: str
    max_partitions: int | None = None
    min_replication_factor: int | None = None
    topics: tuple[str, ...] | None = None
    config: tuple[str, ...] | None = None


class TopicPolicy(Part):
    """Rules of one policy, and limits of every policy that applies.

    Without rules, the source's own `topic.creation.*` apply, within the limits; without those, no topic is created.
    """

    rules: PolicyRules | None = None
    limits: tuple[PolicyLimits, ...] = ()

    @property
    def policies(self) -> frozenset[str]:
        """Return the names of the TopicCreationPolicies that it comes from."""
        return frozenset(
            (*(() if self.rules is None else (self.rules.policy,)), *(each.policy for each in self.limits))
        )
