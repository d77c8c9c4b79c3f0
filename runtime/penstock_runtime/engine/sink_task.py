"""The driver's loop of a sink task: read, write, commit, and what happens when it fails.

A trickle is read and written here. When the lag is worth a Spark job and the sink has writers, ranges of offsets are read
and written by Spark's workers while this consumer stands still. Offsets go to the group after `Sink.commit`, never before.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from penstock.errors import ConnectError, RetriableError, Superseded
from penstock.sink import Sink, TopicPartition
from penstock_runtime.engine import worker
from penstock_runtime.engine.assignment import assigned
from penstock_runtime.engine.dealing import Range, bounded, cut, dealt
from penstock_runtime.engine.frames import FramePut
from penstock_runtime.engine.missed import Missed
from penstock_runtime.engine.pace import Appetite
from penstock_runtime.engine.patience import rest, until_done
from penstock_runtime.engine.reports import Reports
from penstock_runtime.engine.setup import Setup
from penstock_runtime.engine.sink_fence import SinkFence
from penstock_runtime.engine.sink_offsets import SinkOffsets
from penstock_runtime.engine.sink_process import SinkProcess
from penstock_runtime.engine.spark import Spark, WorkerLost
from penstock_runtime.engine.summary import Summary
from penstock_runtime.kafka.consumers import Consumed, OutOfRange, RecordConsumer
from penstock_runtime.kafka.marks import named
from penstock_runtime.kafka.status_topic import State

__all__ = ["SinkTask"]

log = logging.getLogger(__name__)
_WAIT: Final = 0.2
_FEW: Final = 100
_REST: Final = 60.0
"""Seconds for which a sink that asked to wait is written to here, not by Spark."""
_RECORD_BYTES: Final = 8192.0
"""What a record is taken to hold until some were read: the first batch of a backlog is rather too small than too large."""
_SOON: Final = 5.0
"""How often a topic that is listed and does not exist is looked for, in seconds."""
_FRESH: Final = 1.0
"""How long ago, in seconds, a sink may have looked for a newer life when it writes."""
_SILENCE: Final = 30.0
"""How often brokers are asked whether records wait that do not come, in seconds."""
_RETURN: Final = 5.0
"""The same while brokers have just come back."""
_LOOKS: Final = 3
"""So often: records that waited at two looks are missed."""


class SinkTask:
    """One sink task, from its start to its stop: `run`, then `close`."""

    def __init__(
        self, setup: Setup, fence: SinkFence, reports: Reports, *, stopping: threading.Event,
        paused: threading.Event, spark: Spark | None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._setup = setup
        self._fence = fence
        self._reports = reports
        self._stopping = stopping
        self._paused = paused
        self._spark = spark
        self._clock = clock
        self._sink: Sink = setup.sink()
        self._consumer = RecordConsumer(
            setup.settings, group=setup.group, client_id=f"connector-consumer-{setup.spec.connector}-{setup.spec.task}"
        )
        self._process: SinkProcess | FramePut = setup.sink_process(
            self._sink, stopping.is_set, sleep=lambda s: stopping.wait(s), trouble=self._held_up, spark=spark,
            lost=lambda summary: reports.batch(summary, seconds=0.0, on_spark=False),
        )  # fmt: skip
        self._most = setup.frame_records if isinstance(self._process, FramePut) else setup.put_records
        self._offsets = SinkOffsets(
            self._sink, self._consumer, reports, fence=fence, stopping=stopping, interval=setup.commit_seconds,
            longest=setup.worker.offset_flush_interval_ms / 1000, clock=clock,
        )  # fmt: skip
        self._next_refresh = 0.0
        self._appetite = Appetite(setup.limits, setup.batch_seconds, scale=Appetite.BACKLOG)
        self._failures = 0
        self._losses = 0
        self._spark_rests_until = 0.0
        self._read_here = True
        self._record_bytes = _RECORD_BYTES
        self._ends: dict[TopicPartition, tuple[int, int]] = {}
        self._next_look = 0.0
        self._troubled = False
        self._looks_soon = 0
        self._missed = Missed(self._consumer, self._offsets)
        self._doubtful = False
        """A batch was begun, and not ended: nobody but the sink can know how much of it is written."""
        self._waiting_for: str | None = None

    def run(self) -> None:
        """Until `stopping`, or an error.

        Raises:
            Superseded: a newer life works; nothing has failed, and nothing is committed any more.
            ConnectError: the task has failed. What was written before is committed as far as it can be.
        """
        self._until_done(self._fence.begin)
        self._until_done(self._sink.start)
        self._until_done(self._refresh)
        self._report_state()
        while not self._stopping.is_set():
            if self._paused.is_set():
                self._pause()
            else:
                self._once()
        self._offsets.commit_at_the_end(failed=False)

    def close(self, *, failure: Exception | None = None) -> None:
        """Commit what was written, as far as that can be, and let go of everything, once. May wait for the outside.

        Args:
            failure: what `run` has raised; nothing is committed after `Superseded`.
        """
        if failure is not None and not isinstance(failure, Superseded):
            _quietly("commit", lambda: self._offsets.commit_at_the_end(failed=True))
        with ExitStack() as closing:
            closing.callback(self._fence.close)
            closing.callback(self._consumer.close)
            closing.callback(self._process.close)
            closing.callback(_quietly, "stop", self._sink.stop)
            closing.callback(_quietly, "close its partitions", self._offsets.close)

    def _once(self) -> None:
        try:
            self._fence.look()
            if self._doubtful:
                self._offsets.reopen()
                self._doubtful = self._read_here = False
            if self._clock() >= self._next_refresh:
                self._refresh()
            if self._worth_spark():
                self._doubtful = True
                self._on_spark()
                self._doubtful = False
            else:
                self._here()
                self._offsets.commit_if_due()
        except RetriableError as e:
            self._failed(e)
            return
        self._failures = 0
        self._reports.trouble(self._consumer.trouble or self._waiting_for)
        if self._spark is not None:
            self._spark.attend()

    def _here(self) -> None:
        """Read and write what there is, in this process."""
        if not self._read_here:
            if self._offsets.pending:  # what was staged last
                self._offsets.commit()
            self._assign()
        if not self._offsets.positions:
            self._stopping.wait(_WAIT)
            return
        try:
            consumed, ends = self._gathered()
        except OutOfRange as e:
            self._offsets.out_of_range(e.partition, e.offset)
            self._read_here = False
            return
        begun = self._clock()
        self._returned()
        if not consumed and begun >= self._next_look:
            self._look()
        if consumed:
            self._fence.look(_FRESH)
            self._doubtful = True
            self._offsets.read(consumed)
            summary = self._process.put(consumed)
            self._wrote(summary, self._clock() - begun, on_spark=False)
            self._learn(summary)
            if summary.unfinished:  # of these the end is not reached, though it was read
                ends = {of: end for of, end in ends.items() if of not in {c.source for c in consumed}}
        self._offsets.at_end(ends)
        self._report_lag()

    def _learn(self, summary: Summary) -> None:
        """Of frames that are many, as their schemas change often, no more are read than are written in time."""
        if not isinstance(self._process, FramePut):
            return
        if summary.unfinished:
            self._read_here = False  # read on from what was written
            self._most = min(self._setup.frame_records, max(_FEW, 2 * summary.written))
        else:
            self._most = min(4 * self._most, self._setup.frame_records)

    def _returned(self) -> None:
        """When trouble is over, look soon: a client can miss that a broker is back."""
        if self._consumer.trouble is not None:
            self._troubled = True
        elif self._troubled:
            self._troubled = False
            self._looks_soon = _LOOKS
            self._next_look = self._clock() + self._look_pause()

    def _look_pause(self) -> float:
        if not self._looks_soon:
            return _SILENCE
        self._looks_soon -= 1
        return _RETURN

    def _look(self) -> None:
        """Where records are missed, begin to read anew."""
        self._next_look = self._clock() + self._look_pause()
        try:
            missed = self._missed.look()
        except RetriableError as e:
            log.warning("Whether records wait is not known: %s", e)
            self._next_refresh = 0.0
            return  # what is assigned stays so: others may be read
        if missed:
            log.warning("Records in %s wait and do not come: they are asked for anew", named(missed))
            self._read_here = False

    def _gathered(self) -> tuple[list[Consumed], dict[TopicPartition, int]]:
        """What there is; for a sink of frames, which makes files of them, all that comes within `batch.max.ms`."""
        if not isinstance(self._process, FramePut):
            return self._consumer.consume(self._most, _WAIT)
        # The first are few: before their size is known, many could be far more than `batch.max.bytes`.
        found, ends = self._consumer.consume(min(self._most, _FEW), _WAIT)
        records, size, limit = sum(len(c.offset) for c in found), sum(c.size() for c in found), self._setup.limits.bytes
        deadline = self._clock() + self._setup.batch_seconds
        while found and records < self._most and size < limit and not self._stopping.is_set():
            left = deadline - self._clock()
            if left <= 0 or self._paused.is_set():
                break
            fitting = 1 + (limit - size) * records // max(1, size)
            more, later = self._consumer.consume(min(self._most - records, fitting), min(_WAIT, left))
            records, size = records + sum(len(c.offset) for c in more), size + sum(c.size() for c in more)
            found += more
            ends.update(later)
        return found, ends

    def _worth_spark(self) -> bool:
        if self._spark is None or isinstance(self._process, FramePut) or self._clock() < self._spark_rests_until:
            return False
        lag = self._lag()
        if lag is None or lag < self._setup.backlog_records:
            return False
        self._spark.start()
        ready = self._spark.ready
        self._reports.spark(up=ready)
        return ready

    def _on_spark(self) -> None:
        """One batch of ranges, read and written by Spark's workers; what they stage is committed while they do the next."""
        assert self._spark is not None
        ranges = self._ranges()
        if not ranges:
            self._here()
            return
        if self._read_here:
            self._consumer.assign({})
            self._read_here = False
        begun = self._clock()
        payloads = [worker.range_payload(self._setup, group) for group in self._groups(ranges, self._spark.cores)]
        total = Summary()
        failures: list[RetriableError] = []

        def commit() -> None:
            """What the batch before this one has staged."""
            try:
                self._offsets.commit()
            except RetriableError as e:  # nothing that a worker met
                failures.append(e)

        before = commit if self._setup.staged and self._offsets.pending else None
        try:
            for result in self._spark.run(
                worker.consume, payloads, timeout=self._setup.batch_timeout, meanwhile=before
            ):
                total.add(worker.unwrap(result))
        except RetriableError as e:
            self._appetite.failed()
            if not isinstance(e, WorkerLost):  # the outside asks to wait: that is done here, as long as the user says
                self._spark_rests_until = self._clock() + _REST
            raise
        self._losses = 0
        for of, _, end in ranges:
            total.offsets.append((*of, end))
        self._wrote(total, self._clock() - begun, on_spark=True)
        if failures:
            raise failures[0]
        self._report_lag()

    def _groups(self, ranges: list[Range], cores: int) -> list[list[Range]]:
        if self._setup.staged:
            return cut(ranges, cores, least=self._setup.put_records)
        return [ranges] if self._setup.single_writer else dealt(ranges, cores)

    def _ranges(self) -> list[Range]:
        """What lies before us, cut to the batch limits; none when positions must be found by the consumer first."""
        found = []
        bounds = self._consumer.bounds(self._offsets.positions)
        for of, position in self._offsets.positions.items():
            low, high = bounds[of]
            if position is None and (low == high or self._consumer.from_beginning):
                position = low
            if position is None or not low <= position <= high:
                return []
            if position < high:
                found.append((of, position, high))
        return bounded(found, self._appetite.limits, record_bytes=self._record_bytes)

    def _wrote(self, summary: Summary, seconds: float, *, on_spark: bool) -> None:
        self._offsets.wrote(summary)
        self._doubtful = False
        if summary.read:
            self._record_bytes = summary.bytes / summary.read
        if on_spark:
            self._appetite.done(summary.read, summary.bytes, seconds)
        self._reports.active(summary.topics)
        self._reports.batch(summary, seconds=seconds, on_spark=on_spark)
        if on_spark and not self._setup.staged:
            self._offsets.commit()

    def _refresh(self) -> None:
        """Find topics and partitions; take on new ones, let go of deleted ones."""
        setup = self._setup
        existing = self._consumer.partitions()
        mine = assigned(
            existing, topics=setup.topics, matches=setup.topic_matches, task=setup.spec.task,
            tasks=setup.spec.tasks,
        )  # fmt: skip
        self._next_refresh = self._clock() + setup.metadata_seconds
        known = set(self._offsets.positions)
        gone, new = sorted(known - set(mine)), [tp for tp in mine if tp not in known]
        if gone:
            log.warning("Partitions are gone: %s", ", ".join(f"{t}-{p}" for t, p in gone))
            self._offsets.drop(gone)
        if new:
            self._offsets.take(new)
        if gone or new:
            self._assign()
            self._reports.partitions(len(self._offsets.positions))
        missing = sorted(set(setup.topics) - set(existing))
        if missing or not self._offsets.positions:
            self._next_refresh = self._clock() + min(setup.metadata_seconds, _SOON)
        self._waiting_for = None
        if missing:
            self._waiting_for = f"Waiting for topics that do not exist: {', '.join(missing)}"
        elif not self._offsets.positions:
            self._waiting_for = f"Waiting: no partition of {setup.topics_text} falls to this task"
        self._reports.trouble(self._consumer.trouble or self._waiting_for)  # now: what follows may take long

    def _assign(self) -> None:
        self._read_here = not self._paused.is_set()
        self._next_look = self._clock() + _SILENCE
        self._ends.clear()
        self._consumer.assign(self._offsets.places if self._read_here else {})

    def _failed(self, error: RetriableError) -> None:
        """The batch comes again: from where the sink says that it is, else from the last positions that were written."""
        self._failures += 1
        self._troubled = True
        if isinstance(error, WorkerLost):
            self._losses += 1
            if self._losses >= self._setup.batch_attempts:
                raise ConnectError(f"{error} ({self._losses} times; is the memory limit too small?)") from error
        log.warning("Trying again: %s", error)
        self._reports.trouble(str(error))
        self._next_refresh = 0.0
        seconds = error.retry_after or min(10.0, 0.1 * 2 ** min(self._failures, 10))
        rest(seconds, stopping=self._stopping, paused=self._paused)
        self._read_here = False

    def _until_done(self, work: Callable[[], None]) -> None:
        until_done(work, passing=(RetriableError,), stopping=self._stopping, reports=self._reports)

    def _pause(self) -> None:
        self._consumer.assign({})
        self._read_here = told = False
        while self._paused.is_set() and not self._stopping.is_set():
            try:
                self._fence.look()
                if self._clock() >= self._next_refresh:  # what is gone can no longer be committed
                    self._refresh()
                if self._offsets.pending and not told:
                    self._offsets.commit()
                self._offsets.commit_if_due()
            except RetriableError as e:
                self._failed(e)
                continue
            self._failures = 0
            self._reports.trouble(self._waiting_for)
            if not told:
                self._report_state()
                told = True
            self._stopping.wait(_WAIT)
        if not self._stopping.is_set():
            self._report_state()

    def _report_state(self) -> None:
        self._reports.state(State.PAUSED if self._paused.is_set() else State.RUNNING)

    def _lag(self) -> int | None:
        positions = self._offsets.positions
        if not positions:
            return None
        if not self._read_here:
            try:
                marks = self._consumer.bounds(positions)
            except RetriableError:  # of one of them perhaps; the others are read here meanwhile
                return None
        else:
            marks = {of: self._consumer.watermarks(of) for of in positions}
            # Nothing was fetched of these yet: while others fill the client's queue, that may be long.
            unknown = [of for of, (_, high) in marks.items() if high < 0]
            try:
                self._ends |= self._consumer.bounds(of for of in unknown if of not in self._ends)
            except RetriableError:
                return None
            marks |= {of: self._ends[of] for of in unknown}
        return sum(self._offsets.behind(of, *marks[of]) for of in positions)

    def _held_up(self, text: str | None) -> None:
        """A write is tried again, perhaps for hours: the lag grows meanwhile."""
        self._reports.trouble(text)
        self._offsets.hold()
        self._report_lag()

    def _report_lag(self) -> None:
        self._reports.lag(self._lag())


def _quietly(what: str, work: Callable[[], None]) -> None:
    """On the way out: an error here must not take the place of the one that ended the task."""
    try:
        work()
    except Exception as e:  # noqa: BLE001 (a plugin may raise anything)
        log.warning("The sink could not %s: %s", what, e)
