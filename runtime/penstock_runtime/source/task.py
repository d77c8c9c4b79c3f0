"""Loop of a source task: plan, deliver and commit batches, and recover from failures."""

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from typing import Final, TypeVar, cast

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.errors import ConnectError, RetriableError, Superseded
from penstock.offsets import Offset, Offsets, OffsetUpdates, SourcePartition, updated
from penstock.record import Record
from penstock.source import Backlog, InputPartition, Limits, PollingSource, Source, TransactionEnd
from penstock_kafka.errors import Fenced, TransactionAborted, TransactionExpired
from penstock_runtime.fencing.incarnation import TaskFence
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.offsets_topic import StoredOffsets
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.batch_sizing import AdaptiveBatchSize, IdleBackoff
from penstock_runtime.pipeline.freed_memory import FreedMemory
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.pipeline.splits import dealt_evenly
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.pipeline.task_retry import BATCH_BACKOFF, rest, until_done
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.source import spark_worker
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.offsets import OffsetStore
from penstock_runtime.source.transaction_boundary import PollBatchBoundary
from penstock_runtime.source.uncommitted import Uncommitted
from penstock_runtime.source.worker_slots import WorkerSlots
from penstock_runtime.spark.backlog import are_workers_ready, is_sources_backlog
from penstock_runtime.spark.session import Spark, WorkerLost
from penstock_runtime.spark.worker import part as answered

__all__ = ["SourceTask"]

T = TypeVar("T")

log = logging.getLogger(__name__)
_RETRIED = (Fenced, TransactionAborted, RetriableError)
_FENCE_CHECK_SECONDS: Final = 10.0
"""Maximum seconds until a task that writes nothing detects that it was superseded."""
_BACKLOG_SECONDS: Final = 10.0
"""Seconds between two requests for the backlog of the source."""
_MOST_EXPIRIES: Final = 3
"""Number of consecutive expired transactions that fail the task. Batches are then as small as possible, or the connector
defines transactions.
"""


class SourceTask:
    """One source task, from its start to its stop: `run`, then `close`.

    Args:
        context: the configured objects.
        fence: fence of a task that writes in transactions; None: the task delivers at least once.
        writer: writes offsets (at least once) and incarnation records.
        reports: receives states, troubles and counts.
        stopping: ends the loop after the current batch.
        paused: pauses the loop while it is set.
        spark: runs backlogs; None: the driver runs them.
    """

    def __init__(
        self,
        context: SourceContext,
        fence: TaskFence | None,
        writer: StatusWriter,
        reports: Reports,
        *,
        stopping: threading.Event,
        paused: threading.Event,
        spark: Spark | None,
    ) -> None:
        self._context = context
        self._source = context.source()
        self._transactional_fence = fence
        self._fence = fence or context.at_least_once_fence()
        self._next_fence_check = 0.0
        self._next_backlog = 0.0
        self._slots = WorkerSlots()
        self._writer = writer
        self._reports = reports
        self._stopping = stopping
        self._paused = paused
        self._spark = None if context.driver_only is not None else spark
        self._store = OffsetStore(context, writer)
        self._stored = StoredOffsets(context.spec.connector)
        transactional_id = context.ids.driver if fence is not None else None
        self._process = context.source_process(transactional_id, stopping.is_set, reports.trouble)
        self._idle_backoff = IdleBackoff()
        self._uncommitted = Uncommitted()
        self._answer_seconds = 0.0
        """Seconds that the source takes to answer; an open transaction lasts at least until the next answer."""
        self._outcome_unknown = False
        """Whether a commit, or a batch on Spark, was started and its result is unknown: fence and read the offsets first."""
        self._retry_at = 0.0
        self._gathers_until = 0.0
        self._batch_size = AdaptiveBatchSize(context.limits, context.batch_seconds)
        self._memory = FreedMemory()
        self._failures = 0
        self._retried = ""
        """Error of the last retry, to log it only once: a source may wait for hours."""
        self._worker_losses = 0
        self._expiries = 0

    def run(self) -> None:
        """Run until `stopping` is set, or until an error.

        Raises:
            Superseded: a newer incarnation runs; nothing has failed.
            ConnectError: the task has failed.
        """
        self._until_done(lambda: self._recover(first=True))
        if self._stopping.is_set():
            return
        try:
            self._work(self._source)
        except Superseded:
            raise
        except Exception:
            self._next_fence_check = 0.0
            self._check_fence()  # a failure caused by a newer incarnation is not a failure
            raise

    def _work(self, source: Source | PollingSource) -> None:
        self._until_done(lambda: source.start(dict(self._stored.offsets)))
        self._report_state()
        self._next_fence_check = time.monotonic() + _FENCE_CHECK_SECONDS
        while not self._stopping.is_set():
            LOOP.turned()
            self._check_fence()
            if self._paused.is_set():
                self._pause(source)
            else:
                self._step(source)
        if self._context.defines_transactions:
            self._process.abandon()
        else:
            self._attempt(lambda: self._commit(source))

    def close(self, *, failure: Exception | None = None) -> None:
        """Close everything. Call this once. It may block while an external system does not respond.

        Args:
            failure: exception that `run` has raised; it does not change how a source closes.

        Raises:
            Exception: any exception of the plugin.
        """
        with ExitStack() as closing:
            for close in (self._fence.close, self._store.close, self._process.close, self._source.stop):
                closing.callback(close)

    def _step(self, source: Source | PollingSource) -> None:
        boundary, now = self._context.boundary, time.monotonic()
        if boundary is not None and boundary.is_reached(self._uncommitted, now + self._answer_seconds):
            self._attempt(lambda: self._commit(source))
        elif (
            rest := max(self._retry_at - now, self._gathers_until - now, self._context.rate_limit.wait_seconds())
        ) > 0:
            self._stopping.wait(min(0.2, rest))
            self._report_backlog(source)
        else:
            self._attempt(lambda: self._deliver_next(source))

    def _deliver_next(self, source: Source | PollingSource) -> None:
        """Deliver the next batch, if there is one."""
        if self._context.defines_transactions:
            self._process.check()  # a source that leaves a transaction open may have no more records
        begun = time.monotonic()
        delivered = self._deliver_poll(source) if isinstance(source, PollingSource) else self._deliver_batch(source)
        self._failures, self._retried = 0, ""
        self._reports.looped(proven=True)
        self._report_backlog(source)
        self._reports.trouble(None if self._spark is None else self._spark.trouble)
        if self._spark is not None:
            self._spark.attend()
            self._reports.spark(self._spark.workers)
        if self._batch_size.is_trickle:
            self._memory.give_back()
        if delivered:
            gathers = self._context.linger_seconds if self._batch_size.is_trickle else 0.0
            self._idle_backoff.reset(gathers)
            self._gathers_until = begun + gathers
        else:
            self._stopping.wait(self._idle_backoff.wait())

    def _report_backlog(self, source: Source | PollingSource) -> None:
        if (now := time.monotonic()) < self._next_backlog:
            return
        self._next_backlog = now + _BACKLOG_SECONDS
        try:
            backlog = source.backlog(self._position())
        except Exception as e:  # noqa: BLE001 (a plugin may raise anything, and records matter more)
            log.debug("Cannot determine the backlog: %s", e)
            return
        if isinstance(backlog, Backlog):
            self._reports.backlog(backlog)

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Superseded:
            raise
        except _RETRIED as e:
            self._handle_failure(e)

    def _check_fence(self) -> None:
        """Check periodically for a newer incarnation: fencing stops only commits, and never at-least-once delivery."""
        if time.monotonic() < self._next_fence_check:
            return
        try:
            self._fence.look(self._writer)
        except Superseded:
            raise
        except ConnectError as e:  # the task can continue: its next commit is fenced if necessary
            log.debug("Cannot check for a newer incarnation: %s", e)
        self._next_fence_check = time.monotonic() + _FENCE_CHECK_SECONDS

    def _deliver_batch(self, source: Source) -> bool:
        start = self._position()
        end = self._timed(lambda: source.latest_offsets(start, self._limits()))
        returned.offsets(end, returned.name(source, "latest_offsets"))
        changed = _changed(start, end)
        if not changed:
            self._batch_size.done(0, 0, 0.0)
            return False
        parts = returned.parts(source.partitions(start, cast("Offsets", end)), returned.name(source, "partitions"))
        self._check_coverage(parts, changed)
        begun = time.monotonic()
        if (
            self._spark is not None
            and is_sources_backlog(self._batch_size, parts)
            and are_workers_ready(self._spark, self._reports)
        ):
            self._outcome_unknown = True  # several transactions
            summary = self._on_spark(parts)
            self._delivered(source, changed, summary, begun, on_spark=True)
        else:
            summary = Summary()
            self._process.add(parts, summary, where=self._where)
            self._delivered(source, changed, summary, begun)
        return True

    def _deliver_poll(self, source: PollingSource) -> bool:
        """Deliver a batch of a source that determines its offsets while it reads: in the driver, in one transaction."""
        reached: dict[SourcePartition, Offset | None] = {}
        end: TransactionEnd | None = None
        trouble: list[RetriableError] = []
        start, method = self._position(), returned.name(source, "read")
        reading = source.read(start, self._limits())
        pairs = returned.iterable(reading, method, "an iterator of pairs of records and offsets")
        first = self._timed(lambda: next(pairs, _END))
        if first is _END:
            self._batch_size.done(0, 0, 0.0)
            return False
        summary, begun = Summary(), time.monotonic()
        boundary = self._poll_boundary(begun)

        def where() -> str:
            after = f" after record {summary.read} of the batch" if summary.read else ""
            return f"{after}, from {_shown(updated(start, reached))} on"

        def portions() -> Iterator[RecordBatch | Sequence[Record]]:
            nonlocal end
            try:
                for pair in chain([first], pairs):
                    LOOP.turned()
                    records, offsets, asked = returned.portion(pair, method)
                    yield records
                    reached.update(offsets)
                    if asked is not None and self._context.defines_transactions:
                        end = asked
                        return
                    if boundary is not None and boundary.is_reached(
                        summary, has_offsets=bool(offsets) or not len(records)
                    ):
                        return
            except RetriableError as e:  # first deliver the portions before it
                trouble.append(e)

        try:
            batches = returned.portions(portions(), method, where)
            self._process.add_read(batches, summary, where=self._where)
        except BaseException:
            source.lost()
            raise
        finally:
            if isinstance(reading, Generator):
                reading.close()
        self._delivered(source, reached, summary, begun, end=end)
        if trouble:
            raise trouble[0]
        return True

    def _timed(self, ask: Callable[[], T]) -> T:
        """Call the source, and measure how long it takes to answer."""
        begun = time.monotonic()
        answer = ask()
        self._answer_seconds = max(time.monotonic() - begun, self._answer_seconds / 2)
        return answer

    def _poll_boundary(self, begun: float) -> PollBatchBoundary | None:
        context, since = self._context, self._uncommitted.since if self._uncommitted.batches else begun
        if not context.repeatable:
            return None
        return PollBatchBoundary(self._limits(), since + context.transaction_timeout / 2)

    def _limits(self) -> Limits:
        """Return the limits of the next batch."""
        return self._context.rate_limit.batch(self._batch_size.limits)

    def _position(self) -> Offsets:
        """Return the source offsets after the last delivered batch."""
        return updated(self._stored.offsets, self._uncommitted.offsets)

    def _delivered(
        self,
        source: Source | PollingSource,
        changed: OffsetUpdates,
        summary: Summary,
        begun: float,
        *,
        on_spark: bool = False,
        end: TransactionEnd | None = None,
    ) -> None:
        seconds = time.monotonic() - begun
        if summary.read:  # a batch that only moves offsets says nothing about the load
            self._batch_size.done(summary.read, summary.bytes, seconds)
        self._context.rate_limit.used(summary.read, summary.bytes, seconds)
        self._uncommitted.add(changed, summary, begun=begun, seconds=seconds)
        if self._context.defines_transactions:
            if end is not None:
                self._commit(source, without_records=end is TransactionEnd.ABORT)
        elif self._context.boundary is None or self._process.isolating:
            self._commit(source, on_spark=on_spark)

    def _commit(self, source: Source | PollingSource, *, on_spark: bool = False, without_records: bool = False) -> None:
        """Commit delivered batches; Spark's workers have already committed their records.

        Args:
            source: notified of the commit.
            on_spark: whether Spark's workers delivered the batch.
            without_records: abort the transaction, and commit only the offsets.
        """
        done = self._uncommitted
        if not done.batches:
            return
        self._outcome_unknown = True
        # Spark's workers have written the offsets of their parts, but not into a second offsets topic.
        entries = self._stored.entries(done.offsets) if self._store.writes or not on_spark else ()
        if without_records:
            self._process.roll_back(done.summary)
            if self._context.placements is not None:
                self._context.placements.forget()
        if not on_spark:
            self._process.commit(entries, done.summary)
        self._store.delivered(entries)
        self._stored.advance(done.offsets)
        self._uncommitted, self._outcome_unknown = Uncommitted(), False
        self._worker_losses = self._expiries = 0
        self._reports.active(done.summary.topics)
        self._reports.batch(done.summary, seconds=done.seconds, on_spark=on_spark)
        self._memory.moved(done.summary.bytes)
        source.commit(dict(self._stored.offsets))

    def _on_spark(self, parts: Sequence[InputPartition]) -> Summary:
        assert self._spark is not None
        timeout = self._context.batch_timeout
        incarnation = None if self._transactional_fence is None else self._transactional_fence.current
        # One transaction for each worker, not for each part: there may be thousands. Without transactions, parts have no
        # offsets.
        work = [(p, () if incarnation is None else self._stored.entries(p.offsets)) for p in parts]
        groups = dealt_evenly(work, self._spark.cores)
        offers = [None] * len(groups) if incarnation is None else self._slots.offers(len(groups), incarnation.slots)
        payloads = [spark_worker.payload(self._context, incarnation, g, o) for g, o in zip(groups, offers, strict=True)]
        total = Summary()
        done = [*map(answered, self._spark.run(spark_worker.deliver_on_worker, payloads, timeout=timeout))]
        for each in done:  # including those of workers that succeeded while another failed
            self._context.plugin_metrics.add(each.summary.measures)
        for each, error in zip(done, self._spark.judged([e.error for e in done]), strict=True):
            if error is not None:
                raise error
            if each.holder is not None:
                self._slots.took(each.holder)
            total.add(each.summary)
        return total

    def _recover(self, *, first: bool = False) -> None:
        """Fence earlier producers, then read the offsets."""
        if self._transactional_fence is not None:
            self._process.drop_producer()
            self._slots.clear()
            if first:
                self._transactional_fence.begin(self._writer)
            else:
                self._transactional_fence.refence(self._writer)
            self._process.take_over(self._transactional_fence)
        elif first:
            self._fence.begin(self._writer)
        if not first and isinstance(self._source, PollingSource):
            self._source.lost()
        self._stored = self._store.load()
        self._uncommitted, self._outcome_unknown = Uncommitted(), False

    def _handle_failure(self, error: ConnectError) -> None:
        """Wait before the batch is retried; if its outcome is unknown, recover first (rule 4 of `incarnation`)."""
        self._failures += 1
        given = error.retry_after if isinstance(error, RetriableError) else None
        seconds = given or BATCH_BACKOFF.pause(self._failures)
        if not (self._outcome_unknown or self._process.void):
            is_new, self._retried = str(error) != self._retried, str(error)
            log.log(logging.WARNING if is_new else logging.DEBUG, "Retrying in %.1f s: %s", seconds, error)
            self._reports.trouble(str(error))
            self._retry_at = time.monotonic() + seconds
            return
        if isinstance(error, WorkerLost):
            self._worker_losses += 1
            if self._worker_losses >= self._context.batch_attempts:
                raise ConnectError(f"{error} ({self._worker_losses} times; {error.advice})") from error
        if isinstance(error, TransactionExpired) and (
            self._context.defines_transactions or self._batch_size.scale <= 0
        ):
            self._expiries += 1
            if self._expiries >= _MOST_EXPIRIES:
                raise self._transaction_too_long(error) from error
        self._batch_size.failed(isolating=self._process.isolating)
        log.warning("Batch not delivered, planning it again: %s", error)
        if self._spark is None or not self._spark.is_of_executors(error):
            self._reports.trouble(str(error))
        self._wait(seconds)
        if not self._stopping.is_set():
            self._until_done(self._recover)
            if isinstance(error, Fenced) and not self._stopping.is_set():
                self._report_foreign_producer()

    def _report_foreign_producer(self) -> None:
        """Report that the task was fenced although recovery has read no record of a later incarnation."""
        spec, group, own = self._context.spec, self._context.worker.group_id, self._context.ids.driver
        text = (
            f"A producer that is not a later incarnation of this task took its transactional id {own} (or one of its "
            f"workers', {own}/<slot>), or the id had expired at the brokers. If a Kafka Connect worker with group.id "
            f"{group} still runs connector {spec.connector}, stop it there: the two fence each other. No record is lost or "
            f"duplicated; this task has taken the id back and continues."
        )
        log.warning("%s", text)
        self._reports.trouble(text)

    def _transaction_too_long(self, error: TransactionExpired) -> ConnectError:
        limits, plugin = self._batch_size.limits, self._context.spec.plugins["connector"].alias
        if self._context.defines_transactions:
            return ConnectError(
                f"cannot commit a transaction of {plugin}, {self._expiries} times in a row: {error}. Have {plugin} end "
                f"its transactions sooner, raise producer.override.transaction.timeout.ms (brokers allow 15 minutes by "
                f"default, transaction.max.timeout.ms), or set transaction.boundary to poll or interval."
            )
        return ConnectError(
            f"cannot deliver a batch in one transaction, {self._expiries} times in a row: {error}. {plugin} was limited "
            f"to {limits.records} records or {limits.bytes} bytes; if it read more, it ignores these limits, and its own "
            f"options must make batches smaller. Otherwise, raise producer.override.transaction.timeout.ms above the "
            f"duration of a batch (brokers allow 15 minutes by default, transaction.max.timeout.ms), or set "
            f"delivery.guarantee=at-least-once, which has no such limit."
        )

    def _wait(self, seconds: float) -> None:
        rest(seconds, stopping=self._stopping, paused=self._paused)

    def _until_done(self, work: Callable[[], None]) -> None:
        until_done(work, passing=_RETRIED, stopping=self._stopping, reports=self._reports)

    def _pause(self, source: Source | PollingSource) -> None:
        if not self._context.defines_transactions:
            self._attempt(lambda: self._commit(source))
        elif self._uncommitted.batches:
            # The brokers would abort the transaction during the pause; its records are read again.
            self._process.abandon()
            self._until_done(self._recover)
        self._report_state()
        self._reports.trouble(None)
        self._memory.give_back()
        while self._paused.is_set() and not self._stopping.is_set():
            LOOP.turned()
            self._check_fence()
            if self._spark is not None:
                self._spark.end_if_idle()
                self._reports.spark(self._spark.workers)
            self._reports.looped(proven=False)
            self._stopping.wait(0.2)
        if not self._stopping.is_set():
            self._report_state()

    def _report_state(self) -> None:
        self._reports.state(State.PAUSED if self._paused.is_set() else State.RUNNING)

    def _check_coverage(self, parts: Sequence[InputPartition], changed: OffsetUpdates) -> None:
        """Check that the parts cover the new offsets; a plugin's mistake here would lose or duplicate records."""
        seen: set[SourcePartition] = set()
        for part in parts:
            twice = seen.intersection(part.offsets)
            if twice:
                raise ConnectError(
                    f"cannot deliver a batch of {self._where}: source partition {dict(next(iter(twice)))} is in two parts, "
                    f"but one part must contain all of its records; tell the plugin's author"
                )
            seen.update(part.offsets)
        missing = set(changed) - seen
        if missing:
            raise ConnectError(
                f"cannot deliver a batch of {self._where}: no part has the new offset of source partition "
                f"{dict(next(iter(missing)))}; tell the plugin's author"
            )

    @property
    def _where(self) -> str:
        return f"source {self._context.spec.connector}"


_END: Final = object()


def _shown(offsets: Offsets) -> str:
    """Return the first three source offsets as text, for messages."""
    shown = [f"{dict(partition)} at {dict(offset)}" for partition, offset in islice(offsets.items(), 3)]
    more = f" and {len(offsets) - len(shown)} more" if len(offsets) > len(shown) else ""
    return f"{', '.join(shown)}{more}" if shown else "the beginning"


def _changed(start: Offsets, end: OffsetUpdates) -> dict[SourcePartition, Offset | None]:
    return {p: o for p, o in end.items() if start.get(p) != o}
