"""Topics that an edited Connector would create, as far as they are known without its plugin. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock_cli.kubectl.plan_changes import Change
from penstock_cli.text_table import printable, text_table
from penstock_java_compat.property_text import trimmed
from penstock_model.connect.plugin_chain import transforms
from penstock_model.connect.plugin_names import BUILT_INS, ENDINGS, aliases, is_built_in
from penstock_model.connect.topic_creation_rules import TopicGroup
from penstock_model.connect.topic_limits import TopicLimits, violations
from penstock_model.connect.variables import has_variable
from penstock_model.resources.applicable_rules import ApplicableRules, applicable_rules
from penstock_model.resources.values import text_of

__all__ = ["concerns_topics", "planned_topics"]

_FIELDS: Final = frozenset(("config", "class", "version", "labels", "topicCreationPolicyRef"))
_TITLE: Final = "Topics that would be created, if they do not exist"
_HEAD: Final = ("TOPIC", "PARTITIONS", "REPLICATION", "SETTINGS", "FROM")
_DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
_FACTOR: Final = "errors.deadletterqueue.topic.replication.factor"
_OFFSETS: Final = "offsets.storage.topic"
_RENAMING: Final = ("RegexRouter", "TimestampRouter", "ExtractNewRecordState")
"""Built-in transforms that may replace the topic of a record."""
_OF_BROKERS: Final = "broker's default"
_OF_RELEASE: Final = "of the release"
_NONE: Final = "-"


class _Source(NamedTuple):
    """Topic of a source, or why it is unknown."""

    topic: str = ""
    unknown: str = ""


def concerns_topics(changes: Sequence[Change]) -> bool:
    """Return whether changes may make a Connector create other topics, or create them by other rules."""
    return any(c.field.partition(".")[0] in _FIELDS for c in changes)


def planned_topics(
    after: Mapping[str, Any], before: Mapping[str, Any] | None, policies: Sequence[Mapping[str, Any]] | str
) -> str:
    """Return the topics that would be created, each with its rule; empty: there are none.

    Topics that the Connector has used already exist, and are omitted.

    Args:
        after: the Connector as edited.
        before: the Connector; None: it is new.
        policies: TopicCreationPolicies of its namespace; a string: why they cannot be read.
    """
    config = _texts(after)
    internal = [*_internal_topics(config, {} if before is None else _texts(before))]
    status = {} if before is None else before.get("status") or {}
    if _is_sink(config, after, before):
        return _section(_TITLE, internal)
    source = _source(after, config)
    if not source.unknown and source.topic in {t["name"] for t in status.get("activeTopics") or ()}:
        return _section(_TITLE, internal)
    title = f"{_TITLE} ({source.unknown}; check one with `penstock topics`)" if source.unknown else _TITLE
    found = (
        ApplicableRules(unknown=policies) if isinstance(policies, str) else applicable_rules(after, config, policies)
    )
    if found.unknown:
        named = [] if source.unknown else [(source.topic, *[_NONE] * 4)]
        return _section(title, [*named, *internal], [f"The rules are unknown: {found.unknown}"])
    rules, lines = found.rules, list[str]()
    if source.unknown:
        limits = [TopicLimits(each.given, None) for each in found.limits]  # without the names that they allow
        cases = [(_matching(rule), rule) for rule in ((*rules.groups, rules.default) if rules else (None,))]
        lines += filter(None, map(_allowed_names, found.limits))
    else:
        limits, cases = [*found.limits], [(source.topic, rules.group_of(source.topic) if rules else None)]
    rows = []
    for name, rule in cases:
        refusals = violations(limits, name, rule)
        rows += [] if refusals else [_row(name, rule)]
        lines += (f"{name}: refused: {text}" for text in refusals)
    return _section(title, [*rows, *internal], lines)


def _section(title: str, rows: Sequence[Sequence[str]], lines: Sequence[str] = ()) -> str:
    if not rows and not lines:
        return ""
    table = text_table([_HEAD, *rows]) if rows else ""
    return f"{title}:\n{table}" + "".join(f"{printable(line)}\n" for line in lines)


def _texts(connector: Mapping[str, Any]) -> dict[str, str]:
    return {name: text_of(value) for name, value in (connector["spec"].get("config") or {}).items()}


def _is_sink(config: Mapping[str, str], after: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool:
    """Return whether the Connector is a sink.

    Its status decides if it has the type and the class is unchanged. Otherwise `topics` or `topics.regex` decides, because
    every valid sink has one of them.
    """
    plugin = {} if before is None else (before.get("status") or {}).get("connector") or {}
    if before is not None and plugin.get("type") and before["spec"]["class"] == after["spec"]["class"]:
        return bool(plugin["type"] == "sink")
    return "topics" in config or "topics.regex" in config


def _source(connector: Mapping[str, Any], config: Mapping[str, str]) -> _Source:
    topic = trimmed(config.get("topic", ""))
    if not topic or not is_built_in("connector", trimmed(connector["spec"]["class"])):
        return _Source(unknown="only the plugin knows their names")
    if has_variable(topic):
        return _Source(unknown="config.topic has a variable")
    if "transforms" in config and has_variable(config["transforms"]):
        return _Source(unknown="config.transforms has a variable")
    renaming = next((p.name for p in transforms(config) if not _keeps_topic(trimmed(p.type or ""))), None)
    return _Source(topic) if renaming is None else _Source(unknown=f"{renaming} may replace their names")


def _keeps_topic(transform: str) -> bool:
    name = transform.partition("$")[0]
    if not is_built_in("transform", name):
        return False
    java = {java for each in _RENAMING for java in BUILT_INS["transform"][each]}
    return name not in java and aliases(name, ENDINGS["transform"]).isdisjoint(_RENAMING)


def _matching(rule: TopicGroup | None) -> str:
    """Return to which topics a rule applies, when their names are unknown."""
    if rule is None or rule.name == "default":
        return "all others" if rule is not None else "all"
    include, exclude = (" | ".join(p.text for p in patterns if p.text) for patterns in (rule.include, rule.exclude))
    return f"{include or 'none'}{f' except {exclude}' if exclude else ''}"


def _allowed_names(limits: TopicLimits) -> str:
    if limits.given.topics is None:
        return ""
    return (
        f"limits.topics of the TopicCreationPolicy {limits.given.policy} allows only {', '.join(limits.given.topics)}"
    )


def _row(topic: str, rule: TopicGroup | None) -> tuple[str, ...]:
    if rule is None:
        return topic, _OF_BROKERS, _OF_BROKERS, _NONE, "the brokers, if auto.create.topics.enable is true"
    settings = ", ".join(f"{n}={t}" for n, t in sorted(rule.settings.items()))
    return topic, _count(rule.partitions), _count(rule.replication_factor), settings or _NONE, rule.where


def _internal_topics(config: Mapping[str, str], before: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the topics that the runtime needs, if their names are new."""
    names = {
        n: text for n in (_DEAD_LETTERS, _OFFSETS) if (text := trimmed(config.get(n, ""))) and text != before.get(n)
    }
    if _DEAD_LETTERS in names:
        factor = trimmed(config.get(_FACTOR, ""))
        yield names[_DEAD_LETTERS], "1", _count(factor) if factor else _OF_RELEASE, _NONE, _DEAD_LETTERS
    if _OFFSETS in names:
        yield names[_OFFSETS], _OF_RELEASE, _OF_RELEASE, "cleanup.policy=compact", _OFFSETS


def _count(number: int | str) -> str:
    return _OF_BROKERS if str(number) == "-1" else str(number)
