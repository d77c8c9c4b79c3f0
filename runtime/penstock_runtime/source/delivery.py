"""Path of a source's records: read, transform, convert, produce. It runs in the driver and in Spark's workers."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from penstock.batch import RecordBatch
from penstock.errors import ConnectError
from penstock.record import Record
from penstock_runtime.java_plugins.placements import Placements
from penstock_runtime.kafka.producer_buffer import Outgoing, Refused
from penstock_runtime.pipeline import chain
from penstock_runtime.pipeline.converters import Converters, convert_outgoing
from penstock_runtime.pipeline.dead_letters import FailedRecord, dead_letter
from penstock_runtime.pipeline.error_tolerance import (
    ErrorPolicy,
    Failure,
    RetryWithToleranceOperator,
    Stage,
    fatal,
)
from penstock_runtime.pipeline.summary import Summary, error_line
from penstock_runtime.process.liveness import LOOP

__all__ = ["Delivery", "Port"]

log = logging.getLogger(__name__)

PRODUCE_CLASS: Final = "org.apache.kafka.connect.runtime.WorkerSourceTask"
"""Class that Kafka Connect names for records that the producer refuses."""


class Port(Protocol):
    """Receiver of converted records: a transaction, or a producer without transactions."""

    def send(self, outgoing: Outgoing) -> list[Refused]:
        """Send records; return those that the client refuses."""


@dataclass(frozen=True)
class Delivery:
    """Configured chain of one source task.

    Attributes:
        connector, task: name of the connector and number of the task, for messages.
        steps, converters, policy: applied to each record.
        forbidden: offsets topic, to which records must not be sent with exactly-once delivery.
        create_topics: creates missing topics before records are sent; None: the brokers do that.
        bury_alone: writes the dead letter of the record that fails the task and waits until Kafka has it; outside the
            transaction, which is aborted.
        redact: masks secrets in messages of plugins, for the dead letter queue.
        stopping: ends retries and long portions.
        waiting: receives the reason before a record is retried.
        placements: receives the position of each record in Kafka; None: positions are not needed.
    """

    connector: str
    task: int
    steps: Sequence[chain.Step]
    converters: Converters
    policy: ErrorPolicy
    forbidden: str | None
    stopping: Callable[[], bool]
    waiting: Callable[[str], None] = lambda text: None
    redact: Callable[[str], str] = str
    create_topics: Callable[[set[str]], None] | None = None
    bury_alone: Callable[[Outgoing], None] | None = None
    placements: Placements | None = None

    def run_stage(self, portions: Iterable[RecordBatch], port: Port, summary: Summary, *, where: str) -> None:
        """Send every record of these portions, in order.

        Args:
            portions: from the reader, one at a time.
            port: receives the records.
            summary: counts records, failures and times.
            where: the source, for messages.

        Raises:
            ConnectError: a record failed and `errors.tolerance` is `none`, or a failure that is never tolerated.
            Exception: any exception of the reader or the port.
        """
        clock = time.perf_counter
        started = clock()
        for batch in portions:
            LOOP.turned()
            read = clock()
            summary.add_time("read", read - started)
            operator = RetryWithToleranceOperator(self.policy, self.stopping, waiting=self.waiting)
            # Dead letters and log lines show a failed record as it was read, so no stage may write into it.
            original = batch.replace(owned=False) if self._shows_records and batch.owned else batch
            transformed = chain.transform(self.steps, original, operator)
            transformed_at = clock()
            outgoing = convert_outgoing(self.converters, transformed, operator)
            if self.placements is not None:
                outgoing.placed = self.placements.portion(batch.positions[0])
            converted = clock()
            summary.add_time("transform", transformed_at - read)
            summary.add_time("convert", converted - transformed_at)
            summary.read += batch.length
            summary.retries += operator.retries
            summary.dropped += batch.length - outgoing.length - len(operator.failures)
            failures = operator.failures
            if failures and not self.policy.tolerate:
                self._fail(failures, batch, where)
            if outgoing.length:
                self._check_topics(outgoing)
                refused = port.send(outgoing)
                failures = [*failures, *(self._refusal(r, outgoing) for r in refused)]
                summary.written += outgoing.length - len(refused)
                summary.bytes += outgoing.size()
                summary.wrote_to(_written_topics(outgoing, refused))
            if failures:
                self._tolerate(failures, batch, port, summary, where)
            started = clock()
            summary.add_time("deliver", started - converted)

    def _tolerate(
        self, failures: Sequence[Failure], batch: RecordBatch, port: Port, summary: Summary, where: str
    ) -> None:
        if not self.policy.tolerate:
            self._fail(failures, batch, where)
        first = batch.positions[0]
        for failure in failures:
            record = batch.record(failure.position - first)
            summary.failed(failure, f"{self.connector}-{self.task}", log=self.policy.log, detail=self._detail(record))
            self._bury(failure, record, port, summary)

    def _fail(self, failures: Sequence[Failure], batch: RecordBatch, where: str) -> None:
        worst = min(failures, key=lambda f: f.position)
        row = worst.position - batch.positions[0]
        record, task = batch.record(row), f"{self.connector}-{self.task}"
        place = f"topic '{record.topic}'" + ("" if record.partition is None else f" partition {record.partition}")
        error = fatal(worst, self.policy, where=f"record {row} of a batch of {where} for {place}", task=task)
        # Kafka Connect logs failures of transforms and converters; a record that the producer refuses only if tolerated.
        if worst.stage is not Stage.KAFKA_PRODUCE:
            if self.policy.log:
                log.error("%s", error_line(worst, task, self._detail(record)))
            self._bury_last(worst, record)
        raise error

    @property
    def _shows_records(self) -> bool:
        return self.policy.dead_letter_topic is not None or self.policy.log_messages

    def _bury_last(self, failure: Failure, record: Record) -> None:
        """Write the record that fails the task to the dead letter queue too, as Kafka Connect does."""
        letter = self._letter(failure, record)
        if letter is None or self.bury_alone is None:
            return
        try:
            self.bury_alone(letter)
        except ConnectError as e:  # the task fails anyway, for the first reason
            log.warning(
                "Cannot write the record that fails the task to the dead letter queue '%s': %s", letter.topic, e
            )

    def _detail(self, record: Record) -> str:
        return f", where source record is = {_source_record_text(record)}" if self.policy.log_messages else ""

    def _letter(self, failure: Failure, record: Record) -> Outgoing | None:
        """Return the dead letter of a record: as the source returned it, because it was never in Kafka."""
        if self.policy.dead_letter_topic is None:
            return None
        failed = FailedRecord(
            self.connector,
            self.task,
            record.topic,
            record.partition,
            None,
            _raw(record.key),
            _raw(record.value),
            _raw_headers(record),
            timestamp=record.timestamp if (record.timestamp or 0) >= 0 else None,  # Kafka rejects negative ones
        )
        return dead_letter(failed, failure, self.policy, self.redact)

    def _bury(self, failure: Failure, record: Record, port: Port, summary: Summary) -> None:
        """Write a failed record to the dead letter queue, in the transaction of its batch."""
        letter = self._letter(failure, record)
        if letter is None:
            return
        refused = port.send(letter)
        summary.dead_letters += 1
        summary.dead_letters_lost += len(refused)
        for r in refused:  # the record is too large, so retries fail; the external system still has it
            summary.logged += 1
            summary.log.append(
                f"cannot write a failed record for topic '{record.topic}' to the dead letter queue '{letter.topic}', so "
                f"it is only skipped: {r.error}"
            )

    def _refusal(self, refused: Refused, outgoing: Outgoing) -> Failure:
        return Failure(outgoing.positions[refused.row], Stage.KAFKA_PRODUCE, PRODUCE_CLASS, refused.error)

    def _check_topics(self, outgoing: Outgoing) -> None:
        """Check that these records may go to their topics, and that the topics exist."""
        topics = set(outgoing.topic) if isinstance(outgoing.topic, list) else {outgoing.topic}
        if self.forbidden in topics:
            raise ConnectError(
                f"Source tasks may not produce to their own offsets topics when exactly-once support is enabled "
                f"(topic '{self.forbidden}'). Send these records to another topic."
            )
        if self.create_topics is not None:
            self.create_topics(topics)


def _written_topics(outgoing: Outgoing, refused: Sequence[Refused]) -> list[str]:
    """Return the topics of the records that were not refused."""
    if not isinstance(outgoing.topic, list):
        return [outgoing.topic] if len(refused) < outgoing.length else []
    rows = {r.row for r in refused}
    return [t for row, t in enumerate(outgoing.topic) if row not in rows] if rows else outgoing.topic


def _raw(value: Any) -> bytes | None:
    """Encode a value without a converter: bytes as they are, everything else as text."""
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else repr(value)).encode("utf-8", "replace")


def _raw_headers(record: Record) -> list[tuple[str, bytes | None]]:
    return [(h.name, _raw(h.value)) for h in record.headers]


def _source_record_text(record: Record) -> str:
    return (
        f"SourceRecord{{topic='{record.topic}', kafkaPartition={record.partition}, key={record.key!r}, "
        f"value={record.value!r}, timestamp={record.timestamp}}}"
    )
