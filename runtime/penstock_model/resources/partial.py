"""Reads a resource as far as it can be read, so that what is wrong with one field hides nothing of the others. Pure."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from penstock.errors import ConfigError, Problem
from penstock_model.resources.messages import field_problems

__all__ = ["PLACEHOLDER", "Reading", "read_partially"]

M = TypeVar("M", bound=BaseModel)
PLACEHOLDER: Final = "-"
"""Stands for a text that is missing or wrong, where the resource must have one."""
_ROUNDS: Final = 8
"""How often a resource is read anew without what was wrong: a part that is left out may leave another one missing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader knows of the text of a resource.

    Attributes:
        problems: what is wrong with it.
        warnings: what its author should know.
        names: by field path, what the author calls it, where that is not the field path itself (`connector.class`).
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def named(self, problem: Problem) -> Problem:
        """The problem under the name that the author knows."""
        return Problem(self.names.get(problem.property, problem.property), problem.message)


def read_partially(
    model: type[M], document: Mapping[str, Any], needed: Mapping[tuple[str, ...], Any]
) -> tuple[M, list[Problem]]:
    """The resource without what is wrong in it, and everything that is.

    Args:
        model: of the resource.
        document: as it was parsed; stays as it is.
        needed: by path, what stands for a part that the model cannot do without.

    Raises:
        ConfigError: nothing can be made of it; holds every problem.
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
                    _put(rest, path, copy.deepcopy(needed.get(path)))
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
    found: tuple[dict[Any, Any], Any] | None = None
    inner: Any = document
    for part in path:
        key = next((k for k in inner if str(k) == part), None) if isinstance(inner, dict) else None
        if key is None:
            break
        found, inner = (inner, key), inner[key]
    if found is not None:
        parent, key = found
        del parent[key]
