"""Fetch end offsets with a dedicated client, so that any thread may do it while a consumer is busy."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException

from penstock.errors import RetriableError
from penstock.sink import TopicPartition
from penstock_kafka.watermarks import end_offsets
from penstock_runtime.kafka.connectivity import connection_properties
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["EndOffsets"]

log = logging.getLogger(__name__)
_ANSWER: Final = 8.0
"""Seconds to wait for the brokers."""


class EndOffsets:
    """Client that connects as the consumer does, on first use. Not thread-safe.

    Args:
        settings: client settings of the consumer.
    """

    def __init__(self, settings: ClientSettings) -> None:
        consumer = settings.for_consumer()
        self._properties: Mapping[str, Any] = {
            **connection_properties(consumer),
            "group.id": "not-joined",
            "isolation.level": consumer["isolation.level"],
            "log_level": 0,
            "error_cb": lambda error: None,
        }
        self._client: Consumer | None = None

    def of(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int] | None:
        """Return each partition's end offset (for `read_committed`, the last stable offset), or None if any is unknown."""
        try:
            self._client = self._client or Consumer(dict(self._properties))
            return end_offsets(self._client, partitions, _ANSWER)
        except (KafkaException, RetriableError) as e:
            log.debug("End offsets are unknown: %s", e)
            return None
