"""Which fields pods have, by the definitions of the Kubernetes client: the API server drops all others. Pure."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import kubernetes
from kubernetes.client import models

__all__ = ["unknown_fields"]

_OF_CONTAINER: Final = frozenset(("env", "envFrom", "resources", "volumeMounts"))
_OWN: Final = frozenset(("labels", "annotations"))
"""Of the template itself, with any keys."""
_MOST: Final = 10
_VERSION: Final = f"Kubernetes 1.{kubernetes.__version__.partition('.')[0]}"
_DEFINITION: Final = re.compile(r"(?:List\[|Dict\[str, )?(\w+)\]?")


def unknown_fields(template: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each field of a Connector's template, at any depth, that pods do not have; the first ten.

    A cluster may be newer than the client, so that this is no reason to refuse one.
    """
    found = [*_unknown_at_the_top(template)]
    more = (
        [f"and {len(found) - _MOST} more fields of spec.template that pods do not have"] if len(found) > _MOST else []
    )
    return (*found[:_MOST], *more)


def _unknown_at_the_top(template: Mapping[str, Any]) -> Iterator[str]:
    for key, value in template.items():
        if key not in _OWN:
            definition = models.V1Container if key in _OF_CONTAINER else models.V1PodSpec
            yield from _unknown(definition, {key: value}, "spec.template")


def _unknown(definition: Any, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    attributes = {camel: snake for snake, camel in definition.attribute_map.items()}
    for key, inner in value.items():
        if key.startswith("$"):  # of a strategic merge patch
            continue
        if key not in attributes:
            near = difflib.get_close_matches(key, attributes, 1)
            told = f"; did you mean {near[0]}?" if near else ""
            yield f"{path}.{key}: pods have no such field in {_VERSION}, and the API server drops it{told}"
            continue
        type_ = definition.openapi_types[attributes[key]]
        name = _DEFINITION.match(type_)
        of = getattr(models, name[1], None) if name else None
        if of is None or not hasattr(of, "openapi_types"):
            continue
        for where, one in _elements(type_, inner):
            yield from _unknown(of, one, f"{path}.{key}{where}")


def _elements(type_: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values of that definition in a field's value, each with how its path goes on."""
    if type_.startswith("List["):
        for number, one in enumerate(value if isinstance(value, list | tuple) else ()):
            name = one.get("name") if isinstance(one, Mapping) else None
            yield f"[{name if isinstance(name, str) else number}]", one
    elif type_.startswith("Dict["):
        for key, one in value.items() if isinstance(value, Mapping) else ():
            yield f"[{key}]", one
    else:
        yield "", value
