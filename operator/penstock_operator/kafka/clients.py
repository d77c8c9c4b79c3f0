"""How the operator's Kafka clients are configured: the worker configuration's properties, as tasks use them."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import KafkaError

from penstock_model.connect.worker_config import ClientKind
from penstock_model.kafka_properties.translation import translate_layers
from penstock_operator.settings import Worker

__all__ = ["admin_properties", "consumer_properties", "producer_properties"]

_QUIET: Final = logging.getLogger("penstock.librdkafka")
_CONSUMER: Final[Mapping[str, Any]] = {
    "group.id": "penstock-operator",  # never joined, nothing is committed
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",  # a topic made anew is read from its beginning by us, not from its end in silence
    "isolation.level": "read_committed",
    "allow.auto.create.topics": False,
    "queued.min.messages": 1_000,
    "queued.max.messages.kbytes": 4_096,
    "fetch.message.max.bytes": 1 << 20,
    "fetch.error.backoff.ms": 500,
}
# A broker answers as soon as there is a record; while there is none, this is the time between two requests. It answers
# one request of a connection after the other: whatever else is asked waits as long.
_IDLE: Final[Mapping[str, Any]] = {"fetch.wait.max.ms": 3_000, "fetch.min.bytes": 1}
_PRODUCER: Final[Mapping[str, Any]] = {"partitioner": "murmur2_random", "message.max.bytes": 1_048_576}
_ONE_BY_ONE: Final[Mapping[str, Any]] = {
    "acks": "all",
    "enable.idempotence": False,
    "max.in.flight.requests.per.connection": 1,
    "linger.ms": 0,
}
_BOTH: Final[Mapping[str, Any]] = {
    "client.id": "penstock-operator",
    "socket.keepalive.enable": True,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 5_000,
}


def consumer_properties(worker: Worker, on_error: Callable[[KafkaError], None]) -> dict[str, Any]:
    """Of the one that reads the status topic."""
    return {**_BOTH, **_CONSUMER, **_worker("consumer", worker), **_fixed(on_error), **_IDLE,
            "isolation.level": "read_committed", "auto.offset.reset": "error", "enable.partition.eof": True,
            "enable.auto.commit": False, "enable.auto.offset.store": False}  # fmt: skip


def admin_properties(worker: Worker) -> dict[str, Any]:
    """Of the one that asks whether the status topic is still the same."""
    return {**_BOTH, **_worker("admin", worker), "logger": _QUIET}


def producer_properties(worker: Worker, on_error: Callable[[KafkaError], None], seconds: float) -> dict[str, Any]:
    """Of the one that writes single records, each within so many seconds."""
    properties = {**_BOTH, **_PRODUCER, **_worker("producer", worker), **_fixed(on_error), **_ONE_BY_ONE}
    properties.pop("transactional.id", None)
    return {**properties, "delivery.timeout.ms": int(seconds * 1000)}


def _worker(kind: ClientKind, worker: Worker) -> dict[str, Any]:
    return dict(translate_layers(kind, worker.config.clients(kind)).properties)


def _fixed(on_error: Callable[[KafkaError], None]) -> dict[str, Any]:
    return {"error_cb": on_error, "logger": _QUIET}
