"""Collect problems and warnings, so that a user sees all of them together."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from penstock import ConfigError, ConnectError, Problem, RetriableError
from penstock_model.connect.redaction import Redactor
from penstock_model.resources.partial import Reading
from penstock_model.resources.values import NULL
from penstock_runtime.java_plugins.java_error import JvmLost, JvmOutOfMemory
from penstock_runtime.process.plugin_place import raised_in

__all__ = ["Findings", "names_of"]

T = TypeVar("T")
_EITHER: Final = frozenset(("topics", "topics.regex"))


@dataclass
class Findings:
    """Problems and warnings, in the order in which they were found.

    Attributes:
        problems: errors that make the configuration invalid.
        warnings: findings that do not.
        unavailable: error because something that a plugin needs is unavailable (an external system, memory for its JVM),
            so that it is unknown whether the configuration is valid.
    """

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    unavailable: ConnectError | None = None

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

    def attempt_plugin(self, name: str, what: str, work: Callable[[], T]) -> T | None:
        """Do the same as `attempt` for code of a plugin, which may raise anything.

        Args:
            name: property for problems that name none.
            what: operation for the message, such as `InsertField.configure`.
            work: calls the plugin.
        """
        try:
            return work()
        except ConfigError as e:
            self.problems += (Problem(p.property or name, p.message) for p in e.problems)
        except (RetriableError, JvmLost, JvmOutOfMemory) as e:
            self.unavailable = self.unavailable or e
        except ConnectError as e:
            self.refuse(name, str(e))
        except (Exception, SystemExit) as e:  # noqa: BLE001 (foreign code; the user sees which and why)
            self.refuse(name, f"{what} failed: {type(e).__name__}: {e}{raised_in(e)}")
        return None

    def raise_for(self, reading: Reading, unresolved: Iterable[Problem], redactor: Redactor) -> None:
        """Raise ConfigError with all problems, if there are any; otherwise raise `unavailable`, if set.

        Args:
            reading: reading of the resource's text. Its problems are not reported again as values of the wrong type.
            unresolved: problems of variables without a value, which are also reported only once.
            redactor: masks secrets in messages.
        """
        wrong = [*reading.problems, *unresolved]
        names = names_of(wrong)
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
        error = self.unavailable
        if isinstance(error, RetriableError):
            raise RetriableError(redactor(str(error)), error.retry_after) from error
        if error is not None:
            raise type(error)(redactor(str(error))) from error


def names_of(problems: Iterable[Problem]) -> set[str]:
    """Return the properties of these problems, also if they were written under `spec` instead of `spec.config`."""
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
