"""Properties of the operator's Kafka clients, from the worker configuration, like those of tasks."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from penstock_kafka.topic_consumer import ReaderClients
from penstock_model.kafka_properties.client_kinds import ClientKind
from penstock_model.kafka_properties.translation import translate_layers
from penstock_operator.settings import Worker

__all__ = ["cluster_id", "producer_properties", "reader_clients"]

_QUIET: Final = logging.getLogger("penstock.librdkafka")
_CONSUMER: Final[Mapping[str, Any]] = {
    "group.id": "penstock-operator",  # the group is never joined, and no offset is committed
    "queued.min.messages": 1_000,
    "queued.max.messages.kbytes": 4_096,
    "fetch.message.max.bytes": 1 << 20,
    "fetch.error.backoff.ms": 500,
}
# A broker responds as soon as there is a record; while there is none, this is the time between two requests. It handles the
# requests of a connection one after the other, so any other request waits as long.
_IDLE: Final[Mapping[str, Any]] = {"fetch.wait.max.ms": 3_000, "fetch.min.bytes": 1}
_PRODUCER: Final[Mapping[str, Any]] = {"partitioner": "murmur2_random", "message.max.bytes": 1_048_576}
_SECONDS: Final = 5.0
"""Seconds to wait for a response."""
_COMMON: Final[Mapping[str, Any]] = {
    "client.id": "penstock-operator",
    "socket.keepalive.enable": True,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 5_000,
}


def cluster_id(admin: Mapping[str, Any]) -> str | None:
    """Return the id of the Kafka cluster to which an admin client with these properties connects.

    Raises:
        KafkaException, TimeoutError: Kafka does not respond.
    """
    client = AdminClient(dict(admin))  # without a reference, it would be closed before the response
    found = client.describe_cluster(request_timeout=_SECONDS).result(2 * _SECONDS).cluster_id
    return None if found is None else str(found)


def reader_clients(worker: Worker, on_error: Callable[[KafkaError], None]) -> ReaderClients:
    """Return the clients that read the status topic and check whether it was recreated."""
    consumer = {
        **_COMMON,
        **_CONSUMER,
        **_worker_properties("consumer", worker),
        "error_cb": on_error,
        "logger": _QUIET,
    }
    admin = {**_COMMON, **_worker_properties("admin", worker), "logger": _QUIET}
    return ReaderClients({**consumer, **_IDLE}, admin)


def producer_properties(worker: Worker, on_error: Callable[[KafkaError], None]) -> dict[str, Any]:
    """Return the properties of the client that writes the status topic."""
    return {
        **_COMMON,
        **_PRODUCER,
        **_worker_properties("producer", worker),
        "error_cb": on_error,
        "logger": _QUIET,
    }


def _worker_properties(kind: ClientKind, worker: Worker) -> dict[str, Any]:
    return dict(translate_layers(kind, worker.config.clients(kind)).properties)
