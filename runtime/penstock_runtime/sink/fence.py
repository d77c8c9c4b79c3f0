"""Keeps a sink task that a newer life or plan has superseded from writing and committing on.

Kafka fences no commit of offsets to a group without members. So the task writes its incarnation record before it reads the
group's offsets, and looks for a newer one before each commit: what a newer life has found committed is then changed only
by a process that was held up between its look and its commit (docs/decisions, 0013).
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
"""Seconds for which a sink that has nothing to commit may not know that it was superseded."""
_PATIENCE: Final = 10.0
"""Seconds that an answer may take where a commit waits for it."""


class SinkFence:
    """This process's right to commit. Used by one thread.

    Args:
        life: of this process, one that does not fence.
        writer: for its record.
        clock: seconds, monotonic.
    """

    def __init__(self, life: TaskFence, writer: StatusWriter, clock: Callable[[], float] = time.monotonic) -> None:
        self._life = life
        self._writer = writer
        self._clock = clock
        self._looked = clock() - IDLE

    def begin(self) -> None:
        """Write the record; every older life leaves when it looks.

        Raises:
            Superseded: a newer one exists.
            RetriableError, ConnectError: Kafka is away, or refuses.
        """
        self._life.begin(self._writer)

    def check(self) -> None:
        """Look now: a commit follows.

        Raises:
            Superseded: a newer life exists; nothing may be committed any more.
            RetriableError: that could not be found out.
        """
        try:
            self._life.look(self._writer, _PATIENCE)
        except Superseded:
            raise
        except ConnectError as e:
            raise RetriableError(
                f"The brokers at {self._life.records.bootstrap} do not say whether a newer run has taken this task over, "
                f"and nothing is committed until they do: {e}"
            ) from e
        finally:
            self._looked = self._clock()

    def look(self, age: float = IDLE) -> None:
        """Look unless that was tried within so many seconds; where it cannot be found out, the next commit waits for it.

        Raises:
            Superseded: a newer life exists.
        """
        if self._clock() - self._looked < age:
            return
        try:
            self._life.look(self._writer)
        except Superseded:
            raise
        except ConnectError as e:
            log.debug("Cannot look for a newer life: %s", e)
            self._looked = self._clock() + IDLE - age
            return
        self._looked = self._clock()

    def close(self) -> None:
        """Let go of the connection."""
        self._life.close()
