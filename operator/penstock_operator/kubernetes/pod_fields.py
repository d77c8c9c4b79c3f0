"""Finds fields that pods do not have, by the definitions of the Kubernetes client: the API server drops them. Pure."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import kubernetes
from kubernetes.client import models

__all__ = ["unknown_fields"]

_OF_CONTAINER: Final = frozenset(("env", "envFrom", "resources", "volumeMounts"))
_OWN: Final = frozenset(("labels", "annotations"))
"""Fields of the template that hold any keys."""
_MOST: Final = 10
_VERSION: Final = f"Kubernetes 1.{kubernetes.__version__.partition('.')[0]}"
_DEFINITION: Final = re.compile(r"(?:List\[|Dict\[str, )?(\w+)\]?")


def unknown_fields(template: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each field in `spec.template`, at any depth, that pods do not have; ten at most.

    They are no reason to refuse a template, since a cluster may be newer than the client.
    """
    unknown = [*_unknown_in_template(template)]
    rest = len(unknown) - _MOST
    more = [f"and {rest} more fields of spec.template that pods do not have"] if rest > 0 else []
    return (*unknown[:_MOST], *more)


def _unknown_in_template(template: Mapping[str, Any]) -> Iterator[str]:
    for key, value in template.items():
        if key not in _OWN:
            definition = models.V1Container if key in _OF_CONTAINER else models.V1PodSpec
            yield from _unknown(definition, {key: value}, "spec.template")


def _unknown(definition: Any, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    attributes = {camel: snake for snake, camel in definition.attribute_map.items()}
    for key, inner in value.items():
        if key.startswith("$"):  # a directive of a strategic merge patch
            continue
        if key not in attributes:
            near = difflib.get_close_matches(key, attributes, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield f"{path}.{key}: pods have no such field in {_VERSION}, and the API server drops it{hint}"
            continue
        type_ = definition.openapi_types[attributes[key]]
        name = _DEFINITION.match(type_)
        inner_definition = getattr(models, name[1], None) if name else None
        if inner_definition is None or not hasattr(inner_definition, "openapi_types"):
            continue
        for suffix, element in _elements(type_, inner):
            yield from _unknown(inner_definition, element, f"{path}.{key}{suffix}")


def _elements(type_: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values in a field that have the definition of its type, each with the end of its path."""
    if type_.startswith("List["):
        for number, element in enumerate(value if isinstance(value, list | tuple) else ()):
            name = element.get("name") if isinstance(element, Mapping) else None
            yield f"[{name if isinstance(name, str) else number}]", element
    elif type_.startswith("Dict["):
        for key, element in value.items() if isinstance(value, Mapping) else ():
            yield f"[{key}]", element
    else:
        yield "", value
