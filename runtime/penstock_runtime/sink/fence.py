"""Stop a sink task from writing and committing after a newer incarnation or plan has superseded it.

Kafka does not fence offset commits of a group without members. The task therefore writes its incarnation record before it
reads the group's offsets, and checks for a newer one before each commit. Only a process that is delayed between this check
and its commit can still change the offsets that a newer incarnation has read (docs/decisions, 0013).
"""

import logging
import time
from collections.abc import Callable
from typing import Final

from penstock.errors import ConnectError, RetriableError, Superseded
from penstock_runtime.fencing.incarnation import TaskFence
from penstock_runtime.kafka.compacted_topic import StatusWriter

__all__ = ["IDLE", "SinkFence"]

log = logging.getLogger(__name__)
IDLE: Final = 10.0
"""Maximum seconds until a sink with nothing to commit detects that it was superseded."""
_PATIENCE: Final = 10.0
"""Seconds to wait for an answer before a commit."""


class SinkFence:
    """Check that this process may still commit. Used by one thread.

    Args:
        fence: fence of this process, without transactional ids.
        writer: writes the incarnation record.
        clock: seconds, monotonic.
    """

    def __init__(self, fence: TaskFence, writer: StatusWriter, clock: Callable[[], float] = time.monotonic) -> None:
        self._fence = fence
        self._writer = writer
        self._clock = clock
        self._looked = clock() - IDLE

    def begin(self) -> None:
        """Write the incarnation record; every older incarnation stops at its next check.

        Raises:
            Superseded: a newer one exists.
            RetriableError, ConnectError: Kafka is unavailable, or refuses.
        """
        self._fence.begin(self._writer)

    def check(self) -> None:
        """Check for a newer incarnation, always directly before a commit.

        Raises:
            Superseded: a newer incarnation exists; nothing may be committed any more.
            RetriableError: it is unknown whether one exists.
        """
        try:
            self._fence.look(self._writer, _PATIENCE)
        except Superseded:
            raise
        except ConnectError as e:
            raise RetriableError(
                f"cannot check whether a newer run has taken over this task: the brokers at {self._fence.records.bootstrap} "
                f"do not answer, and nothing is committed until they do: {e}"
            ) from e
        finally:
            self._looked = self._clock()

    def look(self, age: float = IDLE) -> None:
        """Check for a newer incarnation unless a check was tried in the last `age` seconds.

        If Kafka does not answer, return: `check` waits for an answer before the next commit.

        Raises:
            Superseded: a newer incarnation exists.
        """
        if self._clock() - self._looked < age:
            return
        try:
            self._fence.look(self._writer)
        except Superseded:
            raise
        except ConnectError as e:
            log.debug("Cannot check for a newer incarnation: %s", e)
            self._looked = self._clock() + IDLE - age
            return
        self._looked = self._clock()

    def close(self) -> None:
        """Close the connection."""
        self._fence.close()
