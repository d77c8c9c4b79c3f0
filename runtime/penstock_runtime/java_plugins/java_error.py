"""Java exceptions, and the Python exceptions that represent them."""

from collections.abc import Sequence
from typing import Literal, Self, TypeAlias

from penstock.errors import ConnectError, RetriableError
from penstock_runtime.class_files import use_another_version

__all__ = [
    "JavaError",
    "JavaErrorKind",
    "JvmEnded",
    "JvmLost",
    "JvmOomKilled",
    "JvmOutOfMemory",
    "PluginFailed",
    "exception_of",
]

JavaErrorKind: TypeAlias = Literal["retriable", "unsupported", "data", "fatal"]


class JavaError(Exception):
    """Raised when a plugin threw an exception.

    Attributes:
        kind: `retriable`: Kafka's `RetriableException`; `unsupported`: `UnsupportedOperationException`; `data`: a value that
            was sent does not match its schema; `fatal`: any other.
        text: the exception, its causes, and the remedy if the plugin needs a newer Java.
        trace: Java's stack trace, for the log.
    """

    def __init__(self, kind: JavaErrorKind, causes: Sequence[str], trace: str) -> None:
        shown = list(dict.fromkeys(causes))  # a wrapper often repeats the message of its cause
        self.kind = kind
        self.text = "; caused by ".join(shown)
        if advice := use_another_version(self.text):
            self.text += f": {advice}"
        self.trace = trace
        super().__init__(self.text)


class PluginFailed(ConnectError):
    """Raised when a whole plugin failed, not one record. Like Java's `Error`s, not covered by `errors.tolerance`."""


class JvmEnded(PluginFailed):
    """Raised when the JVM of a plugin has ended, or was killed because it did not answer. The message says how."""

    def during(self, what: str) -> Self:
        """Return the same error, prefixed with the failed operation: `cannot load X`."""
        return type(self)(f"{what}: {self}")


class JvmOutOfMemory(JvmEnded):
    """Raised when the JVM exited because its heap or another part of its memory was full."""


class JvmLost(JvmEnded):
    """Raised when the JVM was killed from outside or was frozen: an infrastructure failure, not one of the plugin."""


class JvmOomKilled(JvmLost):
    """Raised when the kernel's OOM killer killed the JVM: its memory exceeded the container's limit."""


def exception_of(
    class_name: str | None, message: str | None, trace: str | None, *, kind: JavaErrorKind = "fatal"
) -> Exception:
    """Return a Python exception with the name, the message and the stack trace of a Java exception."""
    package, _, name = (class_name or "java.lang.NullPointerException").rpartition(".")
    base = RetriableError if kind == "retriable" else Exception
    error: Exception = type(name, (base,), {"__module__": package})(message or "")
    if trace:
        error.add_note(trace.rstrip())
    return error
