"""Read a resource without its wrong fields, so that a problem of one field does not hide those of others. Pure."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from penstock.errors import ConfigError, Problem
from penstock_model.resources.messages import field_problems

__all__ = ["PLACEHOLDER", "Reading", "read_partially"]

_M = TypeVar("_M", bound=BaseModel)
PLACEHOLDER: Final = "-"
"""Replaces a required text that is missing or wrong."""
_ROUNDS: Final = 8
"""How often to repeat reading without the wrong parts: without one part, another may be missing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Problems, warnings and names of the text of a resource.

    Attributes:
        problems: keep the resource from running.
        warnings: do not.
        names: by field path, the name that the author used, if it is another (`connector.class`).
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def named(self, problem: Problem) -> Problem:
        """Return the problem with the name that the author used."""
        return Problem(self.names.get(problem.property, problem.property), problem.message)


def read_partially(
    model: type[_M], document: Mapping[str, Any], placeholders: Mapping[tuple[str, ...], Any]
) -> tuple[_M, list[Problem]]:
    """Return the resource without its wrong parts, and the problems of those.

    Args:
        model: model of the resource.
        document: as parsed; it is not changed.
        placeholders: by path, replacements for parts that the model requires.

    Raises:
        ConfigError: the document cannot be read at all; holds all problems.
    """
    rest = copy.deepcopy(dict(document))
    problems: dict[tuple[str, ...], Problem] = {}
    for _ in range(_ROUNDS):
        try:
            return model.model_validate(rest), list(problems.values())
        except ValidationError as e:
            for error, problem in zip(e.errors(include_url=False), field_problems(model, e), strict=True):
                path = tuple(str(part) for part in error["loc"] if part != "[key]")
                if not any(path[: len(known)] == known for known in problems):
                    problems[path] = problem
                if error["type"] == "missing":
                    _put(rest, path, copy.deepcopy(placeholders.get(path)))
                else:
                    _remove(rest, path)
    raise ConfigError(problems.values())


def _put(document: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    parent = document
    for part in path[:-1]:
        parent = parent[part]
    parent[path[-1]] = value


def _remove(document: dict[str, Any], path: tuple[str, ...]) -> None:
    """Remove the innermost mapping entry on this path."""
    innermost: tuple[dict[Any, Any], Any] | None = None
    inner: Any = document
    for part in path:
        key = next((k for k in inner if str(k) == part), None) if isinstance(inner, dict) else None
        if key is None:
            break
        innermost, inner = (inner, key), inner[key]
    if innermost is not None:
        parent, key = innermost
        del parent[key]
