"""Reader of YAML as Kubernetes reads it: YAML 1.1 without PyYAML's surprises, and with the line of every mistake.

Unlike PyYAML's own loader: dates and `12:30` are text, `1e3` is a number, and a key that occurs twice in a mapping is
an error (the first value would be silently lost). A mistake in one document does not hide those in others. JSON is read
as JSON, since it may be indented by tabs.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from penstock import ConfigError, Problem
from penstock_cli.manifests.yaml_advice import advice
from penstock_model.resources.values import text_of

__all__ = ["Document", "documents", "flat_texts"]

_BEGINS: Final = re.compile(r"---(?=\s|\Z)")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file.

    Attributes:
        number: index of the document in its file, from 1.
        line: its first line, from 1.
        value: its content; None if it cannot be read.
        problems: problems of its text, each with its line.
        respelt: values that YAML reads as a number or a boolean whose text differs from the written one (`010` is 8),
            each as the `id()` of its mapping in `value`, and its key.
    """

    number: int
    line: int
    value: Any
    problems: tuple[Problem, ...] = ()
    respelt: frozenset[tuple[int, str]] = frozenset()


def documents(text: str) -> Iterator[Document]:
    """Yield the non-empty documents of a text. Never raises: a document that cannot be read has its problem."""
    text = text.removeprefix("\ufeff")
    if (found := _json(text)) is not None:
        yield found
        return
    number = 0
    for above, part in _parts(text):
        for document in _read(part, above, text):
            number += 1
            if document.value is not None or document.problems:
                yield Document(number, document.line, document.value, document.problems, document.respelt)


def flat_texts(mapping: Mapping[Any, Any]) -> dict[str, str]:
    """Return a flat mapping of strings, numbers and booleans as properties.

    Raises:
        ConfigError: values are null, lists or mappings; the error names all of them.
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


def _json(text: str) -> Document | None:
    """Return the document of a JSON text; None if it is not valid JSON, which may still be valid YAML."""
    if not text.lstrip().startswith("{"):
        return None
    doubled: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        doubled.extend(n for n in dict.fromkeys(names) if names.count(n) > 1)
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        return None
    return Document(1, 1, value, tuple(Problem(n, "occurs twice here; remove one of them") for n in doubled))


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a text, split where documents begin, each with the number of lines above it."""
    lines = text.splitlines(keepends=True)
    begins = [n for n, line in enumerate(lines) if n and _BEGINS.match(line)]
    # Comments and directives above the first `---` are not a separate document.
    if begins and all(not line.strip() or line.lstrip()[0] in "#%" for line in lines[: begins[0]]):
        del begins[0]
    for first, last in zip([0, *begins], [*begins, len(lines)], strict=True):
        yield first, "".join(lines[first:last])


def _read(part: str, above: int, whole: str) -> Iterator[Document]:
    line = above + 1
    try:
        loader = _Loader(part)
    except yaml.YAMLError as e:
        yield Document(0, line, None, (advice(e, part, above, whole),))
        return
    try:
        while loader.check_node():
            node = loader.get_node()
            line = above + node.start_mark.line + 1 if node is not None else line
            loader.doubled, loader.respelt = [], set()
            value = None if node is None else loader.construct_document(node)
            problems = tuple(
                Problem(
                    f"line {above + mark.line + 1}", f"the key {name} occurs here a second time; remove one of them"
                )
                for name, mark in loader.doubled
            )
            yield Document(0, line, value, problems, frozenset(loader.respelt))
    except (yaml.YAMLError, RecursionError, KeyError) as e:  # KeyError: `!!bool x`
        yield Document(0, line, None, (advice(e, part, above, whole),))
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads numbers and reports duplicate keys as Kubernetes does."""

    yaml_implicit_resolvers: Final = {}  # type: ignore[misc]  # filled below, apart from PyYAML's own
    doubled: list[tuple[str, yaml.Mark]]
    respelt: set[tuple[int, str]]


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, (str, int, float, bool)):
            raise yaml.constructor.ConstructorError(None, None, "a key must be a plain string", key_node.start_mark)
        name = key if isinstance(key, str) else text_of(key)
        if name in mapping:
            loader.doubled.append((name, key_node.start_mark))
        value = mapping[name] = loader.construct_object(value_node, deep=True)
        if isinstance(value, (int, float)) and isinstance(value_node.value, str) and not _same(value, value_node.value):
            loader.respelt.add((id(mapping), name))
    return mapping


def _same(value: float, written: str) -> bool:
    try:
        return text_of(value) == (written.lower() if isinstance(value, bool) else written)
    except ValueError:  # not a finite number; another check rejects it
        return True


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | float | str:
    written = str(loader.construct_scalar(node))
    text = written.replace("_", "")
    sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    lower = digits.lower()
    try:
        for prefix, base in (("0x", 16), ("0b", 2), ("0o", 8)):
            if lower.startswith(prefix):
                return sign * int(lower[2:], base)
        if lower.isdigit():
            return sign * int(lower, 8 if len(lower) > 1 and lower[0] == "0" else 10)
        return sign * float(lower.lstrip(".") if lower in (".inf", ".nan") else lower)
    except ValueError:  # 0x_, for example, is not a number, so it is text
        return written


def _refused(loader: _Loader, node: yaml.Node) -> Any:
    raise yaml.constructor.ConstructorError(None, None, "a tag is not allowed in a manifest", node.start_mark)


_Loader.yaml_constructors = {
    tag: constructor
    for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
    if tag is not None and tag.rpartition(":")[2] in ("null", "bool", "seq", "str")
}
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:penstock.dev,2024:number", _number)
_Loader.add_constructor(None, _refused)
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
