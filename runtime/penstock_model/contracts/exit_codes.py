"""Exit codes of tasks and of `penstock run`, which `task/runner.py` and `penstock_cli/run.py` choose."""

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """Exit codes. A process terminated by a signal has that signal's usual exit code."""

    OK = 0
    """The process stopped on request."""
    FAILED = 1
    """A task failed. The message states the cause."""
    CONFIG_INVALID = 2
    """The manifests or the configuration are invalid. Nothing was started."""
    SUPERSEDED = 3
    """A newer incarnation of the task runs elsewhere. Nothing failed."""
    LOST = 4
    """Infrastructure failed (for example, Spark's JVM exited). Restart immediately."""
    UNAVAILABLE = 5
    """A prerequisite is unavailable: Java, Kafka, the data folder."""
    STALLED = 6
    """The task's loop stalled, and the health check stopped it. Restart immediately."""
    INTERRUPTED = 130
    """A second Ctrl-C ended the process immediately."""
