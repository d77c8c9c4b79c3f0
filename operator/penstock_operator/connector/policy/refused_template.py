"""Find the fields of `spec.template` in an answer with which the API server refuses a pod. Pure."""

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from penstock.errors import Problem
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.refused_pods import Refusal
from penstock_operator.connector.policy.template_policy import without_template
from penstock_operator.errors import Refused

__all__ = ["fields_of_template", "with_refused_template"]

_INDEX: Final = re.compile(r"\[[^]]*]")
_DECODING: Final = re.compile(r"(cannot unmarshal \w+) into Go struct field \w+\.(\S+) of type (\S+)")
"""Pattern of a `BadRequest` about a value of the wrong type: JSON kind, field, Go type."""
_PLACES: Final = ("spec.containers.", "spec.", "metadata.")


def fields_of_template(refused: Refused, template: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return the problems of the template that the API server's answer names; empty: none.

    Args:
        refused: the answer for a pod.
        template: the part of `spec.template` that the pod was created from.
    """
    if refused.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
        return ()
    return tuple(dict.fromkeys(_problems(refused, template)))


def with_refused_template(connector: Connector, refusals: Mapping[str, Refusal]) -> Connector:
    """Return the Connector without its template, if the API server refused a pod for a field of the current template."""
    generation = connector.metadata.generation
    present = (refusals[name] for name in sorted(refusals) if refusals[name].generation == generation)
    problems = tuple(dict.fromkeys(p for refusal in present for p in refusal.template))
    return without_template(connector, problems) if problems else connector


def _problems(refused: Refused, template: Mapping[str, Any]) -> Iterator[Problem]:
    for kind, field, go_type in _DECODING.findall(refused.answer):
        if path := _path(field, template):
            yield Problem(path, f"{kind} into {go_type}")
    for field, message in refused.fields:
        if path := _path(field, template):
            yield Problem(path, message)


def _path(field: str, template: Mapping[str, Any]) -> str | None:
    """Return the path in the template, without list indices, since these include Penstock's items; None: not in it."""
    plain = _INDEX.sub("", field)
    place = next((p for p in _PLACES if plain.startswith(p)), None)
    within = plain.removeprefix(place or "")
    return f"spec.template.{within}" if place is not None and within.partition(".")[0] in template else None
