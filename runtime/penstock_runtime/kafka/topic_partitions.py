"""Checks that the partitions that a process names exist. Topics may get partitions while it runs."""

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
    """The numbers of partitions by topic. Waits for an unknown partition for `max.block.ms`, as Java's producer does.

    Args:
        stopping: ends the wait.
    """

    def __init__(self, stopping: Callable[[], bool] = lambda: False) -> None:
        self._stopping = stopping
        self._counts: dict[str, int] = {}
        self._waited: dict[tuple[str, int], float] = {}

    def missing(
        self, named: Iterable[tuple[str, int | None]], producer: Producer, seconds: float
    ) -> dict[tuple[str, int], ConnectError]:
        """Those of these partitions that do not exist, not even after the wait, each with its error.

        Args:
            named: topics and partitions; None, or a negative one, is the producer's choice.
            producer: its metadata is refreshed.
            seconds: to wait for a partition. A partition that was awaited in vain is not awaited again for as long.

        Raises:
            RetriableError: no broker answers; or the task is to stop.
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
                raise RetriableError(f"Stopped while partition {_text(*min(unknown))} is waited for")
            LOOP.turned()
            time.sleep(_PAUSE)
        again = time.monotonic() + max(seconds, 1.0)
        self._waited |= dict.fromkeys(unknown, again)
        return {
            (t, p): ConnectError(
                f"Partition {_text(t, p)} does not exist: the topic has {self._counts[t]}, after {seconds:g} s "
                f"(max.block.ms). Add partitions to the topic, or correct what chooses the partition."
            )
            for t, p in unknown
        }

    def _ask(self, topic: str, producer: Producer) -> bool:
        doing = f"Asking for the partitions of topic '{topic}'"
        with translating(doing):
            metadata = producer.list_topics(topic, timeout=_SECONDS).topics[topic]
        if metadata.error is not None and metadata.error.code() not in (
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
            KafkaError.LEADER_NOT_AVAILABLE,
            KafkaError.TOPIC_AUTHORIZATION_FAILED,  # reported when a record is sent there
        ):
            ours = translated(metadata.error, doing)
            if isinstance(ours, RetriableError):
                raise ours
        self._counts[topic] = len(metadata.partitions)
        return bool(metadata.partitions)


def _text(topic: str, partition: int) -> str:
    return f"{partition} of topic '{topic}'"
