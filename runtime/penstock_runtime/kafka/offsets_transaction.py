"""Write records to an offsets topic in one transaction: all of them, or none."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.errors import ConnectError, RetriableError, Superseded
from penstock_kafka.client_renewal import CLOSE_SECONDS, close_in_background
from penstock_kafka.errors import AUTHORIZATION, Fenced, kafka_error_of, translated, translating
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.transactional_producer import init_transactions

__all__ = ["PlacedRecord", "TransactionsRefused", "write_in_transaction"]

_SECONDS: Final = 15.0
"""Seconds after which brokers abort the transaction, so that a frozen process that resumes later commits nothing."""
_POLL_SECONDS: Final = 0.1
_OF_A_TRANSACTION: Final[dict[str, Any]] = {"enable.idempotence": True, "acks": "all"}
_NOT_OF_A_TRANSACTION: Final = frozenset(
    (
        "retries",
        "message.send.max.retries",
        "max.in.flight.requests.per.connection",
        "max.in.flight",
        "request.required.acks",
        "message.timeout.ms",
    )
)
"""Properties to drop: those that only at-least-once connectors may set, and aliases of those set here."""


class PlacedRecord(NamedTuple):
    """Record with its target partition. A value of None is a tombstone."""

    partition: int
    key: bytes
    value: bytes | None


class TransactionsRefused(ConnectError):
    """Raised when the connector's principal may not use the transactional id. Nothing was written."""


def write_in_transaction(
    settings: ClientSettings,
    transactional_id: str,
    topic: str,
    records: Sequence[PlacedRecord],
    check: Callable[[], None],
) -> None:
    """Write the records in one transaction, which fences every other producer with this transactional id.

    Args:
        settings: client settings for the cluster of the topic.
        transactional_id: id of the transaction.
        topic: topic to write to, which must exist.
        records: records to write.
        check: called when the brokers have all records, before the commit; raises if a newer process may write.

    Raises:
        TransactionsRefused: not authorized to use the transactional id.
        Superseded: a newer process has taken over the id; nothing is written.
        RetriableError: no answer in time; either all records are written, or none.
        ConnectError: the brokers refused; nothing is written.
    """
    doing = f"Writing to topic '{topic}'"
    limit = int(_SECONDS * 1000)
    config = settings.for_producer(
        transactional_id=transactional_id,
        client_id="penstock-offsets",
        linger_ms=0,
        transaction_timeout_ms=limit,
        delivery_timeout_ms=limit,
        socket_timeout_ms=limit,
    )
    config = {k: v for k, v in config.items() if k not in _NOT_OF_A_TRANSACTION} | _OF_A_TRANSACTION
    with translating(f"Starting a producer for {settings.bootstrap}"):
        producer = Producer(config)
    try:
        try:
            init_transactions(producer, transactional_id, settings.bootstrap)
        except ConnectError as e:
            cause = kafka_error_of(e)
            if cause is not None and cause.code() in AUTHORIZATION:
                raise TransactionsRefused(str(e)) from e
            raise
        with translating(doing):
            producer.begin_transaction()
            _deliver(producer, topic, records, doing)
        check()
        _commit(producer, doing)
    except Fenced as e:
        raise Superseded(f"Another process has taken over transactional id {transactional_id}: {e}") from e
    finally:
        close_in_background(producer, within=CLOSE_SECONDS)


def _deliver(producer: Producer, topic: str, records: Sequence[PlacedRecord], doing: str) -> None:
    outcomes: list[KafkaError | None] = []
    for record in records:
        producer.produce(
            topic,
            key=record.key,
            value=record.value,
            partition=record.partition,
            on_delivery=lambda error, _: outcomes.append(error),
        )
        producer.poll(0)
    deadline = time.monotonic() + _SECONDS
    while len(outcomes) < len(records) and time.monotonic() < deadline:
        producer.poll(_POLL_SECONDS)
    refused = next((e for e in outcomes if e is not None), None)
    if refused is not None:
        raise translated(refused, doing)
    if len(outcomes) < len(records):
        raise RetriableError(f"{doing}: no answer within {_SECONDS:.0f} s")


def _commit(producer: Producer, doing: str) -> None:
    try:
        producer.commit_transaction(_SECONDS)
    except KafkaException as e:
        error = e.args[0]
        if error.retriable():
            raise RetriableError(f"{doing}: the brokers have not confirmed the transaction: {error.str()}") from e
        raise translated(error, doing) from e
