"""Driver loop of a sink task: read, write, commit, and handle failures.

Low-rate records are read and written here, gathered for `batch.linger.ms`, because each write has a cost. When the lag is
large enough for a Spark job, Spark's workers read ranges of offsets and write them, or make rows of frames from them, while
this consumer does not fetch. Offsets are committed to the group after `Sink.commit`, never before.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Final, TypeGuard

from penstock.errors import ConnectError, RetriableError, Superseded
from penstock.sink import Sink, TopicPartition
from penstock_kafka.watermarks import names_of
from penstock_runtime.kafka.consumers import Consumed, OutOfRange, RecordConsumer
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.pipeline.freed_memory import FreedMemory
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.pipeline.task_retry import BATCH_BACKOFF, rest, until_done, wait
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.sink import task_state
from penstock_runtime.sink.batch_reader import BatchReader
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.frame_batches import FrameBatches
from penstock_runtime.sink.frames import FramePut
from penstock_runtime.sink.offset_ranges import gathered
from penstock_runtime.sink.offsets import SinkOffsets
from penstock_runtime.sink.paused_partitions import PausedPartitions
from penstock_runtime.sink.plugin_requests import PluginRequests
from penstock_runtime.sink.reported_records import ReportedRecords
from penstock_runtime.sink.sink_process import SinkProcess
from penstock_runtime.sink.spark_batches import SparkBatches
from penstock_runtime.sink.stalled_partitions import StallDetector
from penstock_runtime.sink.subscription import Subscription
from penstock_runtime.sink.task_state import Paused, Reading, Unknown, Writing
from penstock_runtime.spark.backlog import is_sinks_backlog
from penstock_runtime.spark.session import Spark, WorkerLost

__all__ = ["SinkTask"]

log = logging.getLogger(__name__)
_START: Final = 3600.0
"""Seconds that a sink's start may take; Kafka Connect sets no limit to it."""
_WAIT: Final = 0.2
_UNFETCHED: Final = (-1, -1)
"""Placeholder for the bounds of a held partition, because those that the client returns are outdated."""
_PROOF: Final = 10.0
"""Seconds without a failure that prove that a sink works if its topics hold only records of open transactions."""
_FRESH: Final = 1.0
"""Maximum seconds since the last check for a newer incarnation when a sink writes."""


class SinkTask:
    """One sink task, from its start to its stop: `run`, then `close`."""

    def __init__(
        self,
        context: SinkContext,
        fence: SinkFence,
        reports: Reports,
        *,
        stopping: threading.Event,
        paused: threading.Event,
        spark: Spark | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context = context
        self._fence = fence
        self._reports = reports
        self._stopping = stopping
        self._paused = paused
        if context.connector.buffering or context.java_places:  # its buffer, or its JVM, is in this process
            spark = None
        self._spark = spark
        self._clock = clock
        pauses, asked = PausedPartitions(), PluginRequests()
        self._reported = ReportedRecords(
            lambda trouble, lost: context.writing_process(
                stopping.is_set, sleep=lambda s: wait(s, stopping), trouble=trouble, lost=lost
            ),
            lambda: RecordConsumer(
                context.settings,
                group=context.group,
                client_id=f"connector-reported-{context.spec.connector}-{context.spec.task}",
                hurried=True,
            ),
            tolerate=context.policy.tolerate,
            waiting=self._held_up,
        )
        self._sink: Sink = context.sink(pauses, asked, self._reported)
        self._consumer = RecordConsumer(
            context.settings,
            group=context.group,
            client_id=f"connector-consumer-{context.spec.connector}-{context.spec.task}",
        )
        self._process: SinkProcess | FramePut = context.sink_process(
            self._sink,
            stopping.is_set,
            sleep=lambda s: wait(s, stopping),
            trouble=self._held_up,
            spark=spark,
            lost=lambda summary: reports.batch(summary, seconds=0.0, on_spark=False),
        )
        frames = isinstance(self._process, FramePut)
        self._offsets = SinkOffsets(
            self._sink,
            self._consumer,
            reports,
            fence=fence,
            stopping=stopping,
            interval=context.commit_seconds,
            longest=context.worker.offset_flush_interval_ms / 1000,
            pauses=pauses,
            sets_back=not context.connector.buffering,
            asked=asked,
            settle=self._reported.settle,
            commits=context.client_prefix is None,
            clock=clock,
        )
        self._size = PutSize(
            context.limits,
            context.frame_records if frames else context.put_records,
            context.batch_seconds,
            context.put_seconds,
        )
        self._subscription = Subscription(context, self._consumer, clock)
        self._reader = BatchReader(
            context, self._consumer, self._size, frames=frames, ending=self._is_interrupted, clock=clock
        )
        self._stalls = StallDetector(self._consumer, self._offsets, clock)
        self._spark_batches = None if spark is None or context.rate_limit.is_set else self._batches(spark)
        self._linger = 0.0 if frames else context.linger_seconds  # the reader gathers frames
        self._memory = FreedMemory()
        self._state: task_state.State = Reading()
        self._failures = 0
        self._losses = 0
        self._is_proven = False
        self._proven_by = 0.0

    def _batches(self, spark: Spark) -> SparkBatches:
        given = (self._context, spark, self._consumer, self._offsets, self._size)
        ending, clock = self._is_interrupted, self._clock
        if isinstance(self._process, FramePut):
            put, look = self._process, lambda: self._fence.look(_FRESH)
            return FrameBatches(*given, put=put, look=look, ending=ending, clock=clock)
        return SparkBatches(*given, ending=ending, clock=clock)

    def run(self) -> None:
        """Run until `stopping` is set, or an error.

        Raises:
            Superseded: a newer incarnation exists; nothing has failed, and nothing is committed any more.
            ConnectError: the task has failed. Records written before are committed as far as possible.
        """
        self._until_done(self._fence.begin)
        try:
            self._work()
        except Superseded:
            raise
        except Exception:
            self._fence.look(0.0)  # a failure caused by a newer incarnation is not a failure
            raise

    def _work(self) -> None:
        with LOOP.longer(_START, "an hour for the start of a sink"):
            self._until_done(self._sink.start)
        self._until_done(self._refresh)
        self._report_state()
        if self._context.spec.task == 0:
            self._reports.reads(self._context.reads, self._subscription.topics)
        while not self._stopping.is_set():
            LOOP.turned()
            if self._paused.is_set():
                self._pause()
            else:
                self._once()
        self._offsets.commit_at_the_end(failed=False)

    def close(self, *, failure: Exception | None = None) -> None:
        """Commit written records if possible, and close everything. Call this once. It may wait for the external system.

        Args:
            failure: exception that `run` has raised; nothing is committed after `Superseded`.
        """
        if failure is not None and not isinstance(failure, Superseded):
            _quietly("commit", lambda: self._offsets.commit_at_the_end(failed=True))
        with ExitStack() as closing:
            closing.callback(self._fence.close)
            closing.callback(self._consumer.close)
            closing.callback(self._process.close)
            closing.callback(self._reported.close)
            closing.callback(_quietly, "stop", self._sink.stop)
            closing.callback(_quietly, "close its partitions", self._offsets.close)

    def _once(self) -> None:
        try:
            self._fence.look()
            if self._subscription.due:  # first: offsets of partitions that are gone can no longer be committed
                self._refresh()
            if isinstance(self._state, Unknown):
                self._offsets.reopen()
                self._state = task_state.detached(self._state)
            self._attend()
            if self._offsets.hold():  # including positions that the sink has just set
                self._state = task_state.detached(self._state)
            batches = self._spark_batches
            if batches is not None and self._may_begin(batches):
                self._on_spark(batches)
            else:
                if self._is_gathering(self._state):
                    self._gather(self._state.gathers_until)
                elif (seconds := self._context.rate_limit.wait_seconds()) > 0:
                    self._stopping.wait(min(_WAIT, seconds))
                    self._report_lag()
                else:
                    self._here()
                self._offsets.commit_if_due()
        except RetriableError as e:
            self._failed(e)
            return
        self._failures = 0
        self._reports.looped(proven=self._proves())
        self._reports.trouble(self._trouble_now())
        if self._spark is not None:
            self._spark.attend()
            self._reports.spark(self._spark.workers)

    def _attend(self) -> None:
        self._sink.attend()
        for summary in self._reported.take_summaries():
            self._reports.batch(summary, seconds=0.0, on_spark=False)

    def _proves(self) -> bool:
        """Return whether the task has shown that it works: records are written, or there are none for it to read.

        A round in which nothing was fetched proves nothing: the record that makes the sink fail may come in the next one.
        """
        if not self._is_proven and self._trouble_now() is None:
            may_read = bool(self._offsets.places)
            self._is_proven = not may_read or self._clock() >= self._proven_by or self._lag(held=False) == 0
        return self._is_proven

    def _trouble_now(self) -> str | None:
        """Return a problem that hinders the task although nothing has failed; None if there is none."""
        of_spark = None if self._spark is None else self._spark.trouble
        return self._consumer.trouble or self._subscription.waiting_for or of_spark

    def _is_gathering(self, state: task_state.State) -> TypeGuard[Reading]:
        """Return whether low-rate records wait for more. They wait in the consumer and in Kafka; none is buffered here."""
        if not isinstance(state, Reading) or self._clock() >= state.gathers_until:
            return False
        waiting = self._lag(held=False)
        return waiting is not None and self._size.is_trickle(waiting)

    def _gather(self, until: float) -> None:
        self._memory.give_back()
        self._await_records(min(_WAIT, until - self._clock()))
        self._report_lag()

    def _await_records(self, seconds: float) -> None:
        self._stopping.wait(seconds)
        self._reports.waited(seconds)

    def _here(self) -> None:
        """Read and write available records in this process."""
        if not isinstance(self._state, Reading):
            if self._offsets.pending:  # records of the last staging
                self._offsets.commit()
            self._assign()
        if not self._offsets.positions:
            self._await_records(_WAIT)
            return
        begun = self._clock()
        try:
            limits = self._reader.limits()
            if not isinstance(self._process, FramePut):  # a frame is written whole, and the task pauses after it
                limits = self._context.rate_limit.batch(limits)
            consumed, ends = self._reader.read(limits)
        except OutOfRange as e:
            self._offsets.out_of_range(e.partition, e.offset)
            self._state = task_state.detached(self._state)
            return
        self._stalls.consumed(self._consumer.trouble)
        if not self._reader.is_full:
            self._reports.waited(self._clock() - begun)
        if not consumed:
            self._memory.give_back()
        if not consumed and self._stalls.due:
            self._look_for_stalls()
        begun = self._clock()
        for portions in gathered(consumed, lambda: limits):  # one list, unless records are larger than before
            LOOP.turned()
            self._fence.look(_FRESH)
            summary = self._write(portions)
            if summary.unfinished:  # the end of these partitions is not reached, although it was read
                self._state = task_state.detached(self._state)  # resume after the last written record
                ends = {of: end for of, end in ends.items() if of not in {c.source for c in consumed}}
                break
            if portions[-1] is not consumed[-1] and self._is_interrupted():
                self._state = task_state.detached(self._state)  # records that were read but not written are read again
                return
        self._offsets.at_end(ends)
        if consumed:
            self._state = task_state.gathering(self._state, begun + self._linger)
        self._report_lag()

    def _write(self, portions: list[Consumed]) -> Summary:
        begun = self._clock()
        self._state = task_state.writing(self._state)
        self._offsets.read(portions)
        with self._reported.of(portions):
            summary = self._process.put(portions)
        self._wrote(summary, self._clock() - begun, on_spark=False)
        self._reader.wrote(summary)
        return summary

    def _look_for_stalls(self) -> None:
        """Assign the partitions again if records have stalled."""
        try:
            stalled = self._stalls.look()
        except RetriableError as e:
            log.warning("Cannot determine whether records have stalled: %s", e)
            self._subscription.hurry()
            return  # keep the assignment: other partitions may be readable
        if stalled:
            log.warning("Records in %s are not fetched; assigning their partitions again", names_of(stalled))
            self._state = task_state.detached(self._state)

    def _may_begin(self, batches: SparkBatches) -> bool:
        frames = isinstance(self._process, FramePut)
        is_backlog = not batches.resting and is_sinks_backlog(self._lag(held=False), frames=frames)
        return is_backlog and batches.are_workers_ready(self._reports)

    def _on_spark(self, batches: SparkBatches) -> None:
        """Read and write one batch of ranges in Spark's workers; at the same time, commit what they staged before."""
        context = self._context
        splits = batches.splits()
        if not splits:
            self._here()
            return
        if isinstance(self._state, Reading):
            self._consumer.assign({})
            self._state = task_state.detached(self._state)
        failures: list[RetriableError] = []

        def commit() -> None:
            """Commit what the previous batch has staged."""
            try:
                self._offsets.commit()
            except RetriableError as e:  # not an error of a worker
                failures.append(e)

        meanwhile = commit if context.staged and self._offsets.pending else None
        begun = self._clock()
        self._state = task_state.on_spark(self._state)
        batch = batches.run(splits, meanwhile=meanwhile)
        self._wrote(batch.summary, self._clock() - begun, on_spark=True, complete=batch.complete)
        if batch.errors:
            batches.rest()
            batch.raise_first_error()
        if context.staged:
            if failures:
                raise failures[0]
        else:
            self._offsets.commit()
        self._report_lag()

    def _wrote(self, summary: Summary, seconds: float, *, on_spark: bool, complete: bool = True) -> None:
        self._offsets.wrote(summary)
        self._context.rate_limit.used(summary.read, summary.bytes, seconds)
        self._state = task_state.ended(self._state, complete=complete)
        self._losses = 0
        self._is_proven = self._is_proven or summary.read > 0
        if not on_spark:
            self._size.wrote(summary.read, summary.bytes, seconds)
        self._reports.active(summary.topics)
        self._reports.batch(summary, seconds=seconds, on_spark=on_spark)
        self._memory.moved(summary.bytes)

    def _refresh(self) -> None:
        """Find topics and partitions: start to read new ones, and stop reading deleted ones."""
        change = self._subscription.look(self._offsets.positions)
        if change.recreated:
            log.warning(
                "Recreated topics: %s. They are read from the beginning, unless the sink itself keeps offsets",
                ", ".join(sorted(change.recreated)),
            )
        if change.gone:
            log.warning("Partitions are gone: %s", ", ".join(f"{t}-{p}" for t, p in change.gone))
            self._offsets.drop(change.gone)
        if change.added:
            self._offsets.assign(change.added, first=change.first, grown=change.grown)
        self._subscription.changed(change, self._offsets.positions)
        if change.gone or change.added:
            self._assign()
        self._reports.partitions(len(self._offsets.positions))
        if isinstance(self._state, Reading):  # the ends of held partitions have moved
            for of in self._offsets.held:
                self._state.bounds.pop(of, None)
        if (trouble := self._trouble_now()) is not None:  # reported immediately, because the next steps may take long
            self._reports.trouble(trouble)

    def _assign(self) -> None:
        fetching = not self._paused.is_set()
        self._state = task_state.assigned(self._state, fetching=fetching)
        self._stalls.assigned()
        self._consumer.assign(self._offsets.places if fetching else {})

    def _failed(self, error: RetriableError) -> None:
        """Prepare to read the batch again: from the position that the sink returns, else after the last written record."""
        self._failures += 1
        self._proven_by = self._clock() + _PROOF
        self._stalls.failed()
        if isinstance(error, WorkerLost):
            self._losses += 1
            if self._losses >= self._context.batch_attempts:
                raise ConnectError(f"{error} ({self._losses} times; {error.advice})") from error
        log.warning("Retrying: %s", error)
        if self._spark is None or not self._spark.is_of_executors(error):
            self._reports.trouble(str(error))
        self._subscription.hurry()
        seconds = error.retry_after or BATCH_BACKOFF.pause(self._failures)
        rest(seconds, stopping=self._stopping, paused=self._paused)
        self._state = task_state.failed(self._state)

    def _until_done(self, work: Callable[[], None]) -> None:
        until_done(work, passing=(RetriableError,), stopping=self._stopping, reports=self._reports)

    def _pause(self) -> None:
        self._consumer.assign({})
        self._memory.give_back()
        self._state = task_state.paused(self._state)
        while self._paused.is_set() and not self._stopping.is_set():
            LOOP.turned()
            try:
                self._pause_once()
            except RetriableError as e:
                self._failed(e)
                continue
            self._stopping.wait(_WAIT)
        self._state = task_state.resumed(self._state)
        if not self._stopping.is_set():
            self._report_state()

    def _pause_once(self) -> None:
        self._fence.look()
        if self._subscription.due:  # offsets of partitions that are gone can no longer be committed
            self._refresh()
        self._attend()
        reported = isinstance(self._state, Paused) and self._state.reported
        if self._offsets.pending and not reported:
            self._offsets.commit()
        self._offsets.commit_if_due()
        if self._spark is not None:
            self._spark.end_if_idle()
            self._reports.spark(self._spark.workers)
        self._failures = 0
        self._reports.looped(proven=False)
        self._reports.trouble(self._subscription.waiting_for)
        if not reported:
            self._report_state()
            self._state = task_state.reported(self._state)

    def _is_interrupted(self) -> bool:
        return self._stopping.is_set() or self._paused.is_set()

    def _report_state(self) -> None:
        self._proven_by = self._clock() + _PROOF
        self._reports.state(State.PAUSED if self._paused.is_set() else State.RUNNING)

    @property
    def partitions(self) -> list[TopicPartition]:
        """Partitions that this task reads now. May be called from any thread."""
        return list(self._offsets.positions)

    def lag_to(self, ends: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return how many records of each partition up to these ends are not written yet. May be called from any thread.

        Raises:
            KeyError: `ends` lacks a partition that was assigned since.
        """
        return self._offsets.lag_to(ends)

    def _lag(self, *, held: bool = True) -> int | None:
        """Return the number of records not written yet, with or without held partitions; None if it is unknown."""
        lags = self._lags(held=held)
        return None if lags is None else sum(lags.values())

    def _lags(self, *, held: bool = True) -> dict[TopicPartition, int] | None:
        """Return the lag by partition; see `_lag`."""
        offsets = self._offsets
        positions = offsets.positions if held else offsets.places
        if not positions:
            return None
        match self._state:
            case Reading(bounds=asked) | Writing(resumes=Reading(bounds=asked)):
                watermarks = {
                    of: _UNFETCHED if of in offsets.held else self._consumer.watermarks(of) for of in positions
                }
                # Nothing was fetched from these yet; while other partitions fill the client's queue, this may take long.
                unfetched = [of for of, (_, high) in watermarks.items() if high < 0]
                bounds = self._bounds([of for of in unfetched if of not in asked])
                if bounds is None:
                    return None
                asked |= bounds
                watermarks |= {of: asked[of] for of in unfetched}
            case _:
                bounds = self._bounds(positions)
                if bounds is None:
                    return None
                watermarks = bounds
        return {of: offsets.lag(of, *watermarks[of]) for of in positions}

    def _bounds(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]] | None:
        try:
            return self._consumer.bounds(partitions)
        except RetriableError:  # perhaps only for one partition; the others are read here meanwhile
            return None

    def _held_up(self, text: str | None) -> None:
        """Report that a write is retried, perhaps for hours, and the growing lag."""
        self._reports.trouble(text)
        self._offsets.keep_alive()
        self._report_lag()

    def _report_lag(self) -> None:
        self._reports.lag(self._lags())


def _quietly(what: str, work: Callable[[], None]) -> None:
    """Call `work` while the task ends. Log its error, which must not replace the one that ended the task."""
    try:
        work()
    except BaseException as e:  # noqa: BLE001 (a plugin may raise anything)
        log.warning("The sink could not %s: %s", what, as_failure(e))
