"""Records of a batch that a producer reported as lost, and the resulting error."""

from typing import Any, Final

from confluent_kafka import KafkaError

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.errors import Fenced, TransactionAborted, translated
from penstock_runtime.kafka.producer_records import Outgoing

__all__ = ["Losses"]

_OF_THE_PRODUCER: Final = {
    KafkaError._PURGE_QUEUE,  # noqa: SLF001 (librdkafka's own names of the codes)
    KafkaError._PURGE_INFLIGHT,  # noqa: SLF001
    KafkaError._STATE,  # noqa: SLF001
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
    KafkaError.DUPLICATE_SEQUENCE_NUMBER,
    KafkaError.CONCURRENT_TRANSACTIONS,
    KafkaError.TRANSACTION_ABORTABLE,
}
"""Errors of records that are lost together with their producer or its transaction."""
_OF_THE_TOPIC: Final = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}  # noqa: SLF001
"""Errors of a missing topic; the producer waits for it."""


class Losses:
    """Failures of one batch: counts and the most important errors, not every failure.

    Attributes:
        refused: number of records that Kafka refused.
        first: the error of the first refused record.
        too_large: topics of batches or records that were too large.
        other: an error not caused by a record, such as an unreachable broker or a fenced producer.
        kept: the refused records, if the buffer keeps them.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Start a new batch."""
        self.refused = 0
        self.first: ConnectError | None = None
        self.too_large: set[str] = set()
        self.other: ConnectError | None = None
        self.kept: list[Outgoing] = []

    def add(self, error: KafkaError, message: Any, sent: Outgoing | None) -> None:
        """Add a record that was not delivered."""
        if self.of_records(error):
            self.refused += 1
            if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                self.too_large.add(str(message.topic()))
            if self.first is None:
                self.first = translated(error, f"Writing to topic '{message.topic()}' partition {message.partition()}")
            if sent is not None and not (self.kept and self.kept[-1] is sent):
                self.kept.append(sent)
            return
        if isinstance(self.other, Fenced):
            return
        ours = translated(error, f"Writing to topic '{message.topic()}'")
        if self.other is None or isinstance(ours, Fenced | RetriableError):
            self.other = ours if isinstance(ours, _NAMED) else RetriableError(str(ours))

    @staticmethod
    def of_records(error: KafkaError) -> bool:
        """Return whether records cause the error, so that sending them one by one shows which."""
        if error.code() in _OF_THE_PRODUCER | _OF_THE_TOPIC:
            return False
        return type(translated(error, "")) is ConnectError


_NAMED: Final = (RetriableError, Fenced, TransactionAborted)
