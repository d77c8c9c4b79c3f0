"""Pydantic's errors about a resource, as sentences for whoever wrote it. Pure."""

import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from penstock.config import nearest
from penstock.errors import Problem

__all__ = ["problems_of"]


def problems_of(model: type[BaseModel], error: ValidationError) -> Iterator[Problem]:
    """One problem for each thing that is wrong, under its field path."""
    for e in error.errors(include_url=False):
        path = [str(part) for part in e["loc"]]
        where = ".".join(path)
        cause = e.get("ctx", {}).get("error")
        if e["type"] == "extra_forbidden":
            known = _fields(model, path[:-1])
            near = nearest(path[-1], known) or _same_letters(path[-1], known)
            hint = f"did you mean {near}?" if near else f"known are {', '.join(known)}"
            yield Problem(where, f"is not a field; {hint}")
        elif e["type"] == "missing":
            yield Problem(where, "is required")
        elif e["type"] == "literal_error" or e["type"] == "enum":
            yield Problem(where, f"must be {e['ctx']['expected']}, not {e['input']!r}")
        elif cause is not None:
            yield Problem(where, str(cause))
        else:
            yield Problem(where, _sentence(e["msg"], e["input"]))


def _sentence(message: str, value: object) -> str:
    text = message[:1].lower() + message[1:]
    text = text.removeprefix("input should be ").removeprefix("value error, ")
    shown = "" if isinstance(value, (dict, list)) else f", not {value!r}"
    return f"must be {text}{shown}"


def _fields(model: type[BaseModel], path: list[str]) -> list[str]:
    """The field names of the part of the resource that a path leads to."""
    for part in path:
        inner = next((_model(i.annotation) for f, i in model.model_fields.items() if part in (i.alias, f)), None)
        if inner is None:
            return []
        model = inner
    return [info.alias or name for name, info in model.model_fields.items()]


def _model(annotation: Any) -> type[BaseModel] | None:
    if get_origin(annotation) in (Union, types.UnionType):
        return next((m for a in get_args(annotation) if (m := _model(a))), None)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _same_letters(name: str, known: list[str]) -> str | None:
    """`tasks.max`, `tasks_max` and `TasksMax` for `tasksMax`."""
    plain = "".join(filter(str.isalnum, name)).lower()
    return next((k for k in known if k.lower() == plain), None)
