"""Partitions that a sink has paused in its context. Safe for all threads of the plugin."""

import threading
from collections.abc import Collection, Iterable, Sequence

from penstock.errors import ConnectError
from penstock.sink import TopicPartition

__all__ = ["PausedPartitions"]


class PausedPartitions:
    """Pauses that a sink has requested, until it resumes them or its partitions are closed.

    They are only collected here: the task's loop acts on `wanted` between two batches.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()
        self._unseen: set[TopicPartition] = set()
        """Partitions paused since the loop last checked. One resumed by then is still held briefly, so that records that the
        sink did not write are read again."""

    @property
    def wanted(self) -> frozenset[TopicPartition]:
        """Partitions that must not be read."""
        with self._lock:
            return frozenset(self._paused | self._unseen)

    def holding(self, partitions: Iterable[TopicPartition]) -> None:
        """Record that the loop holds these partitions."""
        with self._lock:
            self._unseen.difference_update(partitions)

    def opening(self, partitions: Iterable[TopicPartition]) -> None:
        """Record that the sink is about to get these partitions."""
        with self._lock:
            self._open.update(partitions)

    def closed(self, partitions: Iterable[TopicPartition]) -> None:
        """Record that the sink no longer has these partitions; forget their pauses, as Kafka Connect does."""
        with self._lock:
            self._open.difference_update(partitions)
            self._paused.difference_update(partitions)
            self._unseen.difference_update(partitions)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        """See `SinkTaskContext.pause`."""
        with self._lock:
            self._check(partitions, "pause")
            self._paused.update(partitions)
            self._unseen.update(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        """See `SinkTaskContext.resume`."""
        with self._lock:
            self._check(partitions, "resume")
            self._paused.difference_update(partitions)

    def _check(self, partitions: Sequence[object], what: str) -> None:
        for given in partitions:
            if not isinstance(given, TopicPartition):
                raise TypeError(
                    f"{what} takes each TopicPartition as an argument, such as {what}(TopicPartition('orders', 0)); it was "
                    f"called with a value of type {type(given).__qualname__}"
                )
        unknown = {of for of in partitions if isinstance(of, TopicPartition)} - self._open
        if unknown:
            raise ConnectError(
                f"cannot {what} {_names(unknown)}: a sink can {what} only partitions assigned to its task, from `open` "
                f"to `close` (currently {_names(self._open) or 'none'}); tell the plugin's author"
            )


def _names(partitions: Collection[TopicPartition]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions))
