"""Build records of the dead letter queue (KIP-298), for sources and sinks. Without I/O."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock_runtime.kafka.producer_records import Outgoing
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, Failure, printable

__all__ = ["FailedRecord", "context_headers", "dead_letter"]


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """Failed record as bytes, and its origin.

    Attributes:
        connector, task: task whose record failed.
        topic, partition, offset: position from which a sink read it, or to which a source would write it, without offset.
        key, value, headers: contents for the queue.
        timestamp: in milliseconds; None: the time of writing.
    """

    connector: str
    task: int
    topic: str | None
    partition: int | None
    offset: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    timestamp: int | None


def dead_letter(record: FailedRecord, failure: Failure, policy: ErrorPolicy, redact: Callable[[str], str]) -> Outgoing:
    """Return the dead letter of a record, under a policy that names a queue.

    Args:
        record: the failed record.
        failure: error of the record.
        policy: has the queue, and whether to add headers.
        redact: masks secrets in messages of plugins.
    """
    headers = [*record.headers]
    if policy.dead_letter_headers:
        coordinates = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "connector.name": record.connector,
            "task.id": record.task,
        }
        headers += context_headers(failure, coordinates, redact)
    return Outgoing(
        length=1,
        topic=policy.dead_letter_topic or "",
        key=[record.key],
        value=[record.value],
        headers=[headers],
        timestamp=record.timestamp,
    )


def context_headers(
    failure: Failure, coordinates: dict[str, Any], redact: Callable[[str], str] = str
) -> list[tuple[str, bytes | None]]:
    """Return the context headers of the dead letter queue, in Kafka Connect's order.

    Args:
        failure: failure of the record.
        coordinates: topic, partition, offset, connector.name and task.id; those that are None are omitted.
        redact: masks secrets in messages of plugins.
    """
    message = str(failure.error)
    values: dict[str, str | None] = {
        **{name: str(value) for name, value in coordinates.items() if value is not None},
        "stage": failure.stage.value,
        "class.name": failure.plugin,
        "exception.class.name": f"{type(failure.error).__module__}.{type(failure.error).__qualname__}",
        "exception.message": message or None,
        "exception.stacktrace": failure.trace(),
    }
    return [(f"__connect.errors.{k}", None if v is None else printable(redact(v)).encode()) for k, v in values.items()]
