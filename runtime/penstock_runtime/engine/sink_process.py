"""A process that writes a sink's records: the driver, or one of Spark's Python workers.

Raw records become batches (convert, transform), go to the plugin's `Writer`, and what fails goes to the log and the dead
letter queue with the bytes that were read. Nothing here commits offsets: that is the driver's, after `Sink.commit`.
"""

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any, Final, TypeVar

from penstock.batch import RecordBatch
from penstock.errors import ConnectError, RetriableError
from penstock.record import Original, Record
from penstock.sink import Reporter, Writer
from penstock_runtime.engine import chain
from penstock_runtime.engine.converting import Converters, convert_consumed
from penstock_runtime.engine.summary import Summary, error_line
from penstock_runtime.engine.tolerance import ErrorPolicy, Failure, Operator, Stage, context_headers, describe, fatal
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.kafka.outbox import Outgoing
from penstock_runtime.kafka.plain import LAST_WORDS, PlainProducer
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["PutRetries", "SinkProcess"]

log = logging.getLogger(__name__)
T = TypeVar("T")
_FIRST_DELAY: Final = 0.3

PUT_CLASS: Final = "org.apache.kafka.connect.sink.SinkTask"
"""The class that Connect names for failures in `put`; tools look for it."""


@dataclass(frozen=True)
class PutRetries:
    """How a `RetriableError` of `Writer.write` is treated; times in seconds.

    Attributes:
        timeout: how long the same batch is tried; a negative one for ever, as in Kafka Connect.
        delay_max: cap of the back-off.
    """

    timeout: float = -1.0
    delay_max: float = 60.0


class SinkProcess:
    """One process's end of a sink task.

    Args:
        settings: how to connect, for the dead letter queue.
        steps, converters, policy, retries: what happens to each record and batch.
        writer: makes the task half of the sink; called once, when it is first needed.
        stopping: ends retries.
        redact: takes secrets out of what a plugin said, for the dead letter queue.
        patient: wait and try again here; else a `RetriableError` is for the caller (a Spark worker gives it to the driver,
            which tells of it and waits without holding a job).
        trouble: told while a batch is tried again, and None when it went through.
        lost: given the counts of dead letters that Kafka did not take, as their batch will not count them.
    """

    def __init__(
        self, settings: ClientSettings, *, connector: str, task: int, steps: Sequence[chain.Step],
        converters: Converters, policy: ErrorPolicy, retries: PutRetries, writer: Callable[[], Writer],
        stopping: Callable[[], bool], sleep: Callable[[float], Any] = time.sleep,
        trouble: Callable[[str | None], None] = lambda text: None, lost: Callable[[Summary], None] = lambda summary: None,
        redact: Callable[[str], str] = str, patient: bool = True,
    ) -> None:  # fmt: skip
        self._settings = settings
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
        self._lost = lost
        self._redact = redact
        self._patient = patient
        self._dead_letters: PlainProducer | None = None
        self._late: list[ConnectError] = []
        """Of reports that came when their batch was over."""

    def put(self, consumed: Sequence[Consumed], *, stage: bool = False) -> Summary:
        """Write these records, or stage them; on return all of them are written, staged, dropped or handed back.

        Raises:
            ConnectError: a record failed and `errors.tolerance` is `none`, or the writer failed.
        """
        summary = Summary()
        self._check_reports()
        batches = [b for c in consumed for b in [self.convert(c, summary)] if b.length]
        if summary.dead_letters:  # a writer may store offsets beyond them, so that these records never come again
            self.finish(summary)
        if batches:
            started = time.perf_counter()
            self._write(batches, consumed, summary, stage=stage)
            summary.spend("deliver", time.perf_counter() - started)
        return summary

    def staged(self) -> list[Any]:
        """The message of what was staged since this was last asked, if there is one.

        Raises: as `put`.
        """
        message = None if self._writer is None else self._writer.staged()
        self._check_reports()
        return [] if message is None else [message]

    def convert(self, consumed: Consumed, summary: Summary) -> RecordBatch:
        """Converted and transformed records; failures are settled."""
        started = time.perf_counter()
        operator = Operator(self._policy, self._stopping)
        batch = convert_consumed(self._converters, consumed, operator)
        good = batch.length
        converted = time.perf_counter()
        failed = len(operator.failures)
        result = chain.transform(self._steps, batch, operator)
        if result.offset is None:  # a transform made records from nothing; they lie where those lay that it was given
            result = result.replace(offset=[consumed.offset[row] for row in result.positions])
        summary.spend("convert", converted - started)
        summary.spend("transform", time.perf_counter() - converted)
        summary.read += len(consumed.offset)
        summary.bytes += consumed.size()
        summary.retries += operator.retries
        summary.dropped += good - result.length - (len(operator.failures) - failed)
        if good:
            summary.wrote_to(consumed.source.topic)
        summary.offsets = [*summary.offsets, (*consumed.source, consumed.next_offset)]
        if operator.failures:
            self._settle(operator.failures, consumed, summary)
        return result

    def close(self) -> None:
        """Let go of everything."""
        if self._writer is not None:
            with suppress(Exception):
                self._writer.close()
        if self._dead_letters is not None:
            self._dead_letters.close()

    def _write(
        self, batches: Sequence[RecordBatch], consumed: Sequence[Consumed], summary: Summary, *, stage: bool
    ) -> None:
        if self._writer is None:
            self._writer = self._make_writer()
        put = self._writer.stage if stage else self._writer.write
        reports = _Reports(tolerate=self._policy.tolerate, late=self._late.append)
        try:
            message = self.retrying(lambda: reports.during(lambda report: put(batches, report)), summary)
        except _ReportedUnderNone as e:
            raise self._fatal_report(e.record, e.error, consumed) from e.error
        except (_GivenUp, RetriableError):  # of a worker of Spark: the driver waits, and reads the batch again
            raise
        except Exception as e:
            raise ConnectError(
                f"Exiting WorkerSinkTask due to unrecoverable exception. {_range(consumed)}: {describe(e)}"
            ) from e
        self._check_reports()
        reported = reports.made
        if reported:
            # Tried again by itself: the batch is written, and where the writer stores offsets it does not come again.
            summary.add(self.retrying(lambda: self._buried(reported, consumed), summary))
        summary.written += sum(b.length for b in batches) - len(reported)
        if message is not None:
            summary.messages = [*summary.messages, message]

    def _buried(self, reported: Sequence[tuple[Record, Exception]], consumed: Sequence[Consumed]) -> Summary:
        found = Summary()
        for record, error in reported:
            self._settle_report(record, error, consumed, found)
        self.finish(found)
        return found

    def retrying(self, work: Callable[[], T], summary: Summary) -> T:
        """Do it, again while it raises `RetriableError`, as long as `sink.retry.timeout.ms` says.

        Raises:
            RetriableError: the task is to stop; the batch is abandoned and comes again with the next life.
            ConnectError: the time is over.
            Exception: whatever else `work` raises.
        """
        deadline = time.monotonic() + self._retries.timeout if self._retries.timeout >= 0 else float("inf")
        attempt = 0
        while True:
            try:
                result = work()
            except RetriableError as e:
                if not self._patient:
                    raise
                attempt += 1
                left = deadline - time.monotonic()
                if left <= 0:
                    raise _GivenUp(f"Exiting WorkerSinkTask due to unrecoverable exception: {describe(e)}") from e
                pause = e.retry_after
                if pause is None:
                    pause = min(self._retries.delay_max, _FIRST_DELAY * 2.0 ** min(attempt - 1, 20))
                summary.retries += 1
                self._trouble(f"write is tried again (attempt {attempt}): {e}")
                self._sleep(min(pause, left))
                if self._stopping():
                    raise _Stopped(f"Stopped while the sink asks to wait: {e}") from e
            else:
                if attempt:
                    self._trouble(None)
                return result

    def _check_reports(self) -> None:
        """A record that was handed back too late is in no dead letter queue, and its offset may be committed soon.

        Raises:
            ConnectError: there is one, and the plugin has passed over the error.
        """
        if self._late:
            raise self._late[0]

    def _fatal_report(self, record: Record, error: Exception, consumed: Iterable[Consumed]) -> ConnectError:
        try:
            self._settle_report(record, error, consumed, Summary())
        except ConnectError as e:
            return e
        raise AssertionError("tolerated")

    def _settle_report(self, record: Record, error: Exception, consumed: Iterable[Consumed], summary: Summary) -> None:
        """Treat a record that was handed back as any that fails: by where it lay in Kafka, with the bytes it had there."""
        original = record.original
        for of in consumed:
            if original is not None and of.source == (original.topic, original.partition):
                row = bisect_left(of.offset, original.offset)
                if of.offset[row : row + 1] == [original.offset]:
                    self._settle([Failure(row, Stage.TASK_PUT, PUT_CLASS, error)], of, summary)
                    return
        raise ConnectError(f"The sink handed back a record that it was not given: {_coordinates(record)}") from error

    def _settle(self, failures: Sequence[Failure], consumed: Consumed, summary: Summary) -> None:
        topic, partition = consumed.source
        task = f"{self._connector}-{self._task}"
        if not self._policy.tolerate:
            first = min(failures, key=lambda f: f.position)
            if self._policy.log:
                log.error("%s", error_line(first, task, self._detail(consumed, first.position)))
            where = f"record at {topic}-{partition} offset {consumed.offset[first.position]}"
            error = fatal(first, where=where, task=task)
            self._bury_last(first, consumed)
            raise error
        for failure in failures:
            row = failure.position
            summary.failed(failure, task, log=self._policy.log, detail=self._detail(consumed, row))
            if self._policy.dead_letter_topic is not None:
                summary.dead_letters += 1
                self._bury(failure, consumed, row, summary)

    def _bury_last(self, failure: Failure, consumed: Consumed) -> None:
        """The record that fails the task is a dead letter too, as in Kafka Connect."""
        if self._policy.dead_letter_topic is None:
            return
        try:
            self._bury(failure, consumed, failure.position, Summary(dead_letters=1))
            self.finish(Summary(dead_letters=1), within=LAST_WORDS)
        except ConnectError as e:  # the task fails anyway, and for another reason
            log.warning("The record that fails the task is not in the dead letter queue: %s", e)

    def _detail(self, consumed: Consumed, row: int) -> str:
        if not self._policy.log_messages:
            return ""
        topic, partition = consumed.source
        timestamp = consumed.timestamp[row]
        return (
            f", where consumed record is {{topic='{topic}', partition={partition}, offset={consumed.offset[row]}, "
            f"timestamp={-1 if timestamp is None else timestamp}, timestampType={consumed.timestamp_type_of(row)}}}"
        )

    def _bury(self, failure: Failure, consumed: Consumed, row: int, summary: Summary) -> None:
        """The original bytes and headers to the dead letter queue, with what happened (KIP-298)."""
        if self._dead_letters is None:
            client = f"connector-dlq-producer-{self._connector}-{self._task}"
            self._dead_letters = PlainProducer(self._settings, client_id=client)
        headers = list(consumed.headers[row]) if consumed.headers is not None else []
        if self._policy.dead_letter_headers:
            coordinates = {
                "topic": consumed.source.topic, "partition": consumed.source.partition, "offset": consumed.offset[row],
                "connector.name": self._connector, "task.id": self._task,
            }  # fmt: skip
            headers += context_headers(failure, coordinates, self._redact)
        refused = self._dead_letters.send(
            Outgoing(
                length=1,
                topic=self._policy.dead_letter_topic or "",
                key=None if consumed.key is None else [consumed.key[row]],
                value=[consumed.value[row]],
                headers=[headers],
                timestamp=consumed.timestamp[row],
            )
        )
        if refused:
            self._tell_lost(1, summary)
            raise ConnectError(
                f"Record at {consumed.source.topic}-{consumed.source.partition} offset {consumed.offset[row]} could "
                f"not be written to the dead letter queue '{self._policy.dead_letter_topic}': {refused[0].error}"
            )

    def finish(self, summary: Summary, *, within: float = inf) -> None:
        """Wait until the dead letters are in Kafka, so many seconds at most; offsets may not pass them before.

        Raises:
            RetriableError: Kafka is away, or the topic.
            ConnectError: Kafka refuses one.
        """
        if self._dead_letters is None:
            return
        where = f"the dead letter queue '{self._policy.dead_letter_topic}'"
        try:
            lost = self._dead_letters.flush(within=within)
        except RetriableError as e:
            self._tell_lost(summary.dead_letters, summary)
            raise RetriableError(f"Records could not be written to {where} yet: {e}") from e
        if lost:
            self._tell_lost(len(lost), summary)
            # Trouble that may pass is no reason to fail, whatever else was lost.
            passing = next((e for e in lost if isinstance(e, RetriableError)), None)
            if passing is not None:
                raise RetriableError(f"Records could not be written to {where} yet: {passing}") from passing
            raise ConnectError(f"Records could not be written to {where}: {lost[0]}")

    def _tell_lost(self, count: int, summary: Summary) -> None:
        self._lost(Summary(dead_letters=summary.dead_letters, dead_letters_lost=count))


class _Reports:
    """What a writer hands back of one batch, however often the batch is tried; from any of its threads."""

    def __init__(self, *, tolerate: bool, late: Callable[[ConnectError], None]) -> None:
        self._tolerate = tolerate
        self._late = late
        self._made: dict[Original | int, tuple[Record, Exception]] = {}
        self._open = False

    @property
    def made(self) -> list[tuple[Record, Exception]]:
        """Each record once, with what was said of it last, in the order in which they came."""
        return list(self._made.values())

    def during(self, write: Callable[[Reporter], T]) -> T:
        """Write, and take reports meanwhile.

        Raises:
            _ReportedUnderNone: a record was handed back and nothing is tolerated, whatever the plugin made of that: a try
                that follows might not name the record again, and it would be lost.
            Exception: whatever `write` raises.
        """
        self._open = True
        try:
            result = write(self._report)
        except Exception as e:
            self._forbid(e)
            raise
        finally:
            self._open = False
        self._forbid(None)
        return result

    def _forbid(self, cause: Exception | None) -> None:
        if self._made and not self._tolerate:
            raise _ReportedUnderNone(*self.made[0]) from cause

    def _report(self, record: Record, error: Exception) -> None:
        if not self._open:
            late = ConnectError(
                f"The sink handed back a {_coordinates(record)} when `write` had returned, too late for its offset to wait: "
                f"{describe(error)}. Tell the plugin's author."
            )
            self._late(late)
            raise late
        # Kept from try to try: a writer may not name a record again that it has handed back.
        self._made[record.original or id(record)] = (record, error)
        if not self._tolerate:
            raise _ReportedUnderNone(record, error)


class _GivenUp(ConnectError):
    """`sink.retry.timeout.ms` is over."""


class _Stopped(RetriableError):
    """The task is to stop while the sink asks to wait."""


class _ReportedUnderNone(ConnectError):
    def __init__(self, record: Record, error: Exception) -> None:
        super().__init__(f"Tolerance exceeded in error handler: {describe(error)}")
        self.record = record
        self.error = error


def _coordinates(record: Record) -> str:
    o = record.original
    return f"record of topic '{record.topic}'" if o is None else f"record at {o.topic}-{o.partition} offset {o.offset}"


def _range(consumed: Sequence[Consumed]) -> str:
    return "Writing " + ", ".join(
        f"{c.source.topic}-{c.source.partition} offsets {c.offset[0]} to {c.offset[-1]}" for c in consumed[:5]
    )
