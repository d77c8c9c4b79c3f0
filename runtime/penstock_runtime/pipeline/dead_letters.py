"""The record of a dead letter queue (KIP-298), of sources and sinks alike. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock_runtime.kafka.producer_records import Outgoing
from penstock_runtime.pipeline.record_errors import ErrorPolicy, Failure, context_headers

__all__ = ["FailedRecord", "dead_letter"]


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A record that failed, as bytes, and where it came from.

    Attributes:
        connector, task: whose record it is.
        topic, partition, offset: where a sink read it, or where a source wanted to write it; a source knows no offset.
        key, value, headers: as they go into the queue.
        timestamp: in milliseconds; None is the time of writing.
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
    """The dead letter of a record, under a policy that names a queue.

    Args:
        record: the one that failed.
        failure: what happened to it.
        policy: the queue, and whether headers say why.
        redact: takes secrets out of what a plugin said.
    """
    headers = [*record.headers]
    if policy.dead_letter_headers:
        coordinates = {
            "topic": record.topic, "partition": record.partition, "offset": record.offset,
            "connector.name": record.connector, "task.id": record.task,
        }  # fmt: skip
        headers += context_headers(failure, coordinates, redact)
    return Outgoing(
        length=1, topic=policy.dead_letter_topic or "", key=[record.key], value=[record.value], headers=[headers],
        timestamp=record.timestamp,
    )  # fmt: skip
