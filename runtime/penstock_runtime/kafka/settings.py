"""Properties of a task's Kafka clients, by kind of client, in librdkafka's names."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaError

__all__ = ["ClientSettings"]

log = logging.getLogger(__name__)

# A client connects to a broker twice before it can work (by address, then by name). librdkafka's initial pause of 100 ms
# would delay each short-lived client. Pauses still grow to 10 s.
_QUICK: Final = {"reconnect.backoff.ms": 10}
PRODUCER_DEFAULTS: Final[Mapping[str, Any]] = {
    "acks": "all",
    # Java's partitioner: with librdkafka's own, keys would change their partition when a connector is migrated.
    "partitioner": "murmur2_random",
    "linger.ms": 20,
    "batch.size": 1 << 20,
    "batch.num.messages": 100_000,
    "message.max.bytes": 1_048_576,  # Java's max.request.size
}
# `ProducerBuffer` bounds the queue and keeps its order: librdkafka's limit would refuse single records and accept others.
_UNBOUNDED: Final = {"queue.buffering.max.messages": 0, "queue.buffering.max.kbytes": 2_097_151}
_IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
_MOST_IN_FLIGHT: Final = 5
"""Kafka's limit for idempotent producers."""
CONSUMER_DEFAULTS: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    # No session is ever opened; this only bounds how long a commit waits for an unreachable broker (45 s otherwise).
    "session.timeout.ms": 10_000,
    # Small enough to stay in the CPU cache, and to waste little when the assignment changes.
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 16_384,
    "fetch.message.max.bytes": 1 << 20,
    "fetch.max.bytes": 16 << 20,  # in addition to records already queued
    "fetch.wait.max.ms": 500,
    "fetch.queue.backoff.ms": 10,
    "allow.auto.create.topics": False,
}


@dataclass(frozen=True)
class ClientSettings:
    """Client properties in librdkafka's names. The worker's properties override Penstock's, the connector's override both.

    Attributes:
        producer, consumer, admin: properties of each kind of client, including `bootstrap.servers`.
        queue_bytes: bytes of records that may wait in one producer.
        max_block: seconds to wait for a partition that a topic does not have yet (`max.block.ms`).
        reports_all: whether a producer reports every delivered record, not only failures.
        on_error: called with every error that a client reports in the background (broker down, authentication).
    """

    producer: Mapping[str, Any]
    consumer: Mapping[str, Any]
    admin: Mapping[str, Any]
    queue_bytes: int = 64 << 20
    max_block: float = 60.0
    reports_all: bool = False
    on_error: Callable[[str], None] = field(default=lambda text: None, compare=False)

    def for_producer(self, **more: Any) -> dict[str, Any]:
        """Return the full configuration of a producer."""
        return self._common({**PRODUCER_DEFAULTS, **self.producer, **_UNBOUNDED, **_dotted(more)})

    def for_plain_producer(self, **more: Any) -> dict[str, Any]:
        """Return the full configuration of a producer without transactions: idempotent, unless disabled.

        As with Java's client, conflicting values of `acks`, `retries` or the number of requests in flight also disable
        idempotence. Then only one request is in flight, as in Kafka Connect, unless the user sets more: of two requests
        the first may fail and be resent after the second.
        """
        config = self.for_producer(**more)
        config.setdefault("enable.idempotence", not _contradicts_idempotence(config))
        if str(config["enable.idempotence"]).lower() == "false":
            config.setdefault(_IN_FLIGHT, 1)
        return config

    def for_consumer(self, **more: Any) -> dict[str, Any]:
        """Return the full configuration of a consumer that never joins its group."""
        return self._common({**CONSUMER_DEFAULTS, **self.consumer, **_dotted(more)})

    def for_admin(self) -> dict[str, Any]:
        """Return the full configuration of an admin client."""
        return self._common(dict(self.admin))

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` of the producers."""
        return str(self.producer.get("bootstrap.servers", ""))

    def _common(self, properties: dict[str, Any]) -> dict[str, Any]:
        def error(e: KafkaError) -> None:
            log.debug("Kafka client: %s", e)
            self.on_error(f"{e.str()} ({e.name()})")

        return {"error_cb": error, "logger": logging.getLogger("penstock.librdkafka"), **_QUICK, **properties}


def _contradicts_idempotence(config: Mapping[str, Any]) -> bool:
    acks, retries = str(config.get("acks", "all")).lower(), str(config.get("retries", 1))
    return acks not in ("all", "-1") or retries == "0" or int(config.get(_IN_FLIGHT, 1)) > _MOST_IN_FLIGHT


def _dotted(more: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in more.items()}
