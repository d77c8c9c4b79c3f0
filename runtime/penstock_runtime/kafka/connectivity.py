"""Check that Kafka is reachable before work starts.

librdkafka retries silently, and a call that times out reports only that there was no answer. The cause is reported
in the background, through the error callback, and only to a thread that polls. So the connection is checked first.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.diagnosis import CONNECTION_ERRORS, ClientError, connection_sentence, is_of_settings
from penstock_kafka.errors import translated
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.process.liveness import LOOP

__all__ = ["await_kafka", "connection_properties", "distinct_connections"]

_SLICE: Final = 0.5  # seconds
_CERTAIN: Final = 3.0
"""Seconds after which a wrong setting is reported as an error: a broker that is still starting may refuse, too."""
_MOST_ERRORS: Final = 200
_CONNECTING: Final = (
    "bootstrap.servers",
    "security.",
    "sasl.",
    "ssl.",
    "socket.",
    "client.dns.lookup",
    "broker.address.family",
    "enable.ssl.",
)
_UNINFORMATIVE: Final = frozenset(("_TRANSPORT", "_TIMED_OUT"))
"""Error codes of requests for which the error callback reports a better cause."""


def distinct_connections(*clients: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the connection properties of these clients, without duplicates. Pure."""
    connections: list[dict[str, Any]] = []
    for properties in map(connection_properties, clients):
        if properties not in connections:
            connections.append(properties)
    return connections


def connection_properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the connection properties of a client, which every kind of client accepts. Pure."""
    return {n: v for n, v in properties.items() if n.startswith(_CONNECTING)}


def await_kafka(*all_settings: ClientSettings, seconds: float, stopping: Callable[[], bool] = lambda: False) -> None:
    """Wait until the brokers answer every kind of client that these settings configure, or until `stopping` returns True.

    Args:
        all_settings: each is tried with each of its distinct connection properties.
        seconds: total time for all of them.
        stopping: returns whether the answer is no longer needed.

    Raises:
        RetriableError: the brokers did not answer in that time; the message comes from `connection_sentence`.
        ConnectError: a client cannot be created (for example, a certificate file is missing).
    """
    deadline = time.monotonic() + seconds
    for connection in distinct_connections(*(p for s in all_settings for p in (s.producer, s.consumer, s.admin))):
        _await_answer(connection, deadline, stopping)


def _await_answer(connection: dict[str, Any], deadline: float, stopping: Callable[[], bool]) -> None:
    errors: list[ClientError] = []

    def take_error(error: KafkaError) -> None:
        errors.append(ClientError.of(error))
        del errors[:-_MOST_ERRORS]

    servers = str(connection.get("bootstrap.servers", ""))
    begun = time.monotonic()
    try:
        client = Producer({**connection, "error_cb": take_error, "log_level": 0, "reconnect.backoff.ms": 100})
    except KafkaException as e:
        raise translated(e.args[0], f"Starting a client for Kafka at {servers}") from e
    try:
        while not stopping():
            LOOP.turned()
            try:
                client.list_topics("__consumer_offsets", timeout=_SLICE)
            except KafkaException as e:
                with suppress(KafkaException):
                    client.poll(0)
                _take_answer(e.args[0], servers, errors)
            else:
                return
            waited = time.monotonic() - begun
            is_hopeless = waited >= _CERTAIN and any(map(is_of_settings, errors))
            if is_hopeless or time.monotonic() >= deadline:
                raise RetriableError(connection_sentence(servers, errors, waited))
    finally:
        with suppress(KafkaException):
            client.close()


def _take_answer(error: KafkaError, servers: str, errors: list[ClientError]) -> None:
    """Record the error of a request. Raise it if it is neither a connection error nor retriable."""
    ours = translated(error, f"Fetching metadata from Kafka at {servers}")
    if not isinstance(ours, RetriableError) and error.name() not in CONNECTION_ERRORS:
        raise ConnectError(str(ours))
    if error.name() not in _UNINFORMATIVE:
        errors.append(ClientError.of(error))
