"""Find invalid fields, types and quantities in a pod template, by the models of the `kubernetes` package. Pure.

The API server drops unknown fields, and rejects a pod with a value of the wrong type without naming the field.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import kubernetes
from kubernetes.client import models

from penstock.errors import Problem

__all__ = ["template_problems"]

_OF_CONTAINER: Final = frozenset(("env", "envFrom", "imagePullPolicy", "resources", "volumeMounts"))
_OWN: Final = frozenset(("labels", "annotations"))
"""Fields of the template that may have any keys."""
_MOST: Final = 10
_VERSION: Final = f"Kubernetes 1.{kubernetes.__version__.partition('.')[0]}"
_TYPE: Final = re.compile(r"(?P<of>List|Dict)?\[?(?:str, )?(?P<element>\w+)\]?")
_QUANTITIES: Final = frozenset(("limits", "requests", "overhead", "sizeLimit", "divisor"))
_QUANTITY: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_SCALARS: Final[Mapping[str, type]] = {"str": str, "int": int, "bool": bool}
_WORDS: Final[Mapping[str, str]] = {"str": "a string", "int": "a whole number", "bool": "true or false"}


def template_problems(template: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return the problems of `spec.template` at any depth, at most ten of them.

    A field that is newer than the package is also rejected, because it cannot be distinguished from a misspelt one.
    """
    found = [*_in_template(template)]
    rest = len(found) - _MOST
    more = [Problem("spec.template", f"has {rest} more problems of this kind")] if rest > 0 else []
    return (*found[:_MOST], *more)


def _in_template(template: Mapping[str, Any]) -> Iterator[Problem]:
    for key, value in template.items():
        if key in _OWN:
            yield from _of_type("Dict[str, str]", value, f"spec.template.{key}")
        else:
            definition = models.V1Container if key in _OF_CONTAINER else models.V1PodSpec
            yield from _of_definition(definition, {key: value}, "spec.template")


def _of_definition(definition: Any, value: Any, path: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield _other(path, "a map", value)
        return
    attributes = {camel: snake for snake, camel in definition.attribute_map.items()}
    for key, inner in value.items():
        if str(key).startswith("$"):  # directive of a strategic merge patch
            continue
        if key not in attributes:
            near = difflib.get_close_matches(str(key), attributes, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield Problem(f"{path}.{key}", f"pods have no such field in {_VERSION}{hint}")
        else:
            type_ = definition.openapi_types[attributes[key]]
            yield from _of_type(type_, inner, f"{path}.{key}", is_quantity=key in _QUANTITIES)


def _of_type(type_: str, value: Any, path: str, *, is_quantity: bool = False) -> Iterator[Problem]:
    if value is None:
        return
    parsed = _TYPE.fullmatch(type_)
    assert parsed is not None, type_
    match parsed["of"]:
        case "List" if isinstance(value, list | tuple):
            for number, element in enumerate(value):
                name = element.get("name") if isinstance(element, Mapping) else None
                place = f"{path}[{name if isinstance(name, str) else number}]"
                yield from _of_element(parsed["element"], element, place, is_quantity=is_quantity)
        case "List":
            yield _other(path, "a list", value)
        case "Dict" if isinstance(value, Mapping):
            for key, element in value.items():
                if not str(key).startswith("$"):
                    yield from _of_element(parsed["element"], element, f"{path}.{key}", is_quantity=is_quantity)
        case "Dict":
            yield _other(path, "a map", value)
        case _:
            yield from _of_element(type_, value, path, is_quantity=is_quantity)


def _of_element(name: str, value: Any, path: str, *, is_quantity: bool) -> Iterator[Problem]:
    definition = getattr(models, name, None)
    if hasattr(definition, "openapi_types"):
        yield from _of_definition(definition, value, path)
    elif value is None:
        return
    elif is_quantity:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            yield _other(path, "a quantity", value)
        elif not _QUANTITY.fullmatch(str(value).strip()):
            yield Problem(path, "is not a quantity: write a number with or without a unit, such as 500m, 2 or 1Gi")
    elif not _is_scalar(value, name):
        yield _other(path, _WORDS[name], value)


def _is_scalar(value: Any, name: str) -> bool:
    """Return whether a value has this scalar type; True for a type without a Python counterpart."""
    scalar = _SCALARS.get(name)
    return scalar is None or (isinstance(value, scalar) and (scalar is bool or not isinstance(value, bool)))


def _other(path: str, wanted: str, value: Any) -> Problem:
    quotes = "; write it in quotes" if wanted == _WORDS["str"] and isinstance(value, bool | int | float) else ""
    return Problem(path, f"must be {wanted}, but is {_kind(value)}{quotes}")


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "a map"
        case None:
            return "empty"
        case _:
            return "a list"
