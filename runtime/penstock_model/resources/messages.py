"""Messages for invalid fields of a resource: the required value, the actual value, an example.

A value is shown only where it cannot be a secret: not below `_HOLDS_SECRETS`, and not if it is long. Pure.
"""

import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from penstock.config import nearest
from penstock.errors import Problem

__all__ = ["field_problems"]

_HOLDS_SECRETS: Final = (
    ("spec", "config"),
    ("spec", "template"),
    ("spec", "spark", "conf"),
    ("metadata", "labels"),
    ("metadata", "annotations"),
)
_LONGEST_SHOWN: Final = 60
_REQUIRED: Final[Mapping[str, str]] = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "a string",
    "dict": "a mapping",
    "mapping": "a mapping",
    "model": "a mapping",
    "list": "a list",
}
"""Required values by the first word of pydantic's error type (`int_parsing`, `model_type`)."""


def field_problems(model: type[BaseModel], error: ValidationError) -> Iterator[Problem]:
    """Return one problem for each error, with its field path."""
    for e in error.errors(include_url=False):
        path = [str(part) for part in e["loc"] if part != "[key]"]
        yield Problem(".".join(path), _message(model, path, e))


def _message(model: type[BaseModel], path: list[str], e: ErrorDetails) -> str:
    value, context = e["input"], e.get("ctx", {})
    info = _field(model, path)
    match e["type"].partition("_")[0]:
        case "extra":
            return _not_a_field(model, path)
        case "missing":
            return f"is missing{_example(path, info)}"
        case "literal" | "enum":
            words = re.findall(r"'([^']*)'", context["expected"])
            near = nearest(value, words) if isinstance(value, str) else None
            hint = f"; did you mean {near}?" if near else ""
            return f"must be {context['expected']}, not {_shown(path, value)}{hint}"
        case "value":
            return _validator_message(path, value, str(context["error"]))
        case "greater":
            return f"must be at least {context['ge']}, not {_shown(path, value)}"
        case "less":
            return f"must be at most {context['le']}, not {_shown(path, value)}"
        case kind if kind in _REQUIRED:
            return f"must be {_REQUIRED[kind]}, not {_shown(path, value)}{_hint(kind, path, value, info)}"
        case _:
            return f"cannot be {_shown(path, value)}{_example(path, info)}"


def _validator_message(path: list[str], value: object, text: str) -> str:
    """Return the message of a Penstock validator, with the actual value if the message states the required one."""
    if tuple(path[:2]) == ("spec", "config") and isinstance(value, Mapping):
        inner = next(map(str, value), "name")
        name = ".".join([*path[2:], inner])
        return f"is a mapping, but properties are flat; write {name}: ... instead of the nested {inner}: ..."
    plain = text.startswith("must be") and ";" not in text and not isinstance(value, (Mapping, list))
    return f"{text}, not {_shown(path, value)}" if plain and not _may_be_secret(path) else text


def _hint(kind: str, path: list[str], value: object, info: FieldInfo | None) -> str:
    if value is None:
        return "; indent its fields, or remove it" if kind in ("dict", "mapping", "model") else _example(path, info)
    if kind in ("int", "float", "bool") and isinstance(value, str) and _reads_as(kind, value):
        return f"; write {value.strip()} without quotes"
    if kind == "string" and isinstance(value, (bool, int, float)):
        return "; put it in quotes"
    return _example(path, info)


def _reads_as(kind: str, text: str) -> bool:
    pattern = {"int": r"-?[0-9]{1,9}", "float": r"-?[0-9]{1,9}(\.[0-9]{1,9})?", "bool": r"true|false"}[kind]
    return re.fullmatch(pattern, text.strip()) is not None


def _shown(path: list[str], value: object) -> str:
    match value:
        case None:
            return "nothing"
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
        case bool() | int() | float() if not _may_be_secret(path):
            return json.dumps(value)
        case str() if not _may_be_secret(path) and len(value) <= _LONGEST_SHOWN:
            return repr(value)
        case str():
            return "a string"
        case _:
            return "that"


def _may_be_secret(path: list[str]) -> bool:
    # A string where a mapping is required may be a secret, too (`config: ...`).
    return any(tuple(path[: len(p)]) == p for p in _HOLDS_SECRETS)


def _example(path: list[str], info: FieldInfo | None) -> str:
    if info is None or not path:
        return ""
    if info.examples:
        value = info.examples[0]
    elif info.is_required() or info.default is None:
        return ""
    else:
        value = info.default
        value = value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value
    return f"; for example, write {path[-1]}: {_flow(value)}"


def _flow(value: object) -> str:
    """Return a value as YAML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][-A-Za-z0-9_./]*", value):
        return value
    return json.dumps(value)


def _not_a_field(model: type[BaseModel], path: list[str]) -> str:
    name, parent = path[-1], path[:-1]
    known = _names(_part(model, parent))
    if near := nearest(name, known) or _same_letters(name, known):
        return f"is not a field; did you mean {near}?"
    if part := _part_with_field(model, name, parent):
        return f"is not a field here but of {part}; move it there (check its indentation)"
    if parent == ["spec"]:
        return "is not a field of spec; if it is a property of the connector, put it under spec.config"
    return f"is not a field; the fields are {', '.join(known)}" if known else "is not a field; remove it"


def _part_with_field(model: type[BaseModel], name: str, besides: Sequence[str]) -> str | None:
    """Return the part of the resource with a field of this name; the outermost, if there are several."""
    parts: list[tuple[list[str], type[BaseModel]]] = [([], model)]
    for path, part in parts:  # the loop appends inner parts, so outer ones come first
        if path and path != list(besides) and name in _names(part):
            return ".".join(path)
        for field, info in part.model_fields.items():
            inner = _model(info.annotation)
            if inner is not None:
                parts.append(([*path, info.alias or field], inner))
    return None


def _field(model: type[BaseModel], path: list[str]) -> FieldInfo | None:
    part = _part(model, path[:-1])
    if part is None or not path:
        return None
    return next((i for f, i in part.model_fields.items() if path[-1] in (i.alias, f)), None)


def _part(model: type[BaseModel] | None, path: Sequence[str]) -> type[BaseModel] | None:
    for name in path:
        fields = model.model_fields.items() if model is not None else ()
        model = next((_model(i.annotation) for f, i in fields if name in (i.alias, f)), None)
    return model


def _names(part: type[BaseModel] | None) -> list[str]:
    return [i.alias or f for f, i in part.model_fields.items()] if part is not None else []


def _model(annotation: Any) -> type[BaseModel] | None:
    if get_origin(annotation) in (Union, types.UnionType):
        return next((m for a in get_args(annotation) if (m := _model(a))), None)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _same_letters(name: str, known: Sequence[str]) -> str | None:
    """Return the known name with the same letters: `tasksMax` for `tasks.max`, `tasks_max` and `TasksMax`."""
    plain = "".join(filter(str.isalnum, name)).lower()
    return next((k for k in known if k.lower() == plain), None)
