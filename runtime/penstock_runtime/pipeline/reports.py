"""What a task reports: states, progress, active topics. The pipeline knows this protocol, and not who implements it."""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from penstock.sink import TopicPartition
from penstock.source import Backlog
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.summary import Summary

__all__ = ["Reports"]


class Reports(Protocol):
    """Where a task's news go: the status topic, the metrics, the parent process."""

    def state(self, state: State, *, trace: str | None = None) -> None:
        """The task changed its state."""

    def batch(self, summary: Summary, *, seconds: float, on_spark: bool) -> None:
        """A batch was delivered and committed."""

    def looped(self, *, proven: bool) -> None:
        """A round of the loop is complete. Called often.

        Args:
            proven: the task has shown that it works: it has delivered records, or knows that there are none.
        """

    def committed(self) -> None:
        """Sink: a commit of offsets is through."""

    def partitions(self, number: int) -> None:
        """Sink: this task reads so many partitions now."""

    def lag(self, lags: Mapping[TopicPartition, int] | None) -> None:
        """How many records of each partition a sink is behind; None when unknown."""

    def backlog(self, backlog: Backlog) -> None:
        """How far a source is behind, as it says itself."""

    def active(self, topics: list[str]) -> None:
        """Records went to these topics (sink: came from them)."""

    def reads(self, is_read: Callable[[str], object], known: Collection[str]) -> None:
        """Sink: its first task has begun; it reads the topics for which `is_read` holds, among them the known ones."""

    def trouble(self, message: str | None) -> None:
        """Something hinders the task that may pass (Kafka is away); None when it has passed."""

    def spark(self, *, up: bool) -> None:
        """The Spark session is there, or not."""
