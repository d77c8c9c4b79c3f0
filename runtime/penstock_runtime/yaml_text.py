"""Reads YAML as Kubernetes does: YAML 1.1, without surprises that PyYAML adds, with the line of every mistake.

Unlike PyYAML's own loader: dates and `12:30` are texts, `1e3` is a number, and a key that stands twice in a mapping is
an error (the first value would vanish in silence).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from penstock import ConfigError, Problem
from penstock.resource_values import text_of

__all__ = ["Document", "documents", "flat_texts"]


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: its number from 1, its first line, what it holds (None: nothing)."""

    number: int
    line: int
    value: Any


def documents(text: str) -> Iterator[Document]:
    """The documents of a text, empty ones left out.

    Raises:
        ConfigError: not YAML; names the line and says what to do.
    """
    loader = _Loader(text)
    number = 0
    try:
        while loader.check_node():
            number += 1
            node = loader.get_node()
            if node is None:
                continue
            value = loader.construct_document(node)
            if value is not None:
                yield Document(number, node.start_mark.line + 1, value)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        where = f"line {mark.line + 1}" if mark else "the text"
        raise ConfigError(Problem(where, _advice(text, mark.line if mark else None, e))) from None
    except yaml.YAMLError as e:
        raise ConfigError(f"is not YAML: {e}") from None
    finally:
        loader.dispose()


def flat_texts(mapping: Mapping[Any, Any]) -> dict[str, str]:
    """A flat mapping of strings, numbers and booleans as properties.

    Raises:
        ConfigError: a value is null, a list or a mapping: every one, named.
    """
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    for name, value in mapping.items():
        try:
            texts[str(name)] = text_of(value)
        except ValueError as e:
            problems.append(Problem(str(name), str(e)))
    if problems:
        raise ConfigError(problems)
    return texts


class _Loader(yaml.SafeLoader):
    """SafeLoader with Kubernetes' idea of numbers and of duplicate keys."""

    yaml_implicit_resolvers: Final = {}  # type: ignore[misc]  # filled below, apart from PyYAML's own


class _NotAllowed(yaml.MarkedYAMLError):
    """YAML, but not for us; the problem is a sentence of our own."""


def _unique_mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    mapping: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, (str, int, float, bool)):
            raise _NotAllowed(problem="a key must be a plain text", problem_mark=key_node.start_mark)
        name = key if isinstance(key, str) else text_of(key)
        if name in mapping:
            raise _NotAllowed(
                problem=f"the key {name} stands here a second time; remove one of them",
                problem_mark=key_node.start_mark,
            )
        mapping[name] = loader.construct_object(value_node, deep=True)
    return mapping


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    text = str(loader.construct_scalar(node)).replace("_", "")
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    lower = digits.lower()
    for prefix, base in (("0x", 16), ("0b", 2), ("0o", 8)):
        if lower.startswith(prefix):
            return sign * int(lower[2:], base)
    if lower.isdigit():
        return sign * int(lower, 8 if len(lower) > 1 and lower[0] == "0" else 10)
    return sign * float(lower.lstrip(".") if lower in (".inf", ".nan") else lower)


_Loader.add_constructor("tag:yaml.org,2002:map", _unique_mapping)
_Loader.add_constructor("tag:penstock.dev,2024:number", _number)
for _tag, _pattern, _first in (
    (
        "tag:yaml.org,2002:bool",
        r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
        "yYnNtTfFoO",
    ),
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:merge", r"<<", ["<"]),
    (
        "tag:penstock.dev,2024:number",
        r"[-+]?(0x[0-9a-fA-F_]+|0b[01_]+|0o?[0-7_]+|0|[1-9][0-9_]*|[0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?"
        r"|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.(inf|Inf|INF)|\.(nan|NaN|NAN))",
        "-+0123456789.",
    ),
):
    _Loader.add_implicit_resolver(_tag, re.compile(f"(?:{_pattern})\\Z"), list(_first))


def _advice(text: str, line: int | None, error: yaml.MarkedYAMLError) -> str:
    lines = text.splitlines()
    if line is not None and line < len(lines) and "\t" in re.match(r"\s*", lines[line])[0]:  # type: ignore[index]
        return "is indented by a tab, which YAML does not allow; use spaces"
    return _told(error)


def _told(error: yaml.MarkedYAMLError) -> str:
    told = str(error.problem or error.context)
    return told if isinstance(error, _NotAllowed) else f"is not YAML: {told}"
