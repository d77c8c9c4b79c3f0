"""Warns of offsets that another client has set in a running sink's group, before they are overwritten."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from penstock.sink import TopicPartition
from penstock_runtime.kafka.consumers import RecordConsumer

__all__ = ["ForeignCommits"]

log = logging.getLogger(__name__)
_OFTEN: Final = 1.0
"""Seconds between two looks at least."""
_NAMED: Final = 3


class ForeignCommits:
    """Compares what a group holds with what this task has committed last.

    Args:
        consumer: knows the group.
        clock: seconds, monotonic.
    """

    def __init__(self, consumer: RecordConsumer, clock: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._clock = clock
        self._looked = clock() - _OFTEN

    def look(self, committed: Mapping[TopicPartition, int], following: Mapping[TopicPartition, int]) -> None:
        """Warn where the group holds something else. One request; none within a second of the last.

        Args:
            committed: this task's last commits; a partition whose last commit was not answered is not among them.
            following: what is committed now.

        Raises:
            RetriableError, ConnectError: no answer, or not authorised.
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
                "reading goes on where it is. To set a sink's offsets, stop its connector first, and start it afterwards",
                self._consumer.group,
                ", ".join(changed[:_NAMED]),
                more,
            )
