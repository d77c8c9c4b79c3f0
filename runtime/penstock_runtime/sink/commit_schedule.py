"""Schedule of a sink's commits: soon after new data, with growing pauses while the sink holds data back. Without I/O."""

from collections.abc import Iterable, Mapping

from penstock.sink import TopicPartition

__all__ = ["CommitSchedule"]


class CommitSchedule:
    """Schedule of calls to `Sink.commit`.

    Args:
        interval: minimum seconds between two commits.
        longest: maximum seconds until the next call if the sink returned lower offsets than it was given.
        now: seconds, monotonic.
    """

    def __init__(self, interval: float, longest: float, now: float) -> None:
        self._interval = interval
        self._longest = max(interval, longest)
        self._last = now
        self._pause = interval
        self._asked: dict[TopicPartition, int] = {}
        self._beyond: set[TopicPartition] = set()

    def open(self, positions: Mapping[TopicPartition, int | None], committed: Mapping[TopicPartition, int]) -> bool:
        """Return whether a commit can make progress. It cannot if the sink returned higher offsets than it was given."""
        return any(
            o is not None and committed.get(tp) != o and not (tp in self._beyond and self._asked.get(tp) == o)
            for tp, o in positions.items()
        )

    def due(
        self,
        now: float,
        positions: Mapping[TopicPartition, int | None],
        committed: Mapping[TopicPartition, int],
        *,
        messages: bool,
        asking: bool = False,
    ) -> bool:
        """Return whether to call `Sink.commit` now.

        Args:
            now: seconds, monotonic.
            positions: next offset of each partition.
            committed: committed offsets of the group.
            messages: whether writers have returned messages.
            asking: whether to call it periodically even if nothing is new.
        """
        since = now - self._last
        if since < self._interval:
            return False
        if messages or self._new(positions, committed):
            return True
        return since >= self._pause and (asking or self.open(positions, committed))

    def done(
        self,
        now: float,
        reached: Mapping[TopicPartition, int],
        committed: Mapping[TopicPartition, int],
        *,
        messages: bool,
        beyond: Iterable[TopicPartition],
    ) -> None:
        """Record a call of `Sink.commit`.

        Args:
            now: seconds, monotonic.
            reached: offsets that were passed to the sink.
            committed: committed offsets of the group before the call.
            messages: whether messages were passed to the sink.
            beyond: partitions for which the sink returned higher offsets than it was given.
        """
        self._pause = (
            self._interval
            if messages or self._new(reached, committed)
            else min(self._longest, max(2 * self._pause, self._interval))
        )
        self._last = now
        self._asked = dict(reached)
        self._beyond = set(beyond)

    def hurry(self) -> None:
        """Commit as soon as there is something to commit."""
        self._last -= self._interval

    def _new(self, positions: Mapping[TopicPartition, int | None], committed: Mapping[TopicPartition, int]) -> bool:
        return any(o is not None and committed.get(tp) != o and self._asked.get(tp) != o for tp, o in positions.items())
