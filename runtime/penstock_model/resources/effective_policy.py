"""What a TopicCreationPolicy comes to for the connectors that name it: the effective topic policy of their tasks. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.errors import ConfigError, Problem
from penstock_model.contracts.topic_policy import PolicyGroup, PolicyLimits, PolicyRules, TopicPolicy
from penstock_model.resources.topic_creation_policy import TopicCreationPolicy, TopicCreationPolicySpec

__all__ = ["MOST_BYTES", "effective_policy", "refused_policy_fields"]

MOST_BYTES: Final = 16 << 10
"""Bytes of a policy's spec as JSON: a copy of it stands in the spec of every task that it applies to."""


def effective_policy(document: Mapping[str, Any]) -> TopicPolicy:
    """The effective policy of connectors that name this TopicCreationPolicy.

    Args:
        document: the resource, as the API server gives it.

    Raises:
        ConfigError: everything that keeps it from being applied, by field (`spec.groups.0.include`).
    """
    policy = TopicCreationPolicy.read(document)
    spec = policy.spec
    size = len(json.dumps(document["spec"], ensure_ascii=False, separators=(",", ":")).encode())
    problems = [*refused_policy_fields(spec)]
    if size > MOST_BYTES:
        problems.append(
            Problem("spec", f"has {size:,} bytes as JSON, and at most {MOST_BYTES:,} are taken; divide the policy")
        )
    if problems:
        raise ConfigError(problems)
    name, default = policy.metadata.name, spec.default
    limits: tuple[PolicyLimits, ...] = ()
    if spec.limits is not None:
        given = spec.limits
        limits = (
            PolicyLimits(
                policy=name,
                max_partitions=given.max_partitions,
                min_replication_factor=given.min_replication_factor,
                topics=None if given.topics is None else tuple(given.topics),
                config=None if given.config is None else tuple(given.config),
            ),
        )
    groups = tuple(
        PolicyGroup(
            name=group.name,
            partitions=default.partitions if group.partitions is None else group.partitions,
            replication_factor=(
                default.replication_factor if group.replication_factor is None else group.replication_factor
            ),
            config=dict(group.config),
            include=tuple(group.include),
            exclude=tuple(group.exclude),
        )
        for group in spec.groups
    )
    rest = PolicyGroup(
        name="default",
        partitions=default.partitions,
        replication_factor=default.replication_factor,
        config=dict(default.config),
    )
    return TopicPolicy(rules=PolicyRules(policy=name, groups=groups, default=rest), limits=limits)


def refused_policy_fields(spec: TopicCreationPolicySpec) -> Iterator[Problem]:
    """A problem for each field that is set and not supported yet."""
    if spec.connector_selector is not None:
        yield Problem(
            "spec.connectorSelector",
            "policies do not select connectors in this release; remove it, and name the policy in spec.topicCreationPolicy "
            "of the Connectors",
        )
    if spec.allow_overrides:
        yield Problem(
            "spec.allowOverrides",
            "topic.creation.* of a connector does not go over a policy in this release; remove it, and have such a "
            "connector name no policy",
        )
