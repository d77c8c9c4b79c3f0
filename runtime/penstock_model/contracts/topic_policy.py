"""The effective topic policy: a part of a task spec, stamped there by the operator (KIP-158). Pure.

It is what the TopicCreationPolicies that apply to a connector come to. The operator resolves it, and no plugin has a hand in
it; the task that creates topics enforces it.
"""

from pydantic import Field

from penstock_model.contracts.base import Part

__all__ = ["PolicyGroup", "PolicyLimits", "PolicyRules", "TopicPolicy"]


class PolicyGroup(Part):
    """Topics that are created alike.

    Attributes:
        name: in the policy; `default` for topics that no group matches.
        partitions, replication_factor: of a new topic; -1 is the broker's default.
        config: the topic's settings.
        include, exclude: Java regular expressions for whole names; one of the first, and none of the second. Empty in the
            default group.
    """

    name: str
    partitions: int
    replication_factor: int
    config: dict[str, str] = Field(default_factory=dict)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class PolicyRules(Part):
    """By which rules topics are created.

    Attributes:
        policy: the name of the TopicCreationPolicy.
        groups: in order; the first that matches a topic decides alone.
        default: for all other topics.
    """

    policy: str
    groups: tuple[PolicyGroup, ...] = ()
    default: PolicyGroup


class PolicyLimits(Part):
    """The rails of one TopicCreationPolicy; what is None has no limit.

    Attributes:
        policy: its name.
        max_partitions: the most partitions of a topic.
        min_replication_factor: the fewest copies.
        topics: Java regular expressions; a topic's whole name matches one of them.
        config: the only settings that a topic may be given.
    """

    policy: str
    max_partitions: int | None = None
    min_replication_factor: int | None = None
    topics: tuple[str, ...] | None = None
    config: tuple[str, ...] | None = None


class TopicPolicy(Part):
    """The rules of one policy, and the limits of every policy that applies.

    Without rules the source's own `topic.creation.*` apply, within the limits; without these, no topic is created.
    """

    rules: PolicyRules | None = None
    limits: tuple[PolicyLimits, ...] = ()

    @property
    def policies(self) -> frozenset[str]:
        """The names of the TopicCreationPolicies that it comes from."""
        return frozenset(
            (*(() if self.rules is None else (self.rules.policy,)), *(each.policy for each in self.limits))
        )
