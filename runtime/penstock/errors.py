"""Errors that Penstock and its plugins raise, by their consequences.

    ConnectError                  the task fails, and is restarted according to its restart policy
    ├── ConfigError               the configuration is invalid; not retried until it changes
    ├── DataError                 a record is invalid; `errors.tolerance` decides
    │   └── SchemaBuilderError    a schema cannot be built, for example because of a duplicate field name
    ├── RetriableError            a temporary failure; the operation is retried after a back-off
    └── Superseded                a newer incarnation of the task exists; the task stops without failing

Any other exception that a plugin raises is treated as a `ConnectError`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ConfigError", "ConnectError", "DataError", "Problem", "RetriableError", "SchemaBuilderError", "Superseded"]


class ConnectError(Exception):
    """A failure that stops the task (Kafka Connect: `ConnectException`)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a configuration: the property, and a message that states the cause and the remedy."""

    property: str
    message: str

    def __str__(self) -> str:
        """Return the property, if any, followed by the message."""
        return f"{self.property}: {self.message}" if self.property else self.message


class ConfigError(ConnectError):
    """Invalid configuration (Kafka Connect: `ConfigException`).

    Contains all problems of the configuration. `ConfigError("text")` is one problem without a property. `warnings` do not
    invalidate the configuration, but may explain the problems.
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
    """Invalid data in a record (Kafka Connect: `DataException`)."""


class SchemaBuilderError(DataError):
    """A schema cannot be built (Kafka Connect: `SchemaBuilderException`)."""


class RetriableError(ConnectError):
    """A temporary failure: the same operation may succeed later (Kafka Connect: `RetriableException`).

    Args:
        message: the cause.
        retry_after: seconds to wait before the next attempt, or None for the caller's back-off.
        outage: whether every record fails, because a service that all need is unavailable. A transform, predicate or
            converter is then retried without limit, unless `errors.retry.timeout` is set.
    """

    def __init__(self, message: str, retry_after: float | None = None, *, outage: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.outage = outage


class Superseded(ConnectError):
    """A newer incarnation of this task exists; this one must stop writing."""
