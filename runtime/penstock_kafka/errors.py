"""Translate Kafka's errors into Penstock's: transient errors, fenced processes, and errors that need user action."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.diagnosis import CHECK_CREDENTIALS

__all__ = [
    "AUTHORIZATION",
    "REFUSED",
    "Fenced",
    "TransactionAborted",
    "TransactionExpired",
    "kafka_error_of",
    "passing",
    "translated",
    "translating",
]


class Fenced(ConnectError):
    """Raised when another producer with the same transactional id was started later; this one must no longer write."""


class TransactionAborted(ConnectError):
    """Raised when a transaction was aborted or its outcome is unknown: fence, read the offsets, plan the batch again."""


class TransactionExpired(TransactionAborted):
    """Raised when a transaction was aborted after `transaction.timeout.ms`; a smaller one may succeed."""


_FENCED: Final = {
    KafkaError._FENCED,  # noqa: SLF001 (librdkafka's own name of the code)
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
    KafkaError.UNKNOWN_PRODUCER_ID,
    KafkaError.INVALID_TXN_STATE,
}
AUTHORIZATION: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
REFUSED: Final = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.POLICY_VIOLATION,
    KafkaError.TOPIC_EXCEPTION,
}
"""Errors of records that the brokers would reject again."""
_TOPIC_RIGHTS: Final = {
    "Reading": "Read",
    "Writing": "Write",
    "Committing": "Write",
    "Creating": "Create",
    "Describing": "DescribeConfigs",
    "Asking": "Describe",
    "Fetching": "Describe",
}
"""Required right on a topic, by the first word of the operation; committing a transaction requires the right to write."""
_GROUP_RIGHTS: Final = {"Committing": "Read", "Deleting": "Delete", "Asking": "Describe", "Fetching": "Describe"}
_LARGER: Final = {
    KafkaError.MSG_SIZE_TOO_LARGE: "Raise the topic's max.message.bytes.",
    KafkaError.RECORD_LIST_TOO_LARGE: "Raise the topic's segment.bytes: a batch must fit into a segment.",
}
"""Remedies for records that are too large."""
_PASSING: Final = {
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
    KafkaError._WAIT_COORD,  # noqa: SLF001
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
    KafkaError._RETRY,  # noqa: SLF001
    KafkaError._DESTROY_BROKER,  # noqa: SLF001 (the broker was removed, with the requests sent to it)
    # Not every call of the client marks these as retriable.
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_CONTROLLER,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
}


def passing(error: KafkaError) -> bool:
    """Return whether the error is transient: a retry, or waiting, may help."""
    return bool(error.retriable()) or error.code() in _PASSING


def translated(error: KafkaError, doing: str) -> ConnectError:
    """Return Penstock's error for a Kafka error, which becomes its cause (`kafka_error_of`).

    Args:
        error: librdkafka's error.
        doing: operation, the start of the message ("Writing to topic 'orders'").
    """
    result = _translated(error, doing)
    result.__cause__ = KafkaException(error)
    return result


def kafka_error_of(error: ConnectError) -> KafkaError | None:
    """Return the Kafka error that an error was translated from, if any."""
    cause = error.__cause__
    reason = cause.args[0] if isinstance(cause, KafkaException) else None
    return reason if isinstance(reason, KafkaError) else None


def _translated(error: KafkaError, doing: str) -> ConnectError:
    code = error.code()
    text = f"{doing}: {error.str()} ({error.name()})"
    if code in _FENCED:
        return Fenced(text)
    if code in AUTHORIZATION:
        right = _right(code, doing)
        return ConnectError(f"{text}. Grant the principal of this connector the missing ACL{right}, then restart it.")
    if code in (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED):  # noqa: SLF001
        return ConnectError(f"{text}. {CHECK_CREDENTIALS}")
    if code in REFUSED:
        return ConnectError(f"{text}. {_LARGER[code]}" if code in _LARGER else text)
    if error.fatal() or code == KafkaError._FATAL:  # noqa: SLF001
        return Fenced(text)
    if code == KafkaError._STATE:  # noqa: SLF001 (the transaction failed before this record)
        return TransactionAborted(text)
    if error.txn_requires_abort():
        return TransactionAborted(text)
    if passing(error):
        return RetriableError(text)
    return ConnectError(text)


def _right(code: int, doing: str) -> str:
    """Return the missing right in parentheses, as far as error and operation identify it (docs/kafka-acls.md)."""
    if code == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return " (Write on the transactional id)"
    word = doing.partition(" ")[0]
    if code == KafkaError.GROUP_AUTHORIZATION_FAILED:
        right = _GROUP_RIGHTS.get(word, "Read")
        return f" ({right} on the group)"
    right = _TOPIC_RIGHTS.get(word, "")
    return f" ({right} on the topic)" if right else ""


@contextmanager
def translating(doing: str) -> Iterator[None]:
    """Translate the errors that a client raises inside the context, like `translated`."""
    try:
        yield
    except KafkaException as e:
        error = e.args[0]
        if not isinstance(error, KafkaError):
            raise ConnectError(f"{doing}: {error}") from e
        raise translated(error, doing) from e
    except BufferError as e:
        raise RetriableError(f"{doing}: the client's queue is full") from e
