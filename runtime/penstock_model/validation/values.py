"""Check values of properties against a published configuration definition. Pure.

A definition contains only types, bounds and accepted values. The plugin checks the rest during planning.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from penstock.errors import Problem
from penstock_java_compat.property_text import trimmed
from penstock_model.contracts.definitions import ClassDefinition, ConfigKey
from penstock_model.contracts.plugin_mount import PluginType

__all__ = ["value_problems"]

_OF_CONNECTOR: Final = frozenset(("name", "connector.class", "tasks.max"))
_OF_CONVERTER: Final = frozenset(("converter.type",))
_OF_STEP: Final = frozenset(("type",))
_ADDED: Final[Mapping[PluginType, frozenset[str]]] = {
    "source": _OF_CONNECTOR,
    "sink": _OF_CONNECTOR,
    "converter": _OF_CONVERTER,
    "headerConverter": _OF_CONVERTER,
    "transform": _OF_STEP,
    "predicate": _OF_STEP,
}
"""Properties that Kafka Connect and the plan add to those of a Java plugin, by plugin type."""

_BITS: Final[Mapping[str, int]] = {"SHORT": 15, "INT": 31, "LONG": 63}
_JAVA_SUFFIXES: Final = ("d", "D", "f", "F")
"""Suffixes that Java accepts after a DOUBLE."""
_WHOLE: Final = re.compile(r"[+-]?\d{1,400}")


def value_problems(
    definition: ClassDefinition, texts: Mapping[str, str], prefix: str, unknown: Collection[str]
) -> Iterator[Problem]:
    """Yield the problems of a plugin's properties, in the plugin's words.

    Args:
        definition: definition of the plugin.
        texts: its properties, without the prefix.
        prefix: prefix of the names in the user's configuration (`transforms.hoist.`).
        unknown: names, without the prefix, of properties whose values are known only in a pod.
    """
    added = _ADDED.get(definition.type, frozenset()) if definition.is_java else frozenset()
    for key in definition.config:
        if key.name in unknown:
            continue
        name = f"{prefix}{key.name}"
        if (text := texts.get(key.name)) is None:
            if key.required and key.name not in added:
                what = key.documentation.partition(". ")[0].strip()
                message = f'Missing required configuration "{name}" which has no default value. {what}'
                yield Problem(name, message.strip())
        elif why := _fault(key, trimmed(text), is_java=definition.is_java):
            shown = "[hidden]" if key.type == "PASSWORD" else trimmed(text)
            yield Problem(name, f"Invalid value {shown} for configuration {name}: {why}")


def _fault(key: ConfigKey, text: str, *, is_java: bool) -> str | None:
    """Return why the definition does not allow a value."""
    match key.type:
        case "BOOLEAN":
            return None if text.lower() in ("true", "false") else "Expected value to be either true or false"
        case "INT" | "LONG" | "SHORT":
            if not _WHOLE.fullmatch(text):
                return f"Not a number of type {key.type}; write whole digits"
            number = int(text)
            bits = _BITS[key.type]
            # An INT of a Python plugin has any size, unless it has bounds.
            if is_java and not -(1 << bits) <= number < 1 << bits:
                return f"Not a number of type {key.type}"
            return _out_of_bounds(key, number)
        case "DOUBLE":
            try:
                return _out_of_bounds(key, float(text[:-1] if is_java and text[-1:] in _JAVA_SUFFIXES else text))
            except ValueError:
                return "Not a number of type DOUBLE"
        case "STRING" if key.values is not None:
            return _other_word(key, text, key.values)
        case _:
            return None


def _out_of_bounds(key: ConfigKey, number: float) -> str | None:
    if key.minimum is not None and number < key.minimum:
        return f"Value must be at least {key.minimum}"
    if key.maximum is not None and number > key.maximum:
        return f"Value must be no more than {key.maximum}"
    return None


def _other_word(key: ConfigKey, text: str, values: Collection[str]) -> str | None:
    if text in values or (key.any_case and text.lower() in {v.lower() for v in values}):
        return None
    how = " (case insensitive)" if key.any_case else ""
    return f"String must be one of{how}: {', '.join(values)}"
