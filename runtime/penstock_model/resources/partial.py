"""Read a resource without its invalid fields, so that a problem of one field does not hide those of others. Pure."""

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
"""Replacement for a required string that is missing or invalid."""
_ROUNDS: Final = 8
"""Maximum attempts to read without the invalid parts: after one part is removed, another may be missing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Problems, warnings and field names of the document of a resource.

    Attributes:
        problems: problems that prevent the resource from running.
        warnings: problems that do not.
        names: names that the author used, by field path, where they differ (`connector.class`).
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
    """Return the resource without its invalid parts, and their problems.

    Args:
        model: model of the resource.
        document: the parsed document; it is not modified.
        placeholders: by path, replacements for parts that the model requires.

    Raises:
        ConfigError: the document cannot be read at all; contains all problems.
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
