"""How many partitions the topics have that a process names partitions of; topics grow while it runs."""

import time
from collections.abc import Callable, Iterable
from typing import Final

from confluent_kafka import KafkaError, Producer

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.errors import translated, translating
from penstock_runtime.task.liveness import LOOP

__all__ = ["TopicPartitions"]

_PAUSE: Final = 0.1
_SECONDS: Final = 10.0


class TopicPartitions:
    """Partitions by topic. A partition that is not known is asked for, as Java's producer does, for `max.block.ms`.

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
        """Those of these partitions that do not exist, also after the wait, with what to say of them.

        Args:
            named: topics and partitions; None, or a negative one, is the producer's choice.
            producer: whose metadata is brought up to date.
            seconds: to wait for a partition; not again for one that was waited for in vain, for as long.

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
            # A topic that is not there is waited for elsewhere.
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
            found = producer.list_topics(topic, timeout=_SECONDS).topics[topic]
        if found.error is not None and found.error.code() not in (
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
            KafkaError.LEADER_NOT_AVAILABLE,
            KafkaError.TOPIC_AUTHORIZATION_FAILED,  # told when a record goes there
        ):
            ours = translated(found.error, doing)
            if isinstance(ours, RetriableError):
                raise ours
        self._counts[topic] = len(found.partitions)
        return bool(found.partitions)


def _text(topic: str, partition: int) -> str:
    return f"{partition} of topic '{topic}'"
