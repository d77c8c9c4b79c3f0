"""Java task of a source or a sink: start it, call it and translate its errors, stop it."""

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
"""Seconds for a task to stop; the whole process has 5 s (`task.shutdown.graceful.timeout.ms`)."""


class JavaTask:
    """Java task, which may be represented by several task objects in a JVM, one after another.

    Args:
        host: the JVM.
        location, class_name: location and class of the connector.
        properties: properties of the task; those of the first task contain its connector.
        context: context of the plugin.

    Attributes:
        epoch: number of the current task object.
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
        """Start another task object. If this is the connector's first task, start the connector before the first object.

        Args:
            method: method of the host that creates the object.
            more: further arguments of this method.

        Raises: as `guarded`.
        """
        if self._connector is not None and not self._has_connector:
            self.guarded("start", self._connector.start)
            self._has_connector = True
        given = {"properties": self.properties, "tags": self._tags, "epoch": self.epoch}
        arguments = {**self._plugin, **given, **more}
        self.guarded("start", lambda: self.host.call(method, None, **arguments))

    def guarded(self, what: str, work: Callable[[], T]) -> T:
        """Do `work`; on failure, raise an error that names the operation `what`.

        Raises:
            RetriableError: the plugin threw a retriable exception.
            ConnectError: the plugin threw another exception, or its JVM has ended.
        """
        try:
            return work()
        except JavaError as e:
            self.raise_error(what, e)
        except JvmEnded as e:
            raise e.during(f"cannot {what} {self.name}") from None

    def raise_error(self, what: str, error: JavaError) -> NoReturn:
        """Log an exception of the plugin, and raise the corresponding error."""
        log.error("Cannot %s %s:\n%s", what, self.name, error.trace.rstrip())
        kind = RetriableError if error.kind == "retriable" else ConnectError
        raise kind(f"cannot {what} {self.name}: {error.text}") from None

    def check(self) -> None:
        """Raise the error that the connector has reported to its context (`raiseError`), if any.

        Raises:
            ConnectError: the connector has reported an error.
        """
        if self._connector is not None and self._connector.error is not None:
            error = self._connector.error
            log.error("%s has raised an error:\n%s", self.name, error.trace.rstrip())
            raise ConnectError(f"{self.name} has raised an error: {error.text}") from None

    def stop(self, lost: str, *, is_end: bool = False) -> None:
        """Stop the task object, or kill the JVM.

        Args:
            lost: consequence for records if the JVM is killed, for the message.
            is_end: whether to stop the connector as well.

        Raises:
            ConnectError: the task did not stop.
        """
        if not self.host.is_open:
            return  # the end has already been reported
        try:
            inside = self.host.call("stop", _STOP + 0.5, millis=int(_STOP * 1000), connector=is_end)
        except (JavaError, JvmEnded) as e:
            self.host.kill()
            raise ConnectError(f"cannot stop {self.name}: {e}") from None
        if inside is not None:
            self.host.kill()
            raise ConnectError(
                f"cannot stop {self.name}: its {inside}() did not return within {_STOP:.0f} s and ignored interrupts; "
                f"its JVM was killed, and {lost}"
            )

    def end(self, lost: str) -> None:
        """Stop the task object and the connector. The JVM still runs transforms and converters."""
        try:
            self.stop(lost, is_end=True)
        except ConnectError as e:
            log.warning("%s", e)
