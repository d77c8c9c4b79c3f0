"""When a sink is asked to commit: soon while something is new, after growing pauses while it keeps something back. Pure."""

from collections.abc import Iterable, Mapping

from penstock.sink import TopicPartition

__all__ = ["CommitSchedule"]


class CommitSchedule:
    """What `Sink.commit` was asked last, and when it is asked again.

    Args:
        interval: seconds between two commits at least.
        longest: seconds after which a sink that returned less than it was given is asked again at the latest.
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
        """Whether a commit may lead to something: not where the sink has answered with more than it was given."""
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
        """Whether to ask now; `messages`: writers have returned some; `asking`: ask now and then, whatever is new."""
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
        """The sink was asked up to there.

        Args:
            now: seconds, monotonic.
            reached: what it was given.
            committed: what the group held before.
            messages: it was given some.
            beyond: partitions for which it returned more.
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
        """Ask as soon as there is something."""
        self._last -= self._interval

    def _new(self, positions: Mapping[TopicPartition, int | None], committed: Mapping[TopicPartition, int]) -> bool:
        return any(o is not None and committed.get(tp) != o and self._asked.get(tp) != o for tp, o in positions.items())
