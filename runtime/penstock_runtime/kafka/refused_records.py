"""Identify records that Kafka refuses, before they are sent or by sending them one by one.

`producer_buffer` sends them one by one, and `batch_limits` looks up how large a record of a topic may be.
"""

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final

from confluent_kafka import KafkaError, Producer

from penstock.errors import ConnectError
from penstock_kafka.errors import translated
from penstock_runtime.kafka.batch_limits import BatchLimits
from penstock_runtime.kafka.producer_records import Outgoing, Refused
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.topic_partitions import TopicPartitions

__all__ = ["Refusals"]

_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
_OF_TOPICS: Final = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.TOPIC_EXCEPTION)
"""Errors of one record that apply to all records of its topic."""
_LINGER_MS: Final = 5_000
_ISOLATED: Final = 64 << 10
"""Maximum bytes of a portion while searching for refused records."""


class Refusals:
    """Records that Kafka is known to refuse, shared by the successive producers of a process.

    Brokers refuse whole batches and do not say which record is the cause. So if part of the connector's batch is refused,
    the batch is sent again with `isolating`: in small portions, waiting for each, and the records of a refused portion one
    by one. A record that is refused when sent individually has failed; in a transaction its error is remembered until the
    batch is sent again without it.

    Args:
        settings: client settings.
        stopping: returns whether to stop waiting.

    Attributes:
        isolating: whether the process is searching for refused records.
        limits: largest batches of the topics.
    """

    def __init__(self, settings: ClientSettings, stopping: Callable[[], bool] = lambda: False) -> None:
        self.limits = BatchLimits(settings)
        self.isolating = False
        self._partitions = TopicPartitions(stopping)
        compression = str(settings.producer.get("compression.type", "none")).lower()
        self._is_uncompressed = compression == "none"
        self._names: dict[str, ConnectError] = {}
        self._checked: set[str] = set()
        self._records: dict[bytes, ConnectError] = {}
        self._topics: dict[str, ConnectError] = {}
        self._too_large: dict[str, int] = {}

    @property
    def portion(self) -> int | None:
        """Maximum bytes to send before waiting for their delivery; None if unlimited."""
        return min(_ISOLATED, self.limits.least or _ISOLATED) if self.isolating else self.limits.least

    def fit(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the producer's properties with a batch size that the topics accept, as far as their limits are known."""
        fitting = dict(properties)
        if self.limits.least is not None:
            fitting["batch.size"] = min(int(properties["batch.size"]), self.limits.least)
        if self.isolating:  # a portion is flushed as a whole, and none of it may be sent earlier
            fitting["linger.ms"] = _LINGER_MS
        return fitting

    def outdates(self, batch_size: int, *, isolating: bool) -> bool:
        """Return whether a producer with these properties must be replaced."""
        return isolating != self.isolating or (self.limits.least or batch_size) < batch_size

    def known(self, outgoing: Outgoing, producer: Producer, seconds: float) -> list[Refused]:
        """Return the records that Kafka would refuse, in order.

        Args:
            outgoing: records to check.
            producer: the client that will send them.
            seconds: how long to wait for an unknown partition.

        Raises:
            RetriableError: a partition is unknown, and no broker answers.
        """
        topics = outgoing.topics
        if not topics <= self._checked:
            self._check(topics - self._checked)
        errors: dict[int, ConnectError] = {}
        if self._names and not topics.isdisjoint(self._names):
            errors |= {r: self._names[t] for r in range(outgoing.length) if (t := outgoing.at(r)[0]) in self._names}
        if outgoing.partition is not None:
            errors = self._without_partition(outgoing, producer, seconds) | errors
        if self._is_uncompressed and (least := self.limits.least) is not None and outgoing.size() + 85 > least:
            errors = self._larger(outgoing) | errors
        if self.isolating:
            errors = self._remembered(outgoing) | errors
        return [Refused(row, errors[row]) for row in sorted(errors)]

    def isolate(self, too_large: set[str], batch_size: int) -> None:
        """Search for the refused records when the batch is sent again.

        Args:
            too_large: topics for which a batch was too large.
            batch_size: `batch.size` of the producer, in bytes.
        """
        self.isolating = True
        self.too_large(too_large, batch_size)

    def too_large(self, topics: set[str], batch_size: int) -> None:
        """Record that batches of at most this size were too large for these topics."""
        for topic in topics:
            self.limits.refused(topic, batch_size)

    def refused(self, outgoing: Outgoing, row: int, error: KafkaError, partition: int | None) -> ConnectError:
        """Remember that Kafka refused this record when it was sent individually; return its error."""
        topic, _ = outgoing.at(row)
        size, where = outgoing.alone(row), "" if partition is None or partition < 0 else f" partition {partition}"
        ours = translated(error, f"Writing a record of {size} bytes to topic '{topic}'{where}")
        if error.code() in _OF_TOPICS:
            self._topics[topic] = ours
        elif error.code() == KafkaError.MSG_SIZE_TOO_LARGE and self._is_uncompressed:
            self._too_large[topic] = min(size, self._too_large.get(topic, size))
        self._records[_digest(outgoing, row)] = ours
        return ours

    def settled(self) -> None:
        """Record that the batch is in Kafka, except for refused records."""
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
                    f"Writing to topic '{topic[:300]}': the name is not valid in Kafka; use up to 249 ASCII letters, "
                    f"digits, '.', '_' and '-', but not only '.' or '..'."
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
        errors = self._over(out)
        if errors:  # the limit may have been raised since, as the message suggests
            self.limits.renew({out.at(row)[0] for row in errors})
            errors = self._over(out)
        return errors

    def _over(self, out: Outgoing) -> dict[int, ConnectError]:
        errors: dict[int, ConnectError] = {}
        for row in range(out.length):
            topic, partition = out.at(row)
            limit = self.limits.known(topic)
            if limit is not None and (size := out.alone(row)) > limit:
                where = "" if partition is None else f" partition {partition}"
                errors[row] = ConnectError(
                    f"Writing to topic '{topic}'{where}: a record of {size} bytes is larger than the topic accepts "
                    f"(max.message.bytes={limit}); raise the topic's max.message.bytes."
                )
        return errors

    def _remembered(self, out: Outgoing) -> dict[int, ConnectError]:
        if not self._records:
            return {}
        errors: dict[int, ConnectError] = {}
        for row in range(out.length):
            topic, _ = out.at(row)
            error = self._topics.get(topic) or self._records.get(_digest(out, row))
            if error is None and topic in self._too_large and (size := out.alone(row)) >= self._too_large[topic]:
                error = ConnectError(
                    f"Writing to topic '{topic}': a record of {size} bytes is too large: one of {self._too_large[topic]} "
                    f"bytes was refused; raise the topic's max.message.bytes."
                )
            if error is not None:
                errors[row] = error
        return errors


def _digest(out: Outgoing, row: int) -> bytes:
    """Return a digest that identifies a record when its batch is sent again."""
    record = out.take([row])
    columns = (record.topic, record.value, record.key, record.headers, record.partition, record.timestamp)
    return blake2b(repr(columns).encode("utf-8", "backslashreplace"), digest_size=16).digest()
