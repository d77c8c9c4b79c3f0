"""Rules for creating the topics of one source: its `topic.creation.*`, or those of a policy (KIP-158). Pure.

As in Kafka Connect 4.3.1, only the first group of `topic.creation.groups` that matches a topic applies. It inherits only
partitions and replication factor from the default group, which applies to all other topics.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, field_validator

from penstock.config import Config, Importance, nearest, prop
from penstock.errors import ConfigError, Problem
from penstock_java_compat.property_text import items
from penstock_java_compat.regex import JavaPattern, compile_java
from penstock_model.contracts.topic_policy import PolicyGroup, PolicyRules

__all__ = ["PREFIX", "TopicGroup", "TopicRules", "ineffective_properties"]

_C = TypeVar("_C", bound=Config)
PREFIX: Final = "topic.creation."
_DEFAULT: Final = "default"
_ENABLE: Final = "enable"
"""Suffix of `topic.creation.enable`, which is set in the worker configuration, never in a connector."""


def _count(kind: str, bits: int, message: str) -> AfterValidator:
    def check(number: int) -> int:
        if not -(1 << bits) <= number < 1 << bits:
            raise ValueError(f"Not a number of type {kind}")
        if number == 0 or number < -1:
            raise ValueError(message)
        return number

    return AfterValidator(check)


_is_partitions: Final = _count("INT", 31, "Number of partitions must be positive, or -1 to use the broker's default")
_is_factor: Final = _count(
    "SHORT",
    15,
    "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster, or -1 to use "
    "the broker's default",
)


def _patterns(texts: list[str]) -> list[str]:
    for text in texts:
        compile_java(text)
    compile_java("|".join(texts))  # joined patterns may be invalid even so: two may define groups with the same name
    return texts


class _Groups(Config):
    groups: list[str] = prop("groups", [], doc="The groups, in the order in which they are tried.")

    @field_validator("groups")
    @classmethod
    def _different(cls, names: list[str]) -> list[str]:
        if len(set(names)) != len(names):
            raise ValueError("Duplicate alias provided.")
        return names


class _Group(Config):
    partitions: Annotated[int | None, _is_partitions] = prop(
        "partitions", None, doc="Partitions of a new topic. Default: those of the default group."
    )
    replication_factor: Annotated[int | None, _is_factor] = prop(
        "replication.factor", None, doc="Replicas of a new topic. Default: those of the default group."
    )
    include: Annotated[list[str], AfterValidator(_patterns)] = prop(
        "include", [], doc="Patterns of topics in the group."
    )
    exclude: Annotated[list[str], AfterValidator(_patterns)] = prop("exclude", [], doc="Patterns of excluded topics.")


class _Default(Config):
    partitions: Annotated[int, _is_partitions] = prop(
        "partitions", doc="Partitions of a new topic; -1 is the broker's default.", importance=Importance.HIGH
    )
    replication_factor: Annotated[int, _is_factor] = prop(
        "replication.factor", doc="Replicas of a new topic; -1 is the broker's default.", importance=Importance.HIGH
    )


_OWN: Final = tuple(p.name for p in _Group.properties())


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """Topics that are created by the same rule.

    Attributes:
        name: name of the group; `default` for all other topics.
        partitions: partitions of a new topic; -1 is the broker's default.
        replication_factor: replicas of a new topic; -1 is the broker's default.
        settings: settings of the topic, as written.
        include: patterns, one of which matches the whole name of a topic; none in the default group.
        exclude: patterns of names that are not in this group, even if `include` matches them.
        policy: TopicCreationPolicy that defines the group; empty for the connector's own `topic.creation.*`.
    """

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]
    include: tuple[JavaPattern, ...] = ()
    exclude: tuple[JavaPattern, ...] = ()
    policy: str = ""

    def matches(self, topic: str) -> bool:
        """Return whether the patterns match a topic."""
        return any(p.matches(topic) for p in self.include) and not any(p.matches(topic) for p in self.exclude)

    @property
    def where(self) -> str:
        """Return the location of the rule in the user's configuration, for messages."""
        if not self.policy:
            return f"{PREFIX}{self.name}"
        part = _DEFAULT if self.name == _DEFAULT else f"group {self.name}"
        return f"{part} of the TopicCreationPolicy {self.policy}"

    @property
    def factor_field(self) -> str:
        """Return the location of the replication factor in the user's configuration, for messages."""
        return f"replicationFactor in {self.where}" if self.policy else f"{self.where}.replication.factor"


@dataclass(frozen=True, slots=True)
class TopicRules:
    """Rules of one source."""

    groups: tuple[TopicGroup, ...]
    default: TopicGroup

    @classmethod
    def of(cls, properties: Mapping[str, str], *, enabled: bool) -> "TopicRules | None":
        """Return the rules among the properties of a source; None if there are none, or if the worker disables them.

        If they are disabled, only the list of groups is checked, as in Kafka Connect.

        Args:
            properties: properties of the connector.
            enabled: `topic.creation.enable` of the worker.

        Raises:
            ConfigError: the rules are invalid; contains all problems.
        """
        own = {n.removeprefix(PREFIX): t for n, t in properties.items() if n.startswith(PREFIX)}
        problems: list[Problem] = []
        listed = _attempt(_Groups, own, PREFIX, problems)
        if not own or (not enabled and not problems):
            return None
        if not enabled:
            raise ConfigError(problems)
        default = _attempt(_Default, _below(_DEFAULT, own), f"{PREFIX}{_DEFAULT}.", problems)
        # Report problems of the groups even if the list itself is invalid.
        names = listed.groups if listed is not None else items(own["groups"])
        parsed = {
            name: _attempt(_Group, _below(name, own), f"{PREFIX}{name}.", problems)
            for name in dict.fromkeys(names)
            if name != _DEFAULT
        }
        if problems or default is None:
            raise ConfigError(problems)
        rest = TopicGroup(_DEFAULT, default.partitions, default.replication_factor, _settings(_DEFAULT, own))
        groups = (
            _group(name, group, rest, _settings(name, own)) for name, group in parsed.items() if group is not None
        )
        return cls(tuple(groups), rest)

    @classmethod
    def of_policy(cls, rules: PolicyRules) -> "TopicRules":
        """Return the rules of a TopicCreationPolicy. Each pattern is compiled separately.

        Raises:
            ValueError: a pattern is not a Java regular expression, or one that this runtime does not support.
        """

        def group(given: PolicyGroup) -> TopicGroup:
            return TopicGroup(
                given.name,
                given.partitions,
                given.replication_factor,
                given.config,
                tuple(map(compile_java, given.include)),
                tuple(map(compile_java, given.exclude)),
                rules.policy,
            )

        return cls(tuple(map(group, rules.groups)), group(rules.default))

    def group_of(self, topic: str) -> TopicGroup:
        """Return the group whose rule creates a topic: the first that matches it, else the default group."""
        return next((group for group in self.groups if group.matches(topic)), self.default)


def ineffective_properties(properties: Mapping[str, str]) -> Iterator[Problem]:
    """Yield warnings for `topic.creation.*` properties that have no effect, or probably not the intended one."""
    own = {n.removeprefix(PREFIX): t for n, t in properties.items() if n.startswith(PREFIX)}
    try:
        names = _Groups.parse(own).groups
    except ConfigError:
        return
    if _DEFAULT in names:
        yield Problem(f"{PREFIX}groups", "default need not be listed: it applies to topics that match no group")
    known = {*names, _DEFAULT}
    for name in own:
        if name == "groups":
            continue
        if name == _ENABLE:
            yield Problem(
                f"{PREFIX}{name}",
                "has no effect in a connector: it is a worker property (`worker` in the chart's values); remove it here",
            )
            continue
        fitting = [group for group in known if name.startswith(f"{group}.")]
        if not fitting:
            group = name.partition(".")[0]
            near = nearest(group, known)
            yield Problem(
                f"{PREFIX}{name}",
                f"has no effect: {group} is not in the list {PREFIX}groups"
                + (f"; did you mean {near}?" if near else ""),
            )
            continue
        group = max(fitting, key=len)
        setting = name.removeprefix(f"{group}.")
        if group == _DEFAULT and setting in ("include", "exclude"):
            yield Problem(f"{PREFIX}{name}", "has no effect: the default group applies to topics that match no group")
        elif setting not in _OWN and (near := nearest(setting, _OWN)):
            yield Problem(
                f"{PREFIX}{name}",
                f"is passed to Kafka as the topic setting {setting}; did you mean {PREFIX}{group}.{near}?",
            )


def _attempt(config: type[_C], texts: Mapping[str, str], prefix: str, problems: list[Problem]) -> _C | None:
    try:
        return config.parse(texts, prefix)
    except ConfigError as e:
        problems += e.problems
        return None


def _group(name: str, group: _Group, default: TopicGroup, settings: Mapping[str, str]) -> TopicGroup:
    return TopicGroup(
        name,
        default.partitions if group.partitions is None else group.partitions,
        default.replication_factor if group.replication_factor is None else group.replication_factor,
        settings,
        # Without patterns these match only the empty name, which no topic has.
        (compile_java("|".join(group.include)),),
        (compile_java("|".join(group.exclude)),),
    )


def _below(group: str, own: Mapping[str, str]) -> dict[str, str]:
    prefix = f"{group}."
    return {n.removeprefix(prefix): t for n, t in own.items() if n.startswith(prefix) and n != prefix}


def _settings(group: str, own: Mapping[str, str]) -> dict[str, str]:
    return {n: t for n, t in _below(group, own).items() if n not in _OWN}
