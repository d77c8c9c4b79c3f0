"""The driver's loop of a source task: plan, deliver, commit, again and again, and what happens when it fails."""

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Final, TypeVar, cast

from penstock.batch import RecordBatch
from penstock.errors import ConnectError, RetriableError, Superseded
from penstock.offsets import Offset, Offsets, OffsetUpdates, SourcePartition, updated
from penstock.record import Record
from penstock.source import InputPartition, PollingSource, Source
from penstock_kafka.errors import Fenced, TransactionAborted, TransactionExpired
from penstock_runtime.fencing.incarnation import TaskFence
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.offsets_topic import StoredOffsets
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.batch_sizing import AdaptiveBatchSize, IdleBackoff
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.pipeline.retry import BATCH_BACKOFF, rest, until_done
from penstock_runtime.pipeline.splits import dealt_evenly
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.offsets import OffsetStore
from penstock_runtime.source.uncommitted import PollBound, Uncommitted
from penstock_runtime.spark import worker
from penstock_runtime.spark.session import Spark, WorkerLost
from penstock_runtime.task.liveness import LOOP

__all__ = ["SourceTask"]

T = TypeVar("T")

log = logging.getLogger(__name__)
_AGAIN = (Fenced, TransactionAborted, RetriableError)
_LOOK_SECONDS: Final = 10.0
"""How long a task that writes nothing may not know that it was superseded."""
_EXPIRIES: Final = 3
"""So many of the smallest batches in a row may be too large for a transaction."""


class SourceTask:
    """One source task, from its start to its stop: `run`, then `close`.

    Args:
        context: the configured objects.
        fence: of a task that writes in transactions; None delivers at least once.
        writer: for offsets (at least once) and incarnation records.
        reports: takes states, troubles and counts.
        stopping: ends the loop after the batch.
        paused: holds it.
        spark: runs backlogs; without it the driver does.
    """

    def __init__(
        self, context: SourceContext, fence: TaskFence | None, writer: StatusWriter, reports: Reports, *,
        stopping: threading.Event, paused: threading.Event, spark: Spark | None,
    ) -> None:  # fmt: skip
        self._context = context
        self._source = context.source()
        self._transactional_fence = fence
        self._fence = fence or context.at_least_once_fence()
        self._next_look = 0.0
        self._writer = writer
        self._reports = reports
        self._stopping = stopping
        self._paused = paused
        # A source partition stays with one process for as long as a transaction is open.
        self._spark = spark if context.boundary is None else None
        self._store = OffsetStore(context, writer)
        self._stored = StoredOffsets(context.spec.connector)
        self._process = context.source_process(context.ids.driver if fence is not None else None, stopping.is_set)
        self._idle_backoff = IdleBackoff()
        self._uncommitted = Uncommitted()
        self._answer_seconds = 0.0
        """How long the source takes to say what there is; an open transaction lasts at least until it has."""
        self._unknown = False
        """Something was begun, and Kafka alone knows what became of it: fence, and read the offsets."""
        self._not_before = 0.0
        self._batch_size = AdaptiveBatchSize(context.limits, context.batch_seconds)
        self._failures = 0
        self._losses = 0
        self._expiries = 0

    def run(self) -> None:
        """Until `stopping`, or an error.

        Raises:
            Superseded: a newer incarnation works; nothing has failed.
            ConnectError: the task has failed.
        """
        source = self._source
        self._until_done(lambda: self._recover(first=True))
        if self._stopping.is_set():
            return
        self._until_done(lambda: source.start(dict(self._stored.offsets)))
        self._report_state()
        self._next_look = time.monotonic() + _LOOK_SECONDS
        while not self._stopping.is_set():
            LOOP.turned()
            self._look()
            if self._paused.is_set():
                self._pause(source)
            else:
                self._once(source)
        self._try(lambda: self._commit(source))

    def close(self, *, failure: Exception | None = None) -> None:
        """Let go of everything, once. May wait for an outside that does not answer.

        Args:
            failure: what `run` has raised.

        Raises:
            Exception: whatever the plugin raises.
        """
        with ExitStack() as closing:
            for close in (self._fence.close, self._store.close, self._process.close, self._source.stop):
                closing.callback(close)

    def _once(self, source: Source | PollingSource) -> None:
        boundary, now = self._context.boundary, time.monotonic()
        if boundary is not None and boundary.over(self._uncommitted, now + self._answer_seconds):
            self._try(lambda: self._commit(source))
        elif now < self._not_before:
            self._stopping.wait(min(0.2, self._not_before - now))
        else:
            self._try(lambda: self._next(source))

    def _next(self, source: Source | PollingSource) -> None:
        """The next batch, if there is one."""
        did = self._poll(source) if isinstance(source, PollingSource) else self._batch(source)
        self._failures = self._expiries = 0
        self._reports.trouble(None)
        if self._spark is not None:
            self._spark.attend()
        if did:
            self._idle_backoff.reset()
        else:
            self._stopping.wait(self._idle_backoff.wait())

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Superseded:
            raise
        except _AGAIN as e:
            self._failed(e)

    def _look(self) -> None:
        """Now and then: fencing tells a task that it was superseded only when it commits, and at least once never."""
        if time.monotonic() < self._next_look:
            return
        try:
            self._fence.look(self._writer)
        except Superseded:
            raise
        except ConnectError as e:  # no reason to stop what can go on
            log.debug("Cannot look for a newer life: %s", e)
        self._next_look = time.monotonic() + _LOOK_SECONDS

    def _batch(self, source: Source) -> bool:
        start = self._reached()
        end = self._answer(lambda: source.latest_offsets(start, self._batch_size.limits))
        changed = _changed(start, end)
        if not changed:
            self._batch_size.done(0, 0, 0.0)
            return False
        parts = source.partitions(start, cast("Offsets", end))
        self._check_cover(parts, changed)
        begun = time.monotonic()
        if self._worth_spark(parts):
            self._unknown = True  # several transactions
            summary = self._on_spark(parts)
            self._delivered(source, changed, summary, begun, on_spark=True)
        else:
            summary = Summary()
            self._process.add(parts, summary, where=self._where)
            self._delivered(source, changed, summary, begun)
        return True

    def _poll(self, source: PollingSource) -> bool:
        """One batch of a source that knows its offsets only while it reads: always here, in one transaction."""
        reached: dict[SourcePartition, Offset | None] = {}
        trouble: list[RetriableError] = []
        reading = source.read(self._reached(), self._batch_size.limits)
        first = self._answer(lambda: next(reading, None))
        if first is None:
            self._batch_size.done(0, 0, 0.0)
            return False
        summary, begun = Summary(), time.monotonic()
        bound = self._bound(begun)

        def portions() -> Iterator[RecordBatch | Sequence[Record]]:
            try:
                for records, offsets in chain([first], reading):
                    LOOP.turned()
                    yield records
                    reached.update(offsets)
                    if bound is not None and bound.reached(summary, told=bool(offsets) or not len(records)):
                        return
            except RetriableError as e:  # what came before it is delivered
                trouble.append(e)

        try:
            self._process.add_read(portions(), summary, where=self._where)
        finally:
            if isinstance(reading, Generator):
                reading.close()
        self._delivered(source, reached, summary, begun)
        if trouble:
            raise trouble[0]
        return True

    def _answer(self, ask: Callable[[], T]) -> T:
        """What the source says; the next time it may take as long."""
        begun = time.monotonic()
        answer = ask()
        self._answer_seconds = max(time.monotonic() - begun, self._answer_seconds / 2)
        return answer

    def _bound(self, begun: float) -> PollBound | None:
        """Where a batch ends whose source does not end it."""
        context, since = self._context, self._uncommitted.since if self._uncommitted.batches else begun
        return (
            PollBound(self._batch_size.limits, since + context.transaction_timeout / 2) if context.repeatable else None
        )

    def _reached(self) -> Offsets:
        """Up to where the source was read."""
        return updated(self._stored.offsets, self._uncommitted.offsets)

    def _delivered(
        self,
        source: Source | PollingSource,
        changed: OffsetUpdates,
        summary: Summary,
        begun: float,
        *,
        on_spark: bool = False,
    ) -> None:
        seconds = time.monotonic() - begun
        self._batch_size.done(summary.read, summary.bytes, seconds)
        self._uncommitted.add(changed, summary, begun=begun, seconds=seconds)
        if self._context.boundary is None or self._process.isolating:
            self._commit(source, on_spark=on_spark)

    def _commit(self, source: Source | PollingSource, *, on_spark: bool = False) -> None:
        """Make visible what is delivered; workers of Spark have done that with their parts."""
        done = self._uncommitted
        if not done.batches:
            return
        self._unknown = True
        # Workers of Spark have written the offsets of their parts, unless these belong into another topic, too.
        entries = self._stored.entries(done.offsets) if self._store.writes or not on_spark else ()
        if not on_spark:
            self._process.commit(entries, done.summary)
        self._store.delivered(entries)
        self._stored.advance(done.offsets)
        self._uncommitted, self._unknown = Uncommitted(), False
        self._losses = 0
        self._reports.active(done.summary.topics)
        self._reports.batch(done.summary, seconds=done.seconds, on_spark=on_spark)
        source.commit(dict(self._stored.offsets))

    def _worth_spark(self, parts: Sequence[InputPartition]) -> bool:
        if self._spark is None or any(p.local for p in parts) or not self._batch_size.backlog:
            return False
        self._spark.start()
        ready = self._spark.ready
        self._reports.spark(up=ready)
        return ready

    def _on_spark(self, parts: Sequence[InputPartition]) -> Summary:
        assert self._spark is not None
        timeout = self._context.batch_timeout
        incarnation = None if self._transactional_fence is None else self._transactional_fence.current
        # One transaction for each worker, not for each part: there may be thousands. At least once it carries no offsets.
        work = [(p, () if incarnation is None else self._stored.entries(p.offsets)) for p in parts]
        payloads = [worker.payload(self._context, incarnation, g) for g in dealt_evenly(work, self._spark.cores)]
        total = Summary()
        for result in self._spark.run(worker.deliver_on_worker, payloads, timeout=timeout):
            total.add(worker.unwrap(result))
        return total

    def _recover(self, *, first: bool = False) -> None:
        """Fence, then read the offsets."""
        if self._transactional_fence is not None:
            self._process.drop_producer()
            if first:
                self._transactional_fence.begin(self._writer)
            else:
                self._transactional_fence.refence(self._writer)
            self._process.take_over(self._transactional_fence)
        elif first:
            self._fence.begin(self._writer)
        self._stored = self._store.load()
        self._uncommitted, self._unknown = Uncommitted(), False

    def _failed(self, error: ConnectError) -> None:
        """A batch that may be tried again, after a while; where its outcome is unknown, rule 4 before that."""
        self._failures += 1
        given = error.retry_after if isinstance(error, RetriableError) else None
        seconds = given or BATCH_BACKOFF.pause(self._failures)
        if not (self._unknown or self._process.void):
            log.warning("Trying again in %.1f s: %s", seconds, error)
            self._reports.trouble(str(error))
            self._not_before = time.monotonic() + seconds
            return
        if isinstance(error, WorkerLost):
            self._losses += 1
            if self._losses >= self._context.batch_attempts:
                raise ConnectError(f"{error} ({self._losses} times; {error.advice})") from error
        if isinstance(error, TransactionExpired) and self._batch_size.scale <= 0:
            self._expiries += 1
            if self._expiries >= _EXPIRIES:
                raise self._does_not_fit(error) from error
        self._batch_size.failed(isolating=self._process.isolating)
        log.warning("Batch not delivered, planning it again: %s", error)
        self._reports.trouble(str(error))
        self._rest(seconds)
        if not self._stopping.is_set():
            self._until_done(self._recover)
            if isinstance(error, Fenced) and not self._stopping.is_set():
                self._tell_of_a_stranger()

    def _tell_of_a_stranger(self) -> None:
        """The task was fenced, and recovery has read no record of a later incarnation."""
        spec, group, own = self._context.spec, self._context.worker.group_id, self._context.ids.driver
        text = (
            f"A producer that is no later life of this task took its transactional id {own} (or one of its workers', "
            f"{own}/<slot>), or the brokers had forgotten it. Where a Kafka Connect worker with group.id {group} still runs "
            f"connector {spec.connector}, stop it there: each shuts the other out. Nothing is lost or doubled; this task "
            f"has taken the id back and goes on."
        )
        log.warning("%s", text)
        self._reports.trouble(text)

    def _does_not_fit(self, error: TransactionExpired) -> ConnectError:
        limits, plugin = self._batch_size.limits, self._context.spec.plugins["connector"].alias
        return ConnectError(
            f"Batches do not fit into a transaction, {self._expiries} times in a row: {error}. {plugin} was asked for "
            f"{limits.records} records or {limits.bytes} bytes at most; where it read more it ignores these limits, and "
            f"its own options must make batches smaller. Else raise producer.override.transaction.timeout.ms above what "
            f"a batch takes (brokers allow 15 minutes by default, transaction.max.timeout.ms), or set "
            f"delivery.guarantee=at-least-once, which has no such limit."
        )

    def _rest(self, seconds: float) -> None:
        rest(seconds, stopping=self._stopping, paused=self._paused)

    def _until_done(self, work: Callable[[], None]) -> None:
        until_done(work, passing=_AGAIN, stopping=self._stopping, reports=self._reports)

    def _pause(self, source: Source | PollingSource) -> None:
        self._try(lambda: self._commit(source))
        self._report_state()
        while self._paused.is_set() and not self._stopping.is_set():
            LOOP.turned()
            self._look()
            self._stopping.wait(0.2)
        if not self._stopping.is_set():
            self._report_state()

    def _report_state(self) -> None:
        self._reports.state(State.PAUSED if self._paused.is_set() else State.RUNNING)

    def _check_cover(self, parts: Sequence[InputPartition], changed: OffsetUpdates) -> None:
        """A plugin's mistake here would lose or double records: refuse it."""
        seen: set[SourcePartition] = set()
        for part in parts:
            twice = seen.intersection(part.offsets)
            if twice:
                raise ConnectError(
                    f"{self._where}: source partition {dict(next(iter(twice)))} stands in two parts of one batch; "
                    f"one part must hold all of its records. Tell the plugin's author."
                )
            seen.update(part.offsets)
        missing = set(changed) - seen
        if missing:
            raise ConnectError(
                f"{self._where}: no part of the batch carries the new offset of source partition "
                f"{dict(next(iter(missing)))}. Tell the plugin's author."
            )

    @property
    def _where(self) -> str:
        return f"source {self._context.spec.connector}"


def _changed(start: Offsets, end: OffsetUpdates) -> dict[SourcePartition, Offset | None]:
    return {p: o for p, o in end.items() if start.get(p) != o}
