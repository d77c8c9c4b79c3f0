"""Collects what is wrong and what is worth a warning, so that a user sees all of it at once."""

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
        problems: make the configuration wrong.
        warnings: do not.
        away: what a plugin needs is not there now (a system outside, memory for its JVM), so it is not known whether the
            configuration is right.
    """

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    away: ConnectError | None = None

    def refuse(self, name: str, message: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(name, message))

    def warn(self, name: str, message: str) -> None:
        """Add a warning."""
        self.warnings.append(Problem(name, message))

    def attempt(self, work: Callable[[], T]) -> T | None:
        """The result of `work`; None when it raised `ConfigError`, whose problems are added."""
        try:
            return work()
        except ConfigError as e:
            self.problems += e.problems
            return None

    def attempt_plugin(self, name: str, what: str, work: Callable[[], T]) -> T | None:
        """As `attempt`, for code of a plugin, which may raise anything.

        Args:
            name: the property for problems that name none.
            what: for the message: `InsertField.configure`.
            work: what the plugin does.
        """
        try:
            return work()
        except ConfigError as e:
            self.problems += (Problem(p.property or name, p.message) for p in e.problems)
        except (RetriableError, JvmLost, JvmOutOfMemory) as e:
            self.away = self.away or e
        except ConnectError as e:
            self.refuse(name, str(e))
        except (Exception, SystemExit) as e:  # noqa: BLE001 (foreign code; the user sees which and why)
            self.refuse(name, f"{what} failed: {type(e).__name__}: {e}{raised_in(e)}")
        return None

    def raise_for(self, reading: Reading, unresolved: Iterable[Problem], redactor: Redactor) -> None:
        """Raise ConfigError with all problems, if there are any; else what kept a plugin from an answer, if something did.

        Args:
            reading: of the resource's text. A problem there is reported once, not again as a value of the wrong type.
            unresolved: variables without a value; likewise.
            redactor: masks secrets in messages.
        """
        wrong = [*reading.problems, *unresolved]
        names = names_of(wrong)
        found = [p for p in self.problems if not _covered(p.property, names)]
        if {"config", "spec", "spec.config"} & {
            p.property for p in reading.problems
        }:  # all properties would be missing
            found = [p for p in found if p.property.startswith("spec.")]
        # What is missing is often there under a mistyped name, which is a warning.
        meant = {w.message.rpartition("did you mean ")[2].rstrip("?"): w.property for w in self.warnings}
        problems = [*wrong, *(_mistyped(p, meant.get(p.property)) for p in found)]
        if problems:
            refused = {p.property for p in problems}  # one answer: no advice about what is refused all the same
            warnings = [w for w in self.warnings if w.property and w.property not in refused]
            raise ConfigError(
                dict.fromkeys(redactor.problem(reading.named(p)) for p in problems),
                [redactor.problem(reading.named(w)) for w in warnings],
            )
        if isinstance(self.away, RetriableError):
            raise RetriableError(redactor(str(self.away)), self.away.retry_after) from self.away
        if self.away is not None:
            raise type(self.away)(redactor(str(self.away))) from self.away


def names_of(problems: Iterable[Problem]) -> set[str]:
    """What these are about, also where a property was written under `spec` that belongs under `spec.config`."""
    names: set[str] = set()
    for problem in problems:
        own = {problem.property.removeprefix(prefix) for prefix in ("", "spec.", "spec.config.")}
        # A wrong value for one of these properties chooses it; null chooses none.
        names |= own if problem.message == NULL or not own & _EITHER else own | _EITHER
    return names


def _mistyped(problem: Problem, written: str | None) -> Problem:
    return Problem(problem.property, f"{problem.message} Was {written} meant?") if written else problem


def _covered(name: str, names: set[str]) -> bool:
    return any(name == n or (name.startswith(f"{n}.") and name not in _EITHER) for n in names)
