"""`penstock topics`: by which rule a source's topics would be created, and which limit refuses them (KIP-158)."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from penstock import ConfigError, Problem
from penstock_model.connect.topic_creation_rules import PREFIX, TopicGroup, TopicRules
from penstock_model.connect.topic_limits import TopicLimits, violations
from penstock_model.connect.variables import resolve
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.resources.connector import Connector
from penstock_model.resources.effective_policy import effective_policy
from penstock_runtime.manifests.reader import chosen, read_manifests, read_resources

__all__ = ["show_topics"]

_FIELD: Final = "spec.topicCreationPolicy"
_BROKERS: Final = -1


def show_topics(
    file: str,
    topics: Sequence[str],
    *,
    policy: str | None = None,
    connector: str | None = None,
    secrets: Path | None = None,
    stdin: TextIO | None = None,
    out: TextIO | None = None,
) -> ExitCode:
    """Print a line for each topic: the rule that would create it with what that asks for, or each limit that refuses it.

    Args:
        file: with the Connector; `-` is standard input.
        topics: their names.
        policy: a file with the TopicCreationPolicy that the Connector names; None: it names none.
        connector: the name of the Connector, if the file holds several.
        secrets: where `${secret:..}` is found.
        stdin: stands for standard input.
        out: stands for standard output.

    Returns:
        FAILED where a limit refuses one of them, else OK.

    Raises:
        ConfigError: everything that is wrong with the files.
    """
    found = chosen(read_manifests([file], stdin), connector).connector
    rules, limits = _rules(found, policy, secrets)
    refused = False
    for topic in topics:
        for line in _lines(topic, rules, limits):
            (out or sys.stdout).write(f"{line}\n")
        refused = refused or (rules is not None and bool(violations(limits, topic, rules.group_of(topic))))
    return ExitCode.FAILED if refused else ExitCode.OK


def _rules(
    connector: Connector, file: str | None, secrets: Path | None
) -> tuple[TopicRules | None, Sequence[TopicLimits]]:
    config = connector.spec.config
    own = {n: t for n, t in config.items() if n.startswith(PREFIX)}
    named = connector.spec.topic_creation_policy
    if named is None:
        if file is not None:
            raise ConfigError(Problem(_FIELD, "is missing: the Connector names no policy, so that none applies to it"))
        resolved = resolve(own, secrets)
        if resolved.problems:
            raise ConfigError(resolved.problems)
        return TopicRules.of(resolved.values, enabled=True), ()
    if own:
        raise ConfigError(Problem(n, f"is refused beside {_FIELD}; remove one of them") for n in sorted(own))
    if file is None:
        raise ConfigError(
            Problem("--policy", f"is missing: the Connector names the policy {named.name}; give its file")
        )
    policy = effective_policy(_policy(file, named.name))
    return TopicRules.of_policy(policy.rules), [*map(TopicLimits.of, policy.limits)]


def _policy(file: str, name: str) -> Mapping[str, Any]:
    documents = read_resources(file, "TopicCreationPolicy")
    names = [str((d.get("metadata") or {}).get("name")) for d in documents]
    for own, document in zip(names, documents, strict=True):
        if own == name:
            return document
    raise ConfigError(Problem(_FIELD, f"names {name}, and {file} holds {', '.join(names) or 'no policy'}"))


def _lines(topic: str, rules: TopicRules | None, limits: Sequence[TopicLimits]) -> Iterator[str]:
    if rules is None:
        yield f"{topic}: no rule; the brokers create it, where they do so (auto.create.topics.enable)"
        return
    rule = rules.group_of(topic)
    if reasons := violations(limits, topic, rule):
        yield from (f"{topic}: refused: {reason}" for reason in reasons)
    else:
        yield f"{topic}: {rule.where}: {_asked(rule)}"


def _asked(rule: TopicGroup) -> str:
    settings = [f"{n}={t}" for n, t in sorted(rule.settings.items())]
    return ", ".join((_counted(rule.partitions, "partition"), _counted(rule.replication_factor, "replica"), *settings))


def _counted(number: int, what: str) -> str:
    if number == _BROKERS:
        return f"{what}s as the brokers have them by default"
    return f"{number} {what}{'s' if number > 1 else ''}"
