"""The errors that Penstock and its plugins raise, by what follows from each.

    ConnectError                  something failed; the task fails and is restarted by its restart policy
    ├── ConfigError               the configuration is wrong; there is no retry until it changes
    ├── DataError                 one record is wrong; `errors.tolerance` decides
    │   └── SchemaBuilderError    a schema cannot be built (a field name twice, say)
    ├── RetriableError            a temporary failure; the same work is retried after a pause
    └── Superseded                a newer incarnation of the task exists; the task ends, which is no failure

A plugin raises these. Any other exception counts as a `ConnectError`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ConfigError", "ConnectError", "DataError", "Problem", "RetriableError", "SchemaBuilderError", "Superseded"]


class ConnectError(Exception):
    """A failure that stops the task (Kafka Connect: `ConnectException`)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a configuration: the property, and a sentence that says what is wrong and what to do."""

    property: str
    message: str

    def __str__(self) -> str:
        """The property first, because readers look for it."""
        return f"{self.property}: {self.message}" if self.property else self.message


class ConfigError(ConnectError):
    """The configuration is wrong (Kafka Connect: `ConfigException`).

    Holds all problems at once. `ConfigError("text")` is one problem without a property. `warnings` do not make the
    configuration wrong, but may explain the problems.
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
    """The data of a record is wrong (Kafka Connect: `DataException`)."""


class SchemaBuilderError(DataError):
    """A schema cannot be built (Kafka Connect: `SchemaBuilderException`)."""


class RetriableError(ConnectError):
    """A temporary failure: the same work may succeed later (Kafka Connect: `RetriableException`).

    Args:
        message: what happened.
        retry_after: seconds to wait before the next try. None: the back-off of the caller.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Superseded(ConnectError):
    """A newer incarnation of this task exists. This one must not write any more."""
