"""What the tasks of sources and sinks in a JVM share: their plugin, calls and the errors of these, the end."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeVar

from penstock.context import PluginContext
from penstock.errors import ConnectError, RetriableError
from penstock_runtime.java_plugins.connection import Connection
from penstock_runtime.java_plugins.java_error import JavaError, JvmEnded
from penstock_runtime.java_plugins.jvm_metrics import metric_tags
from penstock_runtime.java_plugins.running_connector import PlannedConnector, RunningConnector

__all__ = ["JavaTask"]

log = logging.getLogger(__name__)
T = TypeVar("T")
_STOP: Final = 3.0
"""Seconds that a task has to stop; the whole process has 5 s (`task.shutdown.graceful.timeout.ms`)."""


class JavaTask:
    """One Java task, of which a JVM may hold several objects one after another.

    Args:
        host: the JVM.
        location, class_name: of the connector.
        properties: of the task; of the first one with its connector in them.
        context: of the plugin.

    Attributes:
        epoch: counts the task objects.
    """

    def __init__(
        self, host: Connection, location: str, class_name: str, properties: Mapping[str, str], context: PluginContext
    ) -> None:
        self.host = host
        self.name = class_name
        self.properties, planned = PlannedConnector.taken_from(properties)
        self.epoch = 0
        self._plugin = {"location": location, "class": class_name}
        self._tags = metric_tags(context)
        self._connector = None if planned is None else RunningConnector(host, self._plugin, planned, context)
        self._has_connector = False

    def start(self, method: str, **more: Any) -> None:
        """Start another task object, and before the first one the connector, if this is its first task.

        Args:
            method: of the host, which makes it.
            more: arguments that this method takes besides.

        Raises: as `guarded`.
        """
        if self._connector is not None and not self._has_connector:
            self.guarded("start", self._connector.start)
            self._has_connector = True
        given = {"properties": self.properties, "tags": self._tags, "epoch": self.epoch}
        arguments = {**self._plugin, **given, **more}
        self.guarded("start", lambda: self.host.call(method, None, **arguments))

    def guarded(self, what: str, work: Callable[[], T]) -> T:
        """Do `work`, and say what was attempted where it fails.

        Raises:
            RetriableError: the plugin threw one that says so.
            ConnectError: it threw another one, or its JVM has ended.
        """
        try:
            return work()
        except JavaError as e:
            self.raise_error(what, e)
        except JvmEnded as e:
            raise e.during(f"cannot {what} {self.name}") from None

    def raise_error(self, what: str, error: JavaError) -> NoReturn:
        """Log an exception of the plugin, and raise what follows from it."""
        log.error("cannot %s %s:\n%s", what, self.name, error.trace.rstrip())
        kind = RetriableError if error.kind == "retriable" else ConnectError
        raise kind(f"cannot {what} {self.name}: {error.text}") from None

    def check(self) -> None:
        """Raise what the connector has raised by its context (`raiseError`).

        Raises:
            ConnectError: it has.
        """
        if self._connector is not None and self._connector.error is not None:
            error = self._connector.error
            log.error("%s has raised an error:\n%s", self.name, error.trace.rstrip())
            raise ConnectError(f"{self.name} has raised an error: {error.text}") from None

    def stop(self, lost: str, *, is_end: bool = False) -> None:
        """Stop the task object, or kill the JVM.

        Args:
            lost: what follows where it is killed.
            is_end: the connector stops too.

        Raises:
            ConnectError: it did not stop.
        """
        if not self.host.is_open:
            return  # whoever noticed the end has reported it
        try:
            inside = self.host.call("stop", _STOP + 0.5, millis=int(_STOP * 1000), connector=is_end)
        except (JavaError, JvmEnded) as e:
            self.host.kill()
            raise ConnectError(f"cannot stop {self.name}: {e}") from None
        if inside is not None:
            self.host.kill()
            raise ConnectError(
                f"cannot stop {self.name}: its {inside}() does not return within {_STOP:.0f} s and ignores interrupts; "
                f"its JVM was killed, and {lost}"
            )

    def end(self, lost: str) -> None:
        """Stop the task object and the connector. The JVM still runs transforms and converters."""
        try:
            self.stop(lost, is_end=True)
        except ConnectError as e:
            log.warning("%s", e)
