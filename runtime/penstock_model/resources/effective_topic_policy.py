"""Effective policy: the rules and limits of one TopicCreationPolicy for the connectors that it applies to. Pure."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from penstock.errors import ConfigError, Problem
from penstock_model.contracts.topic_policy import PolicyGroup, PolicyLimits, PolicyRules, TopicPolicy
from penstock_model.resources.topic_creation_policy import TopicCreationPolicy, TopicLimits

__all__ = ["MOST_BYTES", "effective_policy"]

_PARTS: Final = ("apiVersion", "kind", "spec")
_MOST_KEPT: Final = 256
_BROKERS: Final = -1
"""The broker's default, as in KIP-158 and in Kafka's protocol."""
MOST_BYTES: Final = 16 << 10
"""Maximum bytes of a policy's spec as JSON: the spec of every task to which it applies contains a copy."""


def effective_policy(document: Mapping[str, Any]) -> TopicPolicy:
    """Return the effective policy of connectors to which only this TopicCreationPolicy applies.

    Args:
        document: the resource, as the API server returns it.

    Raises:
        ConfigError: the policy cannot be applied; contains all problems, by field (`spec.groups.0.include`).
    """
    metadata = document.get("metadata") or {}
    own = {n: metadata.get(n) for n in ("name", "namespace") if n in metadata}  # the rest changes with every write
    parts = {n: document[n] for n in _PARTS if n in document} | {"metadata": own}
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=str)
    size = len(json.dumps(document.get("spec"), ensure_ascii=False, separators=(",", ":"), default=str).encode())
    if size > MOST_BYTES:  # checked before its contents are read, which may take long
        message = f"has {size:,} bytes as JSON; at most {MOST_BYTES:,} are allowed; split the policy"
        raise ConfigError(Problem("spec", message))
    found = _read(text)
    if not isinstance(found, TopicPolicy):
        raise ConfigError(found)
    return found


@lru_cache(maxsize=_MOST_KEPT)
def _read(text: str) -> TopicPolicy | tuple[Problem, ...]:
    """Parse a policy from JSON, or return its problems. Cached: hundreds of patterns take a quarter of a second."""
    try:
        policy = TopicCreationPolicy.read(json.loads(text))
    except ConfigError as e:
        return e.problems
    except (RecursionError, MemoryError, OverflowError):
        return (Problem("spec", "contains a pattern that cannot be compiled; simplify it"),)
    return _effective(policy)


def _effective(policy: TopicCreationPolicy) -> TopicPolicy:
    """Return the effective policy, with patterns and names sorted: changing their order has no effect."""
    name, spec = policy.metadata.name, policy.spec
    default, given = spec.default, spec.limits
    limits: tuple[PolicyLimits, ...] = ()
    if given is not None and given != TopicLimits():
        limits = (
            PolicyLimits(
                policy=name,
                max_partitions=given.max_partitions,
                min_replication_factor=given.min_replication_factor,
                topics=None if given.topics is None else _ordered(given.topics),
                config=None if given.config is None else _ordered(given.config),
            ),
        )
    if default is None:
        return TopicPolicy(limits=limits)
    partitions = _BROKERS if default.partitions is None else default.partitions
    replication_factor = _BROKERS if default.replication_factor is None else default.replication_factor
    groups = tuple(
        PolicyGroup(
            name=group.name,
            partitions=partitions if group.partitions is None else group.partitions,
            replication_factor=replication_factor if group.replication_factor is None else group.replication_factor,
            config=dict(group.config),
            include=_ordered(group.include),
            exclude=_ordered(group.exclude),
        )
        for group in spec.groups
    )
    rest = PolicyGroup(
        name="default",
        partitions=partitions,
        replication_factor=replication_factor,
        config=dict(default.config),
    )
    return TopicPolicy(rules=PolicyRules(policy=name, groups=groups, default=rest), limits=limits)


def _ordered(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*texts}))
