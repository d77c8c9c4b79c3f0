"""`penstock topics`: shows the rule that would create a source's topics, or the limits that refuse them (KIP-158)."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from penstock import ConfigError, Problem
from penstock_cli.manifests.reader import chosen, read_manifests, read_resources
from penstock_cli.manifests.worker_file import read_texts
from penstock_model.connect.topic_creation_rules import PREFIX, TopicGroup, TopicRules
from penstock_model.connect.topic_limits import TopicLimits, violations
from penstock_model.connect.variables import resolve
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_model.resources.applicable_rules import conflicts
from penstock_model.resources.connector import Connector
from penstock_model.resources.topic_policy_selection import bind, name_of
from penstock_runtime.plugins.config_providers import ConfigProviders

__all__ = ["show_topics"]

_KIND: Final = "TopicCreationPolicy"
_FIELD: Final = "spec.topicCreationPolicyRef"
_BROKERS: Final = -1


def show_topics(
    file: str,
    topics: Sequence[str],
    *,
    policy: str | None = None,
    connector: str | None = None,
    secrets: Path | None = None,
    worker: Path | None = None,
    stdin: TextIO | None = None,
    out: TextIO | None = None,
) -> ExitCode:
    """Print for each topic the rule that would create it, with its settings, or each limit that refuses it.

    Args:
        file: file with the Connector; `-` is standard input.
        topics: their names.
        policy: file with TopicCreationPolicies; those that the Connector names, or that select it, apply. None: no policy.
        connector: name of the Connector, if the file holds several.
        secrets: folder in which `${secret:..}` is looked up.
        worker: file of the worker configuration, for its config providers; None: there is none.
        stdin: read instead of standard input.
        out: written instead of standard output.

    Returns:
        FAILED if a limit refuses one of them, otherwise OK.

    Raises:
        ConfigError: the files are invalid; the error lists all problems.
    """
    found = chosen(read_manifests([file], stdin).connectors, connector).connector
    rules, limits = _rules(found, policy, secrets, {} if worker is None else read_texts(worker))
    refused = False
    for topic in topics:
        for line in _lines(topic, rules, limits):
            (out or sys.stdout).write(f"{line}\n")
        refused = refused or bool(violations(limits, topic, None if rules is None else rules.group_of(topic)))
    return ExitCode.FAILED if refused else ExitCode.OK


def _rules(
    connector: Connector, file: str | None, secrets: Path | None, worker: Mapping[str, str]
) -> tuple[TopicRules | None, Sequence[TopicLimits]]:
    spec, own = connector.spec, connector.metadata
    named = None if spec.topic_creation_policy_ref is None else spec.topic_creation_policy_ref.name
    if named is not None and file is None:
        raise ConfigError(Problem("--policy", f"is missing: the Connector names the policy {named}; pass its file"))
    documents = () if file is None else [d for d in read_resources(file, _KIND) if _is_in_namespace(d, own.namespace)]
    found = bind(named, own.labels, spec.config, documents)
    problems = conflicts(found)
    if found.missing:
        held = ", ".join(map(name_of, documents)) or "no policy"
        problems.append(Problem(_FIELD, f"names {found.missing}, but {file} has {held}"))
    if problems:
        raise ConfigError(problems)
    if file is not None and found.policy is None and not found.selected and named is None:
        raise ConfigError(
            Problem(_FIELD, f"is missing, and no policy in {file} selects the Connector; set it, or omit --policy")
        )
    policy = found.policy or TopicPolicy()
    limits = [*map(TopicLimits.of, policy.limits)]
    if policy.rules is not None:
        return TopicRules.of_policy(policy.rules), limits
    given = {n: t for n, t in spec.config.items() if n.startswith(PREFIX)}
    with ConfigProviders(worker, secrets) as providers:
        texts = resolve(given, secrets, providers=providers.table).checked()
    return TopicRules.of(texts, enabled=True), limits


def _is_in_namespace(document: Mapping[str, Any], namespace: str | None) -> bool:
    other = (document.get("metadata") or {}).get("namespace")
    return other is None or namespace is None or other == namespace


def _lines(topic: str, rules: TopicRules | None, limits: Sequence[TopicLimits]) -> Iterator[str]:
    rule = None if rules is None else rules.group_of(topic)
    if reasons := violations(limits, topic, rule):
        yield from (f"{topic}: refused: {reason}" for reason in reasons)
    elif rule is None:
        yield f"{topic}: no rule; the brokers create it if auto.create.topics.enable is set"
    else:
        yield f"{topic}: {rule.where}: {_asked(rule)}"


def _asked(rule: TopicGroup) -> str:
    settings = [f"{n}={t}" for n, t in sorted(rule.settings.items())]
    return ", ".join((_counted(rule.partitions, "partition"), _counted(rule.replication_factor, "replica"), *settings))


def _counted(number: int, what: str) -> str:
    if number == _BROKERS:
        return f"the brokers' default number of {what}s"
    return f"{number} {what}{'s' if number > 1 else ''}"
