"""Which of its partitions a sink has paused by its context. For all threads of the plugin."""

import threading
from collections.abc import Collection, Iterable, Sequence

from penstock.errors import ConnectError
from penstock.sink import TopicPartition

__all__ = ["PausedPartitions"]


class PausedPartitions:
    """The pauses that a sink asks for, until it resumes them or its partitions are closed.

    They are only noted here: the task's loop acts on `wanted` between two batches.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()
        self._unseen: set[TopicPartition] = set()
        """Paused since the loop looked last. One that is resumed by then is held for a moment all the same, so that what the
        sink did not write of it comes again."""

    @property
    def wanted(self) -> frozenset[TopicPartition]:
        """The partitions that are not to be read."""
        with self._lock:
            return frozenset(self._paused | self._unseen)

    def holding(self, partitions: Iterable[TopicPartition]) -> None:
        """The loop holds these partitions."""
        with self._lock:
            self._unseen.difference_update(partitions)

    def opening(self, partitions: Iterable[TopicPartition]) -> None:
        """The sink is about to get these partitions."""
        with self._lock:
            self._open.update(partitions)

    def closed(self, partitions: Iterable[TopicPartition]) -> None:
        """The sink has these partitions no more: their pauses are forgotten, as in Kafka Connect."""
        with self._lock:
            self._open.difference_update(partitions)
            self._paused.difference_update(partitions)
            self._unseen.difference_update(partitions)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        """As `SinkTaskContext.pause`."""
        with self._lock:
            self._check(partitions, "pause")
            self._paused.update(partitions)
            self._unseen.update(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        """As `SinkTaskContext.resume`."""
        with self._lock:
            self._check(partitions, "resume")
            self._paused.difference_update(partitions)

    def _check(self, partitions: Sequence[object], what: str) -> None:
        for given in partitions:
            if not isinstance(given, TopicPartition):
                raise TypeError(
                    f"{what} takes each TopicPartition as an argument, as {what}(TopicPartition('orders', 0)); it was "
                    f"called with a value of type {type(given).__qualname__}"
                )
        unknown = {of for of in partitions if isinstance(of, TopicPartition)} - self._open
        if unknown:
            raise ConnectError(
                f"The sink cannot {what} {_names(unknown)}: only partitions that are assigned to its task, from `open` "
                f"to `close`, and these are {_names(self._open) or 'none at present'}. Tell the plugin's author"
            )


def _names(partitions: Collection[TopicPartition]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions))
