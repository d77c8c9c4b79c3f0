"""The errors that Penstock and its plugins raise, split by what follows from them.

    ConnectError                  something failed; the task fails and is restarted by its restart policy
    ├── ConfigError               the configuration is wrong; nothing is tried again until it changes
    ├── DataError                 one record does not fit; `errors.tolerance` decides
    │   └── SchemaBuilderError    a schema cannot be built (a field name twice, say)
    ├── RetriableError            passing trouble; the same work is tried again after a while
    └── Superseded                a newer incarnation of the task has taken over; leaving is no failure

A plugin raises these; anything else that it raises counts as a `ConnectError`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ConfigError", "ConnectError", "DataError", "Problem", "RetriableError", "SchemaBuilderError", "Superseded"]


class ConnectError(Exception):
    """A failure that stops the task (Kafka Connect: `ConnectException`)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a configuration: the property, and a sentence that says what to do."""

    property: str
    message: str

    def __str__(self) -> str:
        """Show the property first, since that is what the reader looks for."""
        return f"{self.property}: {self.message}" if self.property else self.message


class ConfigError(ConnectError):
    """The configuration is wrong (Kafka Connect: `ConfigException`).

    Carries every problem at once. `ConfigError("text")` is one problem without a property. `warnings` are what stands
    beside the problems and may explain them.
    """

    def __init__(self, problems: Iterable[Problem] | Problem | str, warnings: Iterable[Problem] = ()) -> None:
        if isinstance(problems, str):
            problems = (Problem("", problems),)
        elif isinstance(problems, Problem):
            problems = (problems,)
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.warnings: tuple[Problem, ...] = tuple(warnings)
        super().__init__("\n".join(map(str, self.problems)))


class DataError(ConnectError):
    """A record's data does not fit (Kafka Connect: `DataException`)."""


class SchemaBuilderError(DataError):
    """A schema cannot be built (Kafka Connect: `SchemaBuilderException`)."""


class RetriableError(ConnectError):
    """Passing trouble; the same work may succeed later (Kafka Connect: `RetriableException`).

    Args:
        message: what happened.
        retry_after: seconds to wait before the next try; the caller's back-off when None.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Superseded(ConnectError):
    """A newer incarnation of this task exists; this one must write nothing more."""
