"""Collect problems and warnings of a plan, whose plugins may raise anything."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from penstock import ConfigError, ConnectError, Problem, RetriableError
from penstock_model.connect.redaction import Redactor
from penstock_model.resources.partial import Reading
from penstock_model.validation import findings
from penstock_model.validation.findings import names_of
from penstock_runtime.java_plugins.java_error import JvmLost, JvmOutOfMemory
from penstock_runtime.process.plugin_place import raised_in

__all__ = ["Findings", "names_of"]

T = TypeVar("T")


@dataclass
class Findings(findings.Findings):
    """Problems and warnings, in the order in which they were found.

    Attributes:
        unavailable: error because something that a plugin needs is unavailable (an external system, memory for its JVM),
            so that it is unknown whether the configuration is valid.
    """

    unavailable: ConnectError | None = None

    def attempt_plugin(self, name: str, what: str, work: Callable[[], T]) -> T | None:
        """Call plugin code, which may raise anything, as `attempt` does.

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

    def raise_for(
        self, reading: Reading, unresolved: Iterable[Problem], redactor: Redactor, unknown: Iterable[str] = ()
    ) -> None:
        """Raise ConfigError with all problems, if there are any; otherwise raise `unavailable`, if set."""
        super().raise_for(reading, unresolved, redactor, unknown)
        error = self.unavailable
        if isinstance(error, RetriableError):
            raise RetriableError(redactor(str(error)), error.retry_after) from error
        if error is not None:
            raise type(error)(redactor(str(error))) from error
