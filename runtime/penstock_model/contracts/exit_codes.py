"""Exit codes of tasks and of `penstock run`."""

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """Exit codes. A process that a signal ended has the code of the signal, as usual."""

    OK = 0
    """The process stopped on request."""
    FAILED = 1
    """A task failed. The message has the cause."""
    CONFIG_INVALID = 2
    """The manifests or the configuration are wrong. Nothing was started."""
    SUPERSEDED = 3
    """A newer incarnation of the task runs elsewhere. Nothing failed."""
    LOST = 4
    """Infrastructure failed (Spark's JVM ended, for example). Restart immediately."""
    UNAVAILABLE = 5
    """A prerequisite is missing: Java, Kafka, a free data folder."""
    STALLED = 6
    """The task's loop stalled, and the health check ended it. Restart immediately."""
    INTERRUPTED = 130
    """A second Ctrl-C ended the process immediately."""
