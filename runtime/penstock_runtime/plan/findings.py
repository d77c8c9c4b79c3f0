"""Collects what is wrong and what is worth a warning, so that a user sees all of it at once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from penstock import ConfigError, ConnectError, Problem

__all__ = ["Findings"]

T = TypeVar("T")


@dataclass
class Findings:
    """Problems and warnings, in the order in which they were found."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

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
        except ConnectError as e:
            self.refuse(name, str(e))
        except Exception as e:  # noqa: BLE001 (foreign code; the user sees which and why)
            self.refuse(name, f"{what} failed: {type(e).__name__}: {e}")
        return None

    def without(self, names: Iterable[str]) -> list[Problem]:
        """The problems that are not about one of these properties."""
        left_out = frozenset(names)
        return [p for p in self.problems if p.property not in left_out]
