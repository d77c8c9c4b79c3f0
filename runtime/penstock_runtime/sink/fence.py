"""Stop a sink task from writing and committing after a newer incarnation or plan has superseded it.

Kafka does not fence offset commits of a group without members. So the task writes its incarnation record before it reads the
group's offsets, and looks for a newer one before each commit. Then only a process that is held up between its look and its
commit can change the offsets that a newer incarnation has read (docs/decisions, 0013).
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
"""Seconds for which a sink with nothing to commit may not notice that it was superseded."""
_PATIENCE: Final = 10.0
"""Seconds to wait for an answer before a commit."""


class SinkFence:
    """Right of this process to commit. Used by one thread.

    Args:
        fence: fence of this process, one that fences no transactional ids.
        writer: writes its record.
        clock: seconds, monotonic.
    """

    def __init__(self, fence: TaskFence, writer: StatusWriter, clock: Callable[[], float] = time.monotonic) -> None:
        self._fence = fence
        self._writer = writer
        self._clock = clock
        self._looked = clock() - IDLE

    def begin(self) -> None:
        """Write the record; every older incarnation stops at its next look.

        Raises:
            Superseded: a newer one exists.
            RetriableError, ConnectError: Kafka is unavailable, or refuses.
        """
        self._fence.begin(self._writer)

    def check(self) -> None:
        """Look for a newer incarnation immediately, because a commit follows.

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
                f"The brokers at {self._fence.records.bootstrap} do not say whether a newer run has taken this task over, "
                f"and nothing is committed until they do: {e}"
            ) from e
        finally:
            self._looked = self._clock()

    def look(self, age: float = IDLE) -> None:
        """Look unless a look was tried in the last `age` seconds; without an answer the next commit waits for one.

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
            log.debug("Cannot look for a newer incarnation: %s", e)
            self._looked = self._clock() + IDLE - age
            return
        self._looked = self._clock()

    def close(self) -> None:
        """Close the connection."""
        self._fence.close()
