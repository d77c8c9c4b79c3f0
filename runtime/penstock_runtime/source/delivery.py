"""The fused stage of a source: read, transform, convert, deliver, in one place, for the driver and Spark's workers alike."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from penstock.batch import RecordBatch
from penstock.errors import ConnectError
from penstock.record import Record
from penstock_runtime.kafka.producer_buffer import Outgoing, Refused
from penstock_runtime.pipeline import chain
from penstock_runtime.pipeline.converters import Converters, convert_outgoing
from penstock_runtime.pipeline.dead_letters import FailedRecord, dead_letter
from penstock_runtime.pipeline.record_errors import (
    ErrorPolicy,
    Failure,
    RetryWithToleranceOperator,
    Stage,
    fatal,
)
from penstock_runtime.pipeline.summary import Summary, error_line
from penstock_runtime.task.liveness import LOOP

__all__ = ["Delivery", "Port"]

log = logging.getLogger(__name__)

PRODUCE_CLASS: Final = "org.apache.kafka.connect.runtime.WorkerSourceTask"
"""The class that Connect names for records that the producer refuses."""


class Port(Protocol):
    """Where converted records go: a transaction, or a plain producer."""

    def send(self, outgoing: Outgoing) -> list[Refused]:
        """Give records; those that the client refuses come back."""


@dataclass(frozen=True)
class Delivery:
    """The configured chain of one source task.

    Attributes:
        task: `<connector>-<task>`, for messages.
        steps, converters, policy: what happens to each record.
        forbidden: the offsets topic, which records must not go to when exactly once.
        create_topics: sees that topics are there before records go to them; None leaves that to the brokers.
        bury_alone: writes the dead letter of a record that fails the task, and waits until Kafka has it: outside of the
            transaction, of which nothing will show.
        redact: takes secrets out of what a plugin said, for the dead letter queue.
        stopping: ends retries and long portions.
    """

    connector: str
    task: int
    steps: Sequence[chain.Step]
    converters: Converters
    policy: ErrorPolicy
    forbidden: str | None
    stopping: Callable[[], bool]
    redact: Callable[[str], str] = str
    create_topics: Callable[[set[str]], None] | None = None
    bury_alone: Callable[[Outgoing], None] | None = None

    def run_stage(self, portions: Iterable[RecordBatch], port: Port, summary: Summary, *, where: str) -> None:
        """Send every record of these portions, in order.

        Args:
            portions: from the reader; read as they are needed.
            port: takes the records; whether they arrive is its own affair.
            summary: counts what happens.
            where: what is read, to begin messages with.

        Raises:
            ConnectError: a record failed and `errors.tolerance` is `none`, or a failure that is never tolerated.
            Exception: whatever the reader or the port raises.
        """
        clock = time.perf_counter
        started = clock()
        for batch in portions:
            LOOP.turned()
            read = clock()
            summary.add_time("read", read - started)
            operator = RetryWithToleranceOperator(self.policy, self.stopping)
            # What is told of a failed record is the record as it was read, so that no stage may write into it.
            given = batch.replace(owned=False) if self._tells_records and batch.owned else batch
            transformed = chain.transform(self.steps, given, operator)
            changed = clock()
            outgoing = convert_outgoing(self.converters, transformed, operator)
            converted = clock()
            summary.add_time("transform", changed - read)
            summary.add_time("convert", converted - changed)
            summary.read += batch.length
            summary.retries += operator.retries
            summary.dropped += batch.length - outgoing.length - len(operator.failures)
            failures = operator.failures
            if failures and not self.policy.tolerate:
                self._fail(failures, batch, where)
            if outgoing.length:
                self._open(outgoing)
                refused = port.send(outgoing)
                failures = [*failures, *(self._refusal(r, outgoing) for r in refused)]
                summary.written += outgoing.length - len(refused)
                summary.bytes += outgoing.size()
                summary.wrote_to(_taken(outgoing, refused))
            if failures:
                self._settle(failures, batch, port, summary, where)
            started = clock()
            summary.add_time("deliver", started - converted)

    def _settle(
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
        error = fatal(worst, where=f"record {row} of a portion of {where} for {place}", task=task)
        # Kafka Connect reports what its operator runs; what the producer refuses it does not, unless it is tolerated.
        if worst.stage is not Stage.KAFKA_PRODUCE:
            if self.policy.log:
                log.error("%s", error_line(worst, task, self._detail(record)))
            self._bury_last(worst, record)
        raise error

    @property
    def _tells_records(self) -> bool:
        return self.policy.dead_letter_topic is not None or self.policy.log_messages

    def _bury_last(self, failure: Failure, record: Record) -> None:
        """The record that fails the task is a dead letter too, as in Kafka Connect."""
        letter = self._letter(failure, record)
        if letter is None or self.bury_alone is None:
            return
        try:
            self.bury_alone(letter)
        except ConnectError as e:  # the task fails anyway, and for another reason
            log.warning("The record that fails the task is not in the dead letter queue '%s': %s", letter.topic, e)

    def _detail(self, record: Record) -> str:
        return f", where source record is = {_shown(record)}" if self.policy.log_messages else ""

    def _letter(self, failure: Failure, record: Record) -> Outgoing | None:
        """The dead letter of a record: what the source gave, since it has no bytes of Kafka."""
        if self.policy.dead_letter_topic is None:
            return None
        failed = FailedRecord(
            self.connector, self.task, record.topic, record.partition, None, _raw(record.key), _raw(record.value),
            _raw_headers(record),
            timestamp=record.timestamp if (record.timestamp or 0) >= 0 else None,  # Kafka takes no negative one
        )  # fmt: skip
        return dead_letter(failed, failure, self.policy, self.redact)

    def _bury(self, failure: Failure, record: Record, port: Port, summary: Summary) -> None:
        """Write a failed record to the dead letter queue, with the records of its own batch."""
        letter = self._letter(failure, record)
        if letter is None:
            return
        refused = port.send(letter)
        summary.dead_letters += 1
        summary.dead_letters_lost += len(refused)
        for r in refused:  # too large: it would be so for ever, and the outside still has the record
            summary.logged += 1
            summary.log.append(
                f"A failed record for topic '{record.topic}' is passed over and not in the dead letter queue "
                f"'{letter.topic}', which cannot take it: {r.error}"
            )

    def _refusal(self, refused: Refused, outgoing: Outgoing) -> Failure:
        return Failure(outgoing.positions[refused.row], Stage.KAFKA_PRODUCE, PRODUCE_CLASS, refused.error)

    def _open(self, outgoing: Outgoing) -> None:
        """See that these records may go, and can go, to their topics."""
        topics = set(outgoing.topic) if isinstance(outgoing.topic, list) else {outgoing.topic}
        if self.forbidden in topics:
            raise ConnectError(
                f"Source tasks may not produce to their own offsets topics when exactly-once support is enabled "
                f"(topic '{self.forbidden}'). Send these records to another topic."
            )
        if self.create_topics is not None:
            self.create_topics(topics)


def _taken(outgoing: Outgoing, refused: Sequence[Refused]) -> list[str]:
    """The topics of the records that were not refused."""
    if not isinstance(outgoing.topic, list):
        return [outgoing.topic] if len(refused) < outgoing.length else []
    rows = {r.row for r in refused}
    return [t for row, t in enumerate(outgoing.topic) if row not in rows] if rows else outgoing.topic


def _raw(value: Any) -> bytes | None:
    """A value that no converter took, readable: bytes as they are, all else as text."""
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else repr(value)).encode("utf-8", "replace")


def _raw_headers(record: Record) -> list[tuple[str, bytes | None]]:
    return [(h.name, _raw(h.value)) for h in record.headers]


def _shown(record: Record) -> str:
    return (
        f"SourceRecord{{topic='{record.topic}', kafkaPartition={record.partition}, key={record.key!r}, "
        f"value={record.value!r}, timestamp={record.timestamp}}}"
    )
