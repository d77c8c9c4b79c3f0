"""Exceptions of Java, with what follows from them here."""

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
    """An exception that a plugin threw.

    Attributes:
        kind: `retriable`: Kafka's `RetriableException`; `unsupported`: `UnsupportedOperationException`; `data`: a value that
            was sent does not fit its schema.
        text: the exception and its causes, and what to do if the plugin needs a newer Java.
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
    """A failure of a whole plugin, not of one record: `errors.tolerance` does not cover it, as Java's `Error`s."""


class JvmEnded(PluginFailed):
    """The JVM of a plugin has ended, or was ended because it did not answer. The message says how."""

    def during(self, what: str) -> Self:
        """Return the same error with what was attempted before it: `cannot load X`."""
        return type(self)(f"{what}: {self}")


class JvmOutOfMemory(JvmEnded):
    """The JVM has ended itself, since its heap or another part of its memory was full."""


class JvmLost(JvmEnded):
    """The JVM was killed from outside, or was frozen: a loss of the infrastructure, not a failure of the plugin."""


class JvmOomKilled(JvmLost):
    """The kernel's OOM killer has killed the JVM: with all its memory, it did not fit the container."""


def exception_of(
    class_name: str | None, message: str | None, trace: str | None, *, kind: JavaErrorKind = "fatal"
) -> Exception:
    """Return an exception of Python that bears the name, the message and the stack trace of one of Java."""
    package, _, name = (class_name or "java.lang.NullPointerException").rpartition(".")
    base = RetriableError if kind == "retriable" else Exception
    error: Exception = type(name, (base,), {"__module__": package})(message or "")
    if trace:
        error.add_note(trace.rstrip())
    return error
