"""Protocol for reports of a task: states, progress, active topics. The pipeline does not depend on an implementation."""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from penstock.sink import TopicPartition
from penstock.source import Backlog
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.summary import Summary

__all__ = ["Reports"]


class Reports(Protocol):
    """Receiver of a task's reports: the status topic, the metrics, the parent process."""

    def state(self, state: State, *, trace: str | None = None) -> None:
        """Report that the task has entered a state."""

    def batch(self, summary: Summary, *, seconds: float, on_spark: bool) -> None:
        """Report that a batch was delivered and committed."""

    def looped(self, *, proven: bool) -> None:
        """Report that a round of the loop is complete. Called often.

        Args:
            proven: whether the task has shown that it works: it has delivered records, or knows that there are none.
        """

    def committed(self) -> None:
        """Report that a sink has committed offsets."""

    def waited(self, seconds: float) -> None:
        """Report that a sink has waited for records, because there were none to read. Called often."""

    def partitions(self, number: int) -> None:
        """Report how many partitions this sink task reads now."""

    def lag(self, lags: Mapping[TopicPartition, int] | None) -> None:
        """Report how many records of each partition a sink has yet to write; None if unknown."""

    def backlog(self, backlog: Backlog) -> None:
        """Report the backlog that a source has returned."""

    def active(self, topics: list[str]) -> None:
        """Report that records went to these topics (sink: came from them)."""

    def reads(self, is_read: Callable[[str], object], known: Collection[str]) -> None:
        """Report which topics a sink reads: those for which `is_read` holds, among them the known ones. Called by task 0."""

    def trouble(self, message: str | None) -> None:
        """Report temporary trouble of the task (such as an unavailable Kafka); None when it is over."""

    def spark(self, workers: int | None) -> None:
        """Report how many workers the Spark session has now; None: there is no session. Called often."""
