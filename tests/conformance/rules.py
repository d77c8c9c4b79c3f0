"""Rules of the table of intended differences: the feature of a case's input that Penstock answers otherwise on purpose.

Each is one line of the table in `docs/differences.md`, which tells what users see instead, and why.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from penstock import ConfigError
from penstock.client_properties import translate
from penstock.topic_creation import TopicRules
from penstock.variables import resolve
from penstock.worker_config import ClientKind

from .case_files import Case

Rule = Callable[[Case], bool]

__all__ = ["RULES"]


def _validated(case: Case) -> bool:
    """Whether Kafka Connect told which properties have errors."""
    return case["area"] == "validation" and "errors" in case["expected"]


def _aliases(of: str, config: Case) -> list[str]:
    text = (config.get(of) or "").strip()
    return [alias for alias in re.split(r"\s*,\s*", text) if alias]


def _types(config: Case) -> Iterator[str]:
    for of in ("transforms", "predicates"):
        for alias in _aliases(of, config):
            yield config.get(f"{of}.{alias}.type") or ""


def _taken_kindly(case: Case) -> bool:
    if case["area"] not in ("smt", "transform-config", "predicate", "validation"):
        return False
    config, names = case["config"], [*_types(case["config"])]
    if any(re.fullmatch(r"\w+\$(Key|Value)", name.strip()) for name in names):
        return True
    if case["area"] == "validation":  # which takes the others too, and leaves it to the task to fail
        found = (config.get(f"{side}.converter") or "" for side in ("key", "value", "header"))
        return any(name != name.strip() for name in found)
    asked = [config.get(f"transforms.{alias}.predicate") for alias in _aliases("transforms", config)]
    return "" in asked or any(name != name.strip() for name in names)


def _undefined_predicate(case: Case) -> bool:
    if not _validated(case):
        return False
    config, known = case["config"], _aliases("predicates", case["config"])
    asked = (config.get(f"transforms.{alias}.predicate") for alias in _aliases("transforms", config))
    return any(name and name not in known for name in asked)


def _found_too_late(case: Case) -> bool:
    if not _validated(case):
        return False
    config = case["config"]
    if str(config.get("transaction.boundary")).strip().lower() == "connector" and _is_source(case):
        return "transaction.boundary" not in _expected(case)  # standalone workers have no transactions
    places = [(f"{side}.converter", config.get(f"{side}.converter")) for side in ("key", "value", "header")]
    places += [(f"transforms.{a}", config.get(f"transforms.{a}.type")) for a in _aliases("transforms", config)]
    for place, name in places:
        plugin = re.sub(r"^.*\.|\$.*$", "", (name or "").strip())
        own = {n.removeprefix(f"{place}."): t for n, t in config.items() if n.startswith(f"{place}.") and t is not None}
        wrong = _CONFIGURED.get(plugin)
        if wrong is not None and wrong(own) and not any(e.startswith(f"{place}.") for e in _expected(case)):
            return True
    return False


def _is_encoding(name: str) -> bool:
    try:
        codecs.lookup(name)
    except LookupError:
        return False
    return True


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _length(texts: Mapping[str, str], name: str) -> int:
    return len(texts.get(name, "").split(","))


def _is_date_pattern(text: str) -> bool:
    """Whether SimpleDateFormat takes it: letters that it knows, quotes in pairs."""
    return re.fullmatch(r"(?:[^A-Za-z']|'[^']*'|[GyYMLwWDdFEuaHkKhmsSzZX])*", text) is not None


def _is_path(text: str) -> bool:
    """Whether ExtractField's second syntax takes it: a step that begins with a backtick ends with one."""
    return re.fullmatch(r"(?:(?:`.*?(?<!\\)`(?=\.|$)|(?!`)[^.]*)(?:\.|$))*", text) is not None


_CONFIGURED: Final[Mapping[str, Callable[[Mapping[str, str]], bool]]] = {
    "ExtractField": lambda c: c.get("field.syntax.version", "").upper() == "V2" and not _is_path(c.get("field", "")),
    "HeaderFrom": lambda c: _length(c, "fields") != _length(c, "headers"),
    "InsertField": lambda c: not any(n.endswith(".field") for n in c) or ("static.field" in c) > ("static.value" in c),
    "JsonConverter": lambda c: bool(c.get("schema.content", "").strip()) and not _is_json(c["schema.content"]),
    "SetSchemaMetadata": lambda c: not {"schema.name", "schema.version"} & c.keys(),
    "StringConverter": lambda c: not _is_encoding(c.get("converter.encoding", "utf-8")),
    "TimestampConverter": lambda c: (
        not _is_date_pattern(c.get("format", ""))
        or (c.get("target.type") == "string" and not c.get("format", "").strip())
    ),
}
"""Rules over the values of a plugin's properties that its `configure` has, and not their validators."""


def _null_of_the_plugin(case: Case) -> bool:
    if not _validated(case) or not _is_of_files(case):
        return False
    nulls = {name for name, text in case["config"].items() if text is None}
    return bool(nulls & {"file", "topic", "batch.size"} - _expected(case))


def _wrong_topic_rules(case: Case) -> bool:
    if not _validated(case) or not _is_source(case):
        return False
    try:
        TopicRules.of({n: str(t) for n, t in case["config"].items()}, enabled=True)
    except ConfigError as e:
        return bool({p.property for p in e.problems} - _expected(case))
    return False


def _refused_by_clients(case: Case) -> bool:
    if not _validated(case):
        return False
    config = case["config"]
    used: tuple[ClientKind, ...] = ("producer",) if _is_source(case) else ("consumer",)
    if config.get("errors.deadletterqueue.topic.name"):
        used = ("producer", "consumer", "admin")
    for kind in used:
        prefix = f"{kind}.override."
        overrides = {n.removeprefix(prefix): str(t) for n, t in config.items() if n.startswith(prefix) and n != prefix}
        found = translate(kind, overrides, prefix)
        if {p.property for p in (*found.problems, *found.meaningless)} - _expected(case):
            return True
    return False


def _variable_without_value(case: Case) -> bool:
    if "error" in case["expected"] and case["expected"]["error"]["phase"] != "apply":
        return False  # refused there too, if for another reason
    texts = {name: text for name, text in case["config"].items() if isinstance(text, str)}
    return bool({p.property for p in resolve(texts, None).problems} - (_expected(case) if _validated(case) else set()))


def _expected(case: Case) -> set[str]:
    return {error["name"] for error in case["expected"]["errors"]}


def _is_of_files(case: Case) -> bool:
    return "FileStream" in str(case["config"].get("connector.class"))


def _is_source(case: Case) -> bool:
    return "FileStreamSource" in str(case["config"].get("connector.class"))


RULES: Final[Mapping[str, Rule]] = {
    "taken-kindly": _taken_kindly,
    "undefined-predicate": _undefined_predicate,
    "found-too-late": _found_too_late,
    "null-of-the-plugin": _null_of_the_plugin,
    "wrong-topic-rules": _wrong_topic_rules,
    "refused-by-clients": _refused_by_clients,
    "variable-without-value": _variable_without_value,
}
