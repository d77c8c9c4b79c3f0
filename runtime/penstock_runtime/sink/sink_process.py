"""Process that writes a sink's records: the driver, or one of Spark's Python workers.

It converts and transforms raw records into batches and passes these to the plugin's `Writer`. Failed records go to the log
and the dead letter queue, with the bytes that were read. Only the driver commits offsets, after `Sink.commit`.
"""

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.errors import ConnectError, RetriableError, Superseded
from penstock.record import Record
from penstock.sink import Writer
from penstock_model.backoff import ExponentialBackoff
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.pipeline import chain
from penstock_runtime.pipeline.converters import Converters, convert_consumed
from penstock_runtime.pipeline.error_tolerance import (
    ErrorPolicy,
    Failure,
    RetryWithToleranceOperator,
    Stage,
    describe,
    fatal,
)
from penstock_runtime.pipeline.summary import Summary, error_line
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.process.plugin_place import raised_in
from penstock_runtime.sink.dead_letter_writer import DeadLetters
from penstock_runtime.sink.errant_records import ErrantRecords, ReportedUnderNone, coordinates

__all__ = ["PutRetries", "SinkProcess"]

log = logging.getLogger(__name__)
T = TypeVar("T")
_FIRST_DELAY: Final = 0.3

PUT_CLASS: Final = "org.apache.kafka.connect.sink.SinkTask"
"""Class that Kafka Connect names for failures in `put`; tools search for it."""


@dataclass(frozen=True)
class PutRetries:
    """Handling of a `RetriableError` of `Writer.write`; times in seconds.

    Attributes:
        timeout: time for which a batch is retried; negative: forever, as in Kafka Connect.
        delay_max: longest pause between two attempts.
    """

    timeout: float = -1.0
    delay_max: float = 60.0


class SinkProcess:
    """State of a sink task in one process.

    Args:
        settings: connection to Kafka, for the dead letter queue.
        steps, converters, policy, retries: applied to each record and batch.
        writer: creates the sink's writer; called once, when the writer is first needed.
        stopping: ends retries; in a Spark worker, also the attempts of a record.
        redact: masks secrets in messages of plugins, for the dead letter queue.
        retries_here: wait and retry in this process; otherwise raise the `RetriableError` (a Spark worker returns it to
            the driver, which reports it and waits without holding a job).
        trouble: called with the reason while a batch is retried, and with None when it is written.
        lost: called with the counts of dead letters that Kafka did not accept, because their failed batch is not counted.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        connector: str,
        task: int,
        steps: Sequence[chain.Step],
        converters: Converters,
        policy: ErrorPolicy,
        retries: PutRetries,
        writer: Callable[[], Writer],
        stopping: Callable[[], bool],
        sleep: Callable[[float], Any] = time.sleep,
        trouble: Callable[[str | None], None] = lambda text: None,
        lost: Callable[[Summary], None] = lambda summary: None,
        redact: Callable[[str], str] = str,
        retries_here: bool = True,
    ) -> None:
        self._connector = connector
        self._task = task
        self._steps = steps
        self._converters = converters
        self._policy = policy
        self._retries = retries
        self._make_writer = writer
        self._writer: Writer | None = None
        self._stopping = stopping
        self._sleep = sleep
        self._trouble = trouble
        self._retries_here = retries_here
        self._dead_letters = DeadLetters(
            settings, connector=connector, task=task, policy=policy, redact=redact, lost=lost
        )
        self._late: list[ConnectError] = []
        """Errors of records that the writer reported after `write` had returned."""

    def put(self, consumed: Sequence[Consumed], *, stage: bool = False) -> Summary:
        """Write these records, or stage them; on return each one is written, staged, dropped or reported as failed.

        Raises:
            ConnectError: a record failed and `errors.tolerance` is `none`, or the writer failed.
        """
        summary = Summary()
        self._check_reports()
        batches = [b for c in consumed for b in [self.convert(c, summary)] if b.length]
        if summary.dead_letters:  # a writer may store offsets beyond these records, so that they are not read again
            self._dead_letters.finish(summary)
        if batches:
            started = time.perf_counter()
            self._write(batches, consumed, summary, stage=stage)
            summary.add_time("deliver", time.perf_counter() - started)
        return summary

    def staged(self) -> list[Any]:
        """Return the message for records staged since the last call, if there is one.

        Raises: as `put`.
        """
        if self._writer is None:
            return []
        message = returned.message(self._writer.staged(), returned.name(self._writer, "staged"))
        self._check_reports()
        return [] if message is None else [message]

    def convert(self, consumed: Consumed, summary: Summary) -> RecordBatch:
        """Convert and transform records, and handle failures."""
        batch, failures = self.converted(consumed, summary)
        if failures:
            self._handle_failures(failures, consumed, summary)
        return batch

    def converted(self, consumed: Consumed, summary: Summary) -> tuple[RecordBatch, Sequence[Failure]]:
        """Convert and transform records; return the batch, and the failures for `handle_failures`.

        Raises:
            ConnectError: a record failed and `errors.tolerance` is `none`.
        """
        started = time.perf_counter()
        operator = RetryWithToleranceOperator(self._policy, self._stopping, waiting=self._trouble)
        batch = convert_consumed(self._converters, consumed, operator)
        good = batch.length
        converted = time.perf_counter()
        failed = len(operator.failures)
        result = chain.transform(self._steps, batch, operator)
        if result.offset is None:  # a transform made new records; give them the offsets of its input records
            result = result.replace(offset=[consumed.offset[row] for row in result.positions])
        summary.add_time("convert", converted - started)
        summary.add_time("transform", time.perf_counter() - converted)
        summary.read += len(consumed.offset)
        summary.bytes += consumed.size()
        summary.retries += operator.retries
        summary.dropped += good - result.length - (len(operator.failures) - failed)
        if good:
            summary.wrote_to(consumed.source.topic)
        summary.offsets = [*summary.offsets, (*consumed.source, consumed.next_offset)]
        if operator.failures and not self._policy.tolerate:
            self._handle_failures(operator.failures, consumed, summary)
        return result, operator.failures

    def handle_failures(self, failures: Sequence[tuple[Consumed, Sequence[Failure]]], summary: Summary) -> None:
        """Count and log failed records, and write their dead letters; on return these are in Kafka.

        Retries do not include the rest of the batch, which may be written already. Raises as `retrying`.
        """
        if any(of for _, of in failures):
            summary.add(self.retrying(lambda: self._failures_handled(failures), summary))

    def close(self) -> None:
        """Close everything."""
        if self._writer is not None:
            with suppress(Exception):
                self._writer.close()
        self._dead_letters.close()

    def _write(
        self, batches: Sequence[RecordBatch], consumed: Sequence[Consumed], summary: Summary, *, stage: bool
    ) -> None:
        if self._writer is None:
            self._writer = self._make_writer()
        put = self._writer.stage if stage else self._writer.write
        reports = ErrantRecords(tolerate=self._policy.tolerate, late=self._late.append)
        try:
            message = self.retrying(lambda: reports.during(lambda report: put(batches, report)), summary)
        except ReportedUnderNone as e:
            raise self._fatal_report(e.record, e.error, consumed) from e.error
        except (
            _RetriesExhausted,
            RetriableError,
            Superseded,
        ):  # RetriableError: in a Spark worker; the driver waits, and reads the batch again
            raise
        except BaseException as e:  # noqa: BLE001 (raised as the sink's failure)
            error = as_failure(e)
            raise ConnectError(
                f"Exiting WorkerSinkTask due to unrecoverable exception. {_range(consumed)}: {describe(error)}"
                f"{raised_in(error)}"
            ) from error
        self._check_reports()
        reported = reports.reported
        if reported:
            # Retried without the batch: it is written, and if the writer stores offsets it is not read again.
            summary.add(self.retrying(lambda: self._reports_handled(reported, consumed), summary))
        summary.written += sum(b.length for b in batches) - len(reported)
        if message is not None:
            method = returned.name(self._writer, "stage" if stage else "write")
            returned.message(message, method, lambda: f" ({_range(consumed)})")
            summary.messages = [*summary.messages, message]

    def _failures_handled(self, failures: Sequence[tuple[Consumed, Sequence[Failure]]]) -> Summary:
        settled = Summary()
        for consumed, of in failures:
            self._handle_failures(of, consumed, settled)
        self._dead_letters.finish(settled)
        return settled

    def _reports_handled(self, reported: Sequence[tuple[Record, Exception]], consumed: Sequence[Consumed]) -> Summary:
        settled = Summary()
        for record, error in reported:
            self._handle_report(record, error, consumed, settled)
        self._dead_letters.finish(settled)
        return settled

    def retrying(self, work: Callable[[], T], summary: Summary) -> T:
        """Call `work`, and retry it while it raises `RetriableError`, within `sink.retry.timeout.ms`.

        Raises:
            RetriableError: the task stops; the next incarnation reads the batch again.
            ConnectError: the timeout has elapsed.
            Exception: any other exception of `work`.
        """
        deadline = time.monotonic() + self._retries.timeout if self._retries.timeout >= 0 else float("inf")
        attempt = 0
        while True:
            LOOP.turned()
            try:
                result = work()
            except RetriableError as e:
                if not self._retries_here:
                    raise
                attempt += 1
                left = deadline - time.monotonic()
                if left <= 0:
                    raise _RetriesExhausted(
                        f"Exiting WorkerSinkTask due to unrecoverable exception: {describe(e)}"
                    ) from e
                pause = e.retry_after
                if pause is None:
                    pause = ExponentialBackoff(_FIRST_DELAY, self._retries.delay_max).pause(attempt)
                summary.retries += 1
                self._trouble(f"write is retried (attempt {attempt}): {e}")
                self._sleep(min(pause, left))
                if self._stopping():
                    raise _Stopped(f"cannot retry the write: the task is stopping; the last error was: {e}") from e
            else:
                if attempt:
                    self._trouble(None)
                return result

    def _check_reports(self) -> None:
        """Fail the task if a record was reported late: it is not in the dead letter queue, and its offset may be committed.

        Raises:
            ConnectError: there is such a record; the plugin has ignored the error of its report.
        """
        if self._late:
            raise self._late[0]

    def _fatal_report(self, record: Record, error: Exception, consumed: Iterable[Consumed]) -> ConnectError:
        try:
            self._handle_report(record, error, consumed, Summary())
        except ConnectError as e:
            return e
        raise AssertionError("tolerated")

    def _handle_report(self, record: Record, error: Exception, consumed: Iterable[Consumed], summary: Summary) -> None:
        """Handle a reported record like any failed one: with its offset in Kafka and the bytes that were read there."""
        original = record.original
        for of in consumed:
            if original is not None and of.source == (original.topic, original.partition):
                row = bisect_left(of.offset, original.offset)
                if of.offset[row : row + 1] == [original.offset]:
                    self._handle_failures([Failure(row, Stage.TASK_PUT, PUT_CLASS, error)], of, summary)
                    return
        raise ConnectError(
            f"cannot accept the report of a {coordinates(record)}: the sink never received it; tell the plugin's author"
        ) from error

    def _handle_failures(self, failures: Sequence[Failure], consumed: Consumed, summary: Summary) -> None:
        topic, partition = consumed.source
        task = f"{self._connector}-{self._task}"
        if not self._policy.tolerate:
            first = min(failures, key=lambda f: f.position)
            if self._policy.log:
                log.error("%s", error_line(first, task, self._detail(consumed, first.position)))
            where = f"record at {topic}-{partition} offset {consumed.offset[first.position]}"
            error = fatal(first, self._policy, where=where, task=task)
            self._dead_letters.bury_last(first, consumed)
            raise error
        for failure in failures:
            detail = self._detail(consumed, failure.position)
            summary.failed(failure, task, log=self._policy.log, detail=detail)
            self._dead_letters.bury(failure, consumed, summary)

    def _detail(self, consumed: Consumed, row: int) -> str:
        if not self._policy.log_messages:
            return ""
        topic, partition = consumed.source
        timestamp = consumed.timestamp[row]
        return (
            f", where consumed record is {{topic='{topic}', partition={partition}, offset={consumed.offset[row]}, "
            f"timestamp={-1 if timestamp is None else timestamp}, timestampType={consumed.timestamp_type_of(row)}}}"
        )


class _RetriesExhausted(ConnectError):
    """Raised when `sink.retry.timeout.ms` has elapsed."""


class _Stopped(RetriableError):
    """Raised when the task is stopped while it waits for the next attempt."""


def _range(consumed: Sequence[Consumed]) -> str:
    return "Writing " + ", ".join(
        f"{c.source.topic}-{c.source.partition} offsets {c.offset[0]} to {c.offset[-1]}" for c in consumed[:5]
    )
