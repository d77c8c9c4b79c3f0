"""Check that explicitly chosen partitions exist. Partitions may be added to topics while a process runs."""

import time
from collections.abc import Callable, Iterable
from typing import Final

from confluent_kafka import KafkaError, Producer

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.errors import translated, translating
from penstock_runtime.process.liveness import LOOP

__all__ = ["TopicPartitions"]

_PAUSE: Final = 0.1
_SECONDS: Final = 10.0


class TopicPartitions:
    """Partition counts by topic. Waits for an unknown partition for `max.block.ms`, as Java's producer does.

    Args:
        stopping: returns whether to stop waiting.
    """

    def __init__(self, stopping: Callable[[], bool] = lambda: False) -> None:
        self._stopping = stopping
        self._counts: dict[str, int] = {}
        self._waited: dict[tuple[str, int], float] = {}

    def missing(
        self, named: Iterable[tuple[str, int | None]], producer: Producer, seconds: float
    ) -> dict[tuple[str, int], ConnectError]:
        """Return the partitions that do not exist even after waiting, each with its error.

        Args:
            named: topics and partitions; the producer chooses a partition that is None or negative.
            producer: client whose metadata is refreshed.
            seconds: how long to wait for a partition. After an unsuccessful wait, it is not repeated for `seconds`.

        Raises:
            RetriableError: no broker answers, or the task is stopping.
        """
        unknown = {(t, p) for t, p in named if p is not None and p >= self._counts.get(t, 0)}
        if not unknown:
            return {}
        now = time.monotonic()
        deadline = now + seconds if any(self._waited.get(at, 0.0) <= now for at in unknown) else now
        while True:
            absent = {t for t in {t for t, _ in unknown} if not self._ask(t, producer)}
            # `ProducerBuffer` waits for topics that do not exist.
            unknown = {(t, p) for t, p in unknown if t not in absent and p >= self._counts[t]}
            if not unknown or time.monotonic() >= deadline:
                break
            if self._stopping():
                raise RetriableError(f"Stopped while waiting for partition {_text(*min(unknown))}")
            LOOP.turned()
            time.sleep(_PAUSE)
        again = time.monotonic() + max(seconds, 1.0)
        self._waited |= dict.fromkeys(unknown, again)
        return {
            (t, p): ConnectError(
                f"Partition {_text(t, p)} does not exist: the topic's partition count is still {self._counts[t]} after "
                f"{seconds:g} s (max.block.ms); add partitions, or correct the connector or transform that sets the "
                f"partition."
            )
            for t, p in unknown
        }

    def _ask(self, topic: str, producer: Producer) -> bool:
        doing = f"Fetching the partitions of topic '{topic}'"
        with translating(doing):
            metadata = producer.list_topics(topic, timeout=_SECONDS).topics[topic]
        if metadata.error is not None and metadata.error.code() not in (
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
            KafkaError.LEADER_NOT_AVAILABLE,
            KafkaError.TOPIC_AUTHORIZATION_FAILED,  # reported when a record is sent to it
        ):
            ours = translated(metadata.error, doing)
            if isinstance(ours, RetriableError):
                raise ours
        self._counts[topic] = len(metadata.partitions)
        return bool(metadata.partitions)


def _text(topic: str, partition: int) -> str:
    return f"{partition} of topic '{topic}'"
