"""Warn when another client has set offsets in a running sink's group, before they are overwritten."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from penstock.sink import TopicPartition
from penstock_runtime.kafka.consumers import RecordConsumer

__all__ = ["ForeignCommits"]

log = logging.getLogger(__name__)
_OFTEN: Final = 1.0
"""Minimum seconds between two checks."""
_NAMED: Final = 3


class ForeignCommits:
    """Detector of offsets in the group that this task has not committed.

    Args:
        consumer: reads the group's offsets.
        clock: seconds, monotonic.
    """

    def __init__(self, consumer: RecordConsumer, clock: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._clock = clock
        self._looked = clock() - _OFTEN

    def look(self, committed: Mapping[TopicPartition, int], following: Mapping[TopicPartition, int]) -> None:
        """Warn if the group's offsets differ from this task's last commits. Sends one request, at most one per second.

        Args:
            committed: last commits of this task; a partition whose last commit was not answered is not included.
            following: offsets that are about to be committed.

        Raises:
            RetriableError, ConnectError: no answer, or not authorized.
        """
        known = {tp: committed[tp] for tp in following if tp in committed}
        if not known or self._clock() - self._looked < _OFTEN:
            return
        self._looked = self._clock()
        held = self._consumer.committed(known)
        changed = [
            f"{tp.topic}-{tp.partition} from {offset} to {held.get(tp, 'none')} (now {following[tp]})"
            for tp, offset in known.items()
            if held.get(tp) != offset
        ]
        if changed:
            more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
            log.warning(
                "Another client has set offsets of group '%s', which this task commits: %s%s. They are overwritten, and "
                "the task continues from its own position. To set offsets of a sink, stop its connector first",
                self._consumer.group,
                ", ".join(changed[:_NAMED]),
                more,
            )
