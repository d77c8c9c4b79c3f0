"""Collect problems and warnings, so that users see all of them together. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from penstock.errors import ConfigError, Problem
from penstock_model.connect.redaction import Redactor
from penstock_model.resources.partial import Reading
from penstock_model.resources.values import NULL

__all__ = ["Findings", "names_of"]

T = TypeVar("T")
_EITHER: Final = frozenset(("topics", "topics.regex"))


@dataclass
class Findings:
    """Problems and warnings, in the order in which they were found.

    Attributes:
        problems: errors that make the configuration invalid.
        warnings: findings that do not make it invalid.
    """

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def refuse(self, name: str, message: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(name, message))

    def warn(self, name: str, message: str) -> None:
        """Add a warning."""
        self.warnings.append(Problem(name, message))

    def attempt(self, work: Callable[[], T]) -> T | None:
        """Return the result of `work`. If it raises `ConfigError`, add its problems and return None."""
        try:
            return work()
        except ConfigError as e:
            self.problems += e.problems
            return None

    def raise_for(
        self, reading: Reading, unresolved: Iterable[Problem], redactor: Redactor, unknown: Iterable[str] = ()
    ) -> None:
        """Raise ConfigError with all problems, if there are any.

        Args:
            reading: result of reading the resource. Its problems are not reported again as values of the wrong type.
            unresolved: problems of variables without a value, which are also reported only once.
            redactor: masks secrets in messages.
            unknown: properties whose values are unknown. Their problems are not reported.
        """
        wrong = [*reading.problems, *unresolved]
        names = names_of([*wrong, *(Problem(name, "") for name in unknown)])
        found = [p for p in self.problems if not _covered(p.property, names)]
        if {"config", "spec", "spec.config"} & {
            p.property for p in reading.problems
        }:  # all properties would be missing
            found = [p for p in found if p.property.startswith("spec.")]
        # A missing property is often present under a mistyped name, which is a warning.
        meant = {w.message.rpartition("did you mean ")[2].rstrip("?"): w.property for w in self.warnings}
        problems = [*wrong, *(_mistyped(p, meant.get(p.property)) for p in found)]
        if problems:
            refused = {p.property for p in problems}  # no warnings about rejected properties
            warnings = [w for w in self.warnings if w.property and w.property not in refused]
            raise ConfigError(
                dict.fromkeys(redactor.problem(reading.named(p)) for p in problems),
                [redactor.problem(reading.named(w)) for w in warnings],
            )


def names_of(problems: Iterable[Problem]) -> set[str]:
    """Return the properties of these problems, even if they were written under `spec` instead of `spec.config`."""
    names: set[str] = set()
    for problem in problems:
        own = {problem.property.removeprefix(prefix) for prefix in ("", "spec.", "spec.config.")}
        # A wrong value for one of these two properties still sets it; null does not.
        names |= own if problem.message == NULL or not own & _EITHER else own | _EITHER
    return names


def _mistyped(problem: Problem, written: str | None) -> Problem:
    return Problem(problem.property, f"{problem.message} Was {written} meant?") if written else problem


def _covered(name: str, names: set[str]) -> bool:
    return any(name == n or (name.startswith(f"{n}.") and name not in _EITHER) for n in names)
