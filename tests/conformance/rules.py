"""Rules of the table of intended differences: the feature of a case's input that Penstock answers otherwise on purpose.

Each is one line of the table in `docs/differences.md`, which tells what users see instead, and why.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from penstock import ConfigError, DataError, Predicate, Transform
from penstock_java_compat.date_format import PatternError, SimpleDateFormat
from penstock_java_compat.property_text import items, trimmed
from penstock_model.connect import plugin_chain
from penstock_model.connect.errors_config import ErrorsConfig
from penstock_model.connect.topic_creation_rules import TopicRules
from penstock_model.connect.variables import resolve
from penstock_model.kafka_properties.translation import translate
from penstock_model.validation.client_overrides import used
from penstock_plugins.converters._charsets import Charset
from penstock_plugins.converters.json.reader import JsonReader

from .case_files import Case
from .connectors import PLUGINS, planned, worker_of

Rule = Callable[[Case], bool]

__all__ = ["RULES", "as_texts"]


def as_texts(case: Case) -> Case:
    """The case with the numbers and truth values of its configuration as the texts that both read them as."""
    config = case.get("config") or {}
    return {**case, "config": {n: _text(v) for n, v in config.items()}}


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _validated(case: Case) -> bool:
    """Whether Kafka Connect told which properties have errors, of a connector in a version that there is."""
    told = case["area"] == "validation" and "errors" in case["expected"]
    return told and "connector.plugin.version" not in _expected(case)


def _aliases(of: str, config: Case) -> list[str]:
    return list(dict.fromkeys(items(config.get(of) or "")))


def _types(config: Case) -> Iterator[str]:
    for of in ("transforms", "predicates"):
        for alias in _aliases(of, config):
            yield config.get(f"{of}.{alias}.type") or ""


def _taken_kindly(case: Case) -> bool:
    if case["area"] not in ("smt", "transform-config", "predicate", "validation"):
        return False
    config, names = case["config"], [*_types(case["config"])]
    if case["area"] == "validation":
        return _validated_kindly(case)
    if any(re.fullmatch(r"\w+\$(Key|Value)", name.strip()) for name in names):
        return True
    asked = [config.get(f"transforms.{alias}.predicate") for alias in _aliases("transforms", config)]
    return "" in asked or any(name != name.strip() for name in names)


def _validated_kindly(case: Case) -> bool:
    """Validation takes the other names too, and leaves it to the task to fail."""
    config = case["config"]
    if "error" in case["expected"]:
        return False
    converters = [f"{side}.converter" for side in ("key", "value", "header")]
    in_version = [name for name in converters if f"{name}.plugin.version" not in _expected(case)]
    if any(config.get(name) != trimmed(config.get(name) or "") != "" for name in in_version):
        return True
    given = {name: text for name, text in config.items() if text is not None}
    for place in (*plugin_chain.transforms(given), *plugin_chain.predicates(given)):
        name, refused = place.type or "", place.type_property in _expected(case)
        if f"{place.name}.plugin.version" in _expected(case):
            continue
        if re.fullmatch(r"\w+\$(Key|Value)", name) and refused and place.type_property not in _problems(place):
            return True
        if name != trimmed(name) and not refused and _problems(place):
            return True
    return False


def _problems(place: plugin_chain.Place) -> set[str]:
    kind: type[Transform] | type[Predicate] = Transform if place.name.startswith("transforms.") else Predicate
    try:
        found = PLUGINS.find(kind, place.type or "")
        found.cls.Config.parse(place.properties, place.prefix)
    except ConfigError as e:
        return {p.property or place.type_property for p in e.problems}
    return set()


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
    known = _expected(case) - {name for name, text in config.items() if text is None}
    places = [(f"{side}.converter", config.get(f"{side}.converter")) for side in ("key", "value", "header")]
    places += [(f"transforms.{a}", config.get(f"transforms.{a}.type")) for a in _aliases("transforms", config)]
    for place, name in places:
        plugin = re.sub(r"^.*\.|\$.*$", "", (name or "").strip())
        own = {n.removeprefix(f"{place}."): t for n, t in config.items() if n.startswith(f"{place}.") and t is not None}
        wrong = _CONFIGURED.get(plugin)
        if wrong is not None and wrong(own) and not any(e.startswith(f"{place}.") for e in known):
            return True
    return False


def _is_encoding(name: str) -> bool:
    try:
        Charset(trimmed(name))
    except ConfigError:
        return False
    return True


def _is_schema(text: str) -> bool:
    try:
        JsonReader(enveloped=True, replace_null=True, schema_content=text, cache_size=1)
    except DataError:
        return False
    return True


def _length(texts: Mapping[str, str], name: str) -> int:
    return len(texts.get(name, "").split(","))


def _is_date_pattern(text: str) -> bool:
    try:
        SimpleDateFormat(text)
    except PatternError:
        return False
    return True


def _is_path(text: str) -> bool:
    """Whether ExtractField's second syntax takes it: a step that begins with a backtick ends with one."""
    return re.fullmatch(r"(?:(?:`.*?(?<!\\)`(?=\.|$)|(?!`)[^.]*)(?:\.|$))*", text) is not None


_CONFIGURED: Final[Mapping[str, Callable[[Mapping[str, str]], bool]]] = {
    "ExtractField": lambda c: c.get("field.syntax.version", "").upper() == "V2" and not _is_path(c.get("field", "")),
    "HeaderFrom": lambda c: _length(c, "fields") != _length(c, "headers"),
    "InsertField": lambda c: not any(n.endswith(".field") for n in c) or ("static.field" in c) > ("static.value" in c),
    "JsonConverter": lambda c: not _is_schema(trimmed(c.get("schema.content", ""))),
    "SetSchemaMetadata": lambda c: not {"schema.name", "schema.version"} & c.keys(),
    "StringConverter": lambda c: not _is_encoding(c.get("converter.encoding", "utf-8")),
    "TimestampConverter": lambda c: (
        not _is_date_pattern(c.get("format", ""))
        or (trimmed(c.get("target.type", "")) == "string" and not c.get("format", "").strip())
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
        TopicRules.of({n: t for n, t in case["config"].items() if t is not None}, enabled=True)
    except ConfigError as e:
        return bool({p.property for p in e.problems} - _expected(case))
    return False


def _refused_by_clients(case: Case) -> bool:
    if not _validated(case):
        return False
    config = case["config"]
    given = {name: text for name, text in config.items() if text is not None}
    for kind in used("source" if _is_source(case) else "sink", given):
        prefix = f"{kind}.override."
        overrides = {n.removeprefix(prefix): t for n, t in given.items() if n.startswith(prefix) and n != prefix}
        found = translate(kind, overrides, prefix)
        if {p.property for p in (*found.problems, *found.meaningless)} - _expected(case):
            return True
    return False


def _dead_letters_of_sources(case: Case) -> bool:
    if not _validated(case) or not _is_source(case):
        return False
    texts = {n: t for n, t in case["config"].items() if t is not None and n.startswith("errors.deadletterqueue.")}
    try:
        ErrorsConfig.parse(texts)
    except ConfigError as e:
        return bool({p.property for p in e.problems} - _expected(case))
    return False


def _variable_without_value(case: Case) -> bool:
    if "error" in case["expected"] and case["expected"]["error"]["phase"] != "apply":
        return False  # refused there too, if for another reason
    texts = {name: text for name, text in case["config"].items() if isinstance(text, str)}
    told = _expected(case) if case["area"] == "validation" else set()
    return bool({p.property for p in resolve(texts, None).problems} - told)


def _behind_a_version(case: Case) -> bool:
    """More is wrong than the connector's own properties, which another version may not have."""
    if case["area"] != "validation" or "errors" not in case["expected"]:
        return False
    told = _expected(case)
    if "connector.plugin.version" not in told:
        return False
    rest = {name: text for name, text in case["config"].items() if name != "connector.plugin.version"}
    try:
        planned(rest, worker_of(case["input"]["worker"]))
    except ConfigError as e:
        return bool({p.property for p in e.problems} - told - _OWN_OF_FILES)
    return False


_OWN_OF_FILES: Final = {"batch.size", "file", "topic", "transaction.boundary"}
"""What the plugins of files are asked about."""


def _expected(case: Case) -> set[str]:
    return {error["name"] for error in case["expected"]["errors"]}


def _is_of_files(case: Case) -> bool:
    return "FileStream" in str(case["config"].get("connector.class"))


def _is_source(case: Case) -> bool:
    return "FileStreamSource" in str(case["config"].get("connector.class"))


def _schemas_of_header_structs(case: Case) -> bool:
    if case["area"] != "smt" or "record" not in str(case["expected"]):
        return False
    results = case["expected"].get("results", [case["expected"]])
    headers = [h for r in results for h in (r.get("record") or {}).get("headers", ())]
    return any(h["name"].startswith("__") and _is_hollow(h["schema"] or {}) for h in headers)


def _is_hollow(schema: Mapping[str, object]) -> bool:
    """Whether it is the schema of a struct that has a name but no fields, or of a map of nothing."""
    if schema.get("type") == "struct":
        return not schema.get("fields") and "name" in schema
    return schema.get("type") == "map" and schema.get("keys") is None


RULES: Final[Mapping[str, Rule]] = {
    "taken-kindly": _taken_kindly,
    "undefined-predicate": _undefined_predicate,
    "found-too-late": _found_too_late,
    "null-of-the-plugin": _null_of_the_plugin,
    "wrong-topic-rules": _wrong_topic_rules,
    "refused-by-clients": _refused_by_clients,
    "dead-letters-of-sources": _dead_letters_of_sources,
    "variable-without-value": _variable_without_value,
    "behind-a-version": _behind_a_version,
    "schemas-of-header-structs": _schemas_of_header_structs,
}
