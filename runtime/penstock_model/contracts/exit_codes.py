"""How a process says by its exit code what became of it; the same numbers for a task and for `penstock run`."""

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """Exit codes. A process that a signal ended has the signal's, as always."""

    OK = 0
    """Stopped when asked."""
    FAILED = 1
    """A task failed; the message says why."""
    CONFIG_INVALID = 2
    """The manifests or the configuration are wrong; nothing was started."""
    SUPERSEDED = 3
    """A newer incarnation works elsewhere; nothing has failed."""
    LOST = 4
    """Infrastructure failed (Spark's JVM is gone): start it again at once."""
    UNAVAILABLE = 5
    """Something that is needed is missing: Java, Kafka, a free data folder."""
    STALLED = 6
    """The task's loop stood still, and who asks for its health ended it: start it again at once."""
    INTERRUPTED = 130
    """A second Ctrl-C ended it at once."""
