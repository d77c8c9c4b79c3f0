"""The records that Kafka does not take: known before they are sent, or found by sending them one by one."""

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final

from confluent_kafka import KafkaError, Producer

from penstock.errors import ConnectError
from penstock_kafka.errors import translated
from penstock_runtime.kafka.producer_records import Outgoing, Refused
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.topic_limits import TopicLimits
from penstock_runtime.kafka.topic_partitions import TopicPartitions

__all__ = ["Refusals"]

_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
_OF_TOPICS: Final = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.TOPIC_EXCEPTION)
"""What is said of one record holds for all records of the topic."""
_LINGER_MS: Final = 5_000
_ISOLATED: Final = 64 << 10
"""Bytes that are sent at once while refused records are looked for."""


class Refusals:
    """What one process knows of records that Kafka refuses; it outlives the producers, one after the other.

    Brokers refuse batches, and do not say for which record. So a batch of the connector in which something was refused
    comes again with `isolating`: in small portions, each awaited, and where one is refused its records one by one. What is
    refused alone is that record's failure; in a transaction it is kept until the batch came once more, without it.

    Args:
        settings: how to connect.
        stopping: ends waiting.

    Attributes:
        isolating: whether refused records are looked for.
        limits: of the topics.
    """

    def __init__(self, settings: ClientSettings, stopping: Callable[[], bool] = lambda: False) -> None:
        self.limits = TopicLimits(settings)
        self.isolating = False
        self._partitions = TopicPartitions(stopping)
        compression = str(settings.producer.get("compression.type", "none")).lower()
        self._sizes_tell = compression == "none"
        self._names: dict[str, ConnectError] = {}
        self._checked: set[str] = set()
        self._records: dict[bytes, ConnectError] = {}
        self._topics: dict[str, ConnectError] = {}
        self._too_large: dict[str, int] = {}

    @property
    def portion(self) -> int | None:
        """How many bytes may be sent at once; None: as many as one likes."""
        return min(_ISOLATED, self.limits.least or _ISOLATED) if self.isolating else self.limits.least

    def fit(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """A producer's properties with batches that the topics take, as far as that is known."""
        fitting = dict(properties)
        if self.limits.least is not None:
            fitting["batch.size"] = min(int(properties["batch.size"]), self.limits.least)
        if self.isolating:  # what is awaited goes at once, and nothing before the last of it
            fitting["linger.ms"] = _LINGER_MS
        return fitting

    def outdates(self, batch_size: int, *, isolating: bool) -> bool:
        """Whether a producer that was made so is to be made anew."""
        return isolating != self.isolating or (self.limits.least or batch_size) < batch_size

    def known(self, outgoing: Outgoing, producer: Producer, seconds: float) -> list[Refused]:
        """Those of these records that Kafka would refuse, in order.

        Args:
            outgoing: the records.
            producer: that they go to.
            seconds: how long a partition that is not known is waited for.

        Raises:
            RetriableError: a partition is not known, and no broker answers.
        """
        topics = outgoing.topics
        if not topics <= self._checked:
            self._check(topics - self._checked)
        found: dict[int, ConnectError] = {}
        if self._names and not topics.isdisjoint(self._names):
            found |= {r: self._names[t] for r in range(outgoing.length) if (t := outgoing.at(r)[0]) in self._names}
        if outgoing.partition is not None:
            found = self._without_partition(outgoing, producer, seconds) | found
        if self._sizes_tell and (least := self.limits.least) is not None and outgoing.size() + 85 > least:
            found = self._larger(outgoing) | found
        if self.isolating:
            found = self._remembered(outgoing) | found
        return [Refused(row, found[row]) for row in sorted(found)]

    def isolate(self, too_large: set[str], batch_size: int) -> None:
        """Something was refused: look for it when the batch comes again.

        Args:
            too_large: topics for which a batch was too large.
            batch_size: of the producer.
        """
        self.isolating = True
        self.too_large(too_large, batch_size)

    def too_large(self, topics: set[str], batch_size: int) -> None:
        """Batches of this size at most were too large for these topics."""
        for topic in topics:
            self.limits.refused(topic, batch_size)

    def refused(self, outgoing: Outgoing, row: int, error: KafkaError, partition: int | None) -> ConnectError:
        """Kafka has refused this record alone; the error to tell."""
        topic, _ = outgoing.at(row)
        size, where = outgoing.alone(row), "" if partition is None or partition < 0 else f" partition {partition}"
        ours = translated(error, f"Writing a record of {size} bytes to topic '{topic}'{where}")
        if error.code() in _OF_TOPICS:
            self._topics[topic] = ours
        elif error.code() == KafkaError.MSG_SIZE_TOO_LARGE and self._sizes_tell:
            self._too_large[topic] = min(size, self._too_large.get(topic, size))
        self._records[_digest(outgoing, row)] = ours
        return ours

    def settled(self) -> None:
        """The batch is in Kafka, but for what was refused."""
        self.limits.forget_unknown()
        self._checked = {t for t in self._checked if t in self._names or self.limits.asked(t)}
        self.isolating = False
        self._records.clear()
        self._topics.clear()
        self._too_large.clear()

    def _check(self, topics: set[str]) -> None:
        for topic in topics:
            if _NAME.fullmatch(topic) is None:
                self._names[topic] = ConnectError(
                    f"Writing to topic '{topic[:300]}': Kafka takes no such name. Use up to 249 letters of ASCII, digits, "
                    f"'.', '_' and '-', and neither '.' nor '..' alone."
                )
        self.limits.learn(sorted(topics - self._names.keys()))
        self._checked |= topics

    def _without_partition(self, out: Outgoing, producer: Producer, seconds: float) -> dict[int, ConnectError]:
        if isinstance(out.partition, list) or isinstance(out.topic, list):
            at = [out.at(row) for row in range(out.length)]
            missing = self._partitions.missing({*at} - self._badly_named(at), producer, seconds)
            return {row: missing[p] for row, p in enumerate(at) if p in missing} if missing else {}
        if out.topic in self._names:
            return {}
        missing = self._partitions.missing([(out.topic, out.partition)], producer, seconds)
        return {row: error for error in missing.values() for row in range(out.length)}

    def _badly_named(self, at: list[tuple[str, int | None]]) -> set[tuple[str, int | None]]:
        return {(t, p) for t, p in at if t in self._names} if self._names else set()

    def _larger(self, out: Outgoing) -> dict[int, ConnectError]:
        least = self.limits.least
        if least is None or out.largest() <= least:
            return {}
        found = self._over(out)
        if found:  # the limit may have been raised, as the message asks
            self.limits.renew({out.at(row)[0] for row in found})
            found = self._over(out)
        return found

    def _over(self, out: Outgoing) -> dict[int, ConnectError]:
        found: dict[int, ConnectError] = {}
        for row in range(out.length):
            topic, partition = out.at(row)
            limit = self.limits.known(topic)
            if limit is not None and (size := out.alone(row)) > limit:
                where = "" if partition is None else f" partition {partition}"
                found[row] = ConnectError(
                    f"Writing to topic '{topic}'{where}: a record of {size} bytes is larger than the topic takes "
                    f"(max.message.bytes={limit}). Raise the topic's max.message.bytes."
                )
        return found

    def _remembered(self, out: Outgoing) -> dict[int, ConnectError]:
        if not self._records:
            return {}
        found: dict[int, ConnectError] = {}
        for row in range(out.length):
            topic, _ = out.at(row)
            error = self._topics.get(topic) or self._records.get(_digest(out, row))
            if error is None and topic in self._too_large and (size := out.alone(row)) >= self._too_large[topic]:
                error = ConnectError(
                    f"Writing to topic '{topic}': a record of {size} bytes is too large; one of {self._too_large[topic]} "
                    f"was refused. Raise the topic's max.message.bytes."
                )
            if error is not None:
                found[row] = error
        return found


def _digest(out: Outgoing, row: int) -> bytes:
    """What tells a record from others when its batch comes again."""
    one = out.take([row])
    columns = (one.topic, one.value, one.key, one.headers, one.partition, one.timestamp)
    return blake2b(repr(columns).encode("utf-8", "backslashreplace"), digest_size=16).digest()
