"""The driver's loop of a sink task: read, write, commit, and what happens when it fails.

A trickle is read and written here. When the lag is worth a Spark job and the sink has writers, ranges of offsets are read
and written by Spark's workers while this consumer stands still. Offsets go to the group after `Sink.commit`, never before.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

from penstock.errors import ConnectError, RetriableError, Superseded
from penstock.sink import Sink, TopicPartition
from penstock.source import Limits
from penstock_kafka.watermarks import names_of
from penstock_runtime.kafka.consumers import Consumed, OutOfRange, RecordConsumer
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.pipeline.context import Setup
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.pipeline.retry import BATCH_BACKOFF, rest, until_done, wait
from penstock_runtime.pipeline.splits import Range, bounded, cut, dealt, reached
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.assignment import assigned
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.offset_ranges import gathered
from penstock_runtime.sink.offsets import SinkOffsets
from penstock_runtime.sink.process import SinkProcess
from penstock_runtime.sink.stall_detector import Missed
from penstock_runtime.spark import worker
from penstock_runtime.spark.frames import FramePut
from penstock_runtime.spark.session import Spark, WorkerLost
from penstock_runtime.task.liveness import LOOP

__all__ = ["SinkTask"]

log = logging.getLogger(__name__)
_START: Final = 3600.0
"""Seconds that a sink's start may take; Kafka Connect sets no limit to it."""
_WAIT: Final = 0.2
_FEW: Final = 100
_REST: Final = 60.0
"""Seconds for which a sink that asked to wait is written to here, not by Spark."""
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
            self._sink, stopping.is_set, sleep=lambda s: wait(s, stopping), trouble=self._held_up, spark=spark,
            lost=lambda summary: reports.batch(summary, seconds=0.0, on_spark=False),
        )  # fmt: skip
        self._most = setup.frame_records if isinstance(self._process, FramePut) else setup.put_records
        self._offsets = SinkOffsets(
            self._sink, self._consumer, reports, fence=fence, stopping=stopping, interval=setup.commit_seconds,
            longest=setup.worker.offset_flush_interval_ms / 1000, clock=clock,
        )  # fmt: skip
        self._next_refresh = 0.0
        self._size = PutSize(setup.limits, self._most, setup.batch_seconds, setup.put_seconds)
        self._end = worker.end_file(setup.slots_dir)
        self._turns: dict[TopicPartition, int] = {}
        """When each partition was last in a batch on Spark: who comes too short in one is among the first in the next."""
        self._failures = 0
        self._losses = 0
        self._spark_rests_until = 0.0
        self._read_here = True
        self._ends: dict[TopicPartition, tuple[int, int]] = {}
        self._next_look = 0.0
        self._troubled = False
        self._looks_soon = 0
        self._missed = Missed(self._consumer, self._offsets)
        self._doubtful = False
        """A batch was begun, and not ended: nobody but the sink can know how much of it is written."""
        self._waiting_for: str | None = None
        self._ids: dict[str, str] = {}
        """Of topics, as they were when they were taken."""
        self._counts: dict[str, int] = {}
        """Of partitions of every topic, as they were at the last look."""

    def run(self) -> None:
        """Until `stopping`, or an error.

        Raises:
            Superseded: a newer life works; nothing has failed, and nothing is committed any more.
            ConnectError: the task has failed. What was written before is committed as far as it can be.
        """
        self._until_done(self._fence.begin)
        with LOOP.longer(_START, "an hour for the start of a sink"):
            self._until_done(self._sink.start)
        self._until_done(self._refresh)
        self._report_state()
        while not self._stopping.is_set():
            LOOP.turned()
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
            if self._clock() >= self._next_refresh:  # first: what is gone can no longer be committed
                self._refresh()
            if self._doubtful:
                self._offsets.reopen()
                self._doubtful = self._read_here = False
            if self._worth_spark():
                self._on_spark()
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
            limits = self._put_limits()
            consumed, ends = self._gathered(limits)
        except OutOfRange as e:
            self._offsets.out_of_range(e.partition, e.offset)
            self._read_here = False
            return
        self._returned()
        if not consumed and self._clock() >= self._next_look:
            self._look()
        for portions in gathered(consumed, lambda: limits):  # one, unless they are larger than those before
            LOOP.turned()
            self._fence.look(_FRESH)
            begun = self._clock()
            self._doubtful = True
            self._offsets.read(portions)
            summary = self._process.put(portions)
            self._wrote(summary, self._clock() - begun, on_spark=False)
            self._learn(summary)
            if summary.unfinished:  # of these the end is not reached, though it was read
                ends = {of: end for of, end in ends.items() if of not in {c.source for c in consumed}}
                break
            if portions[-1] is not consumed[-1] and (self._stopping.is_set() or self._paused.is_set()):
                self._read_here = False  # what was read and is not written comes again
                return
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
            log.warning("Records in %s wait and do not come: they are asked for anew", names_of(missed))
            self._read_here = False

    def _put_limits(self) -> Limits:
        if isinstance(self._process, FramePut):
            fitting = self._size.batch(1, staged=True) if self._size.rate else Limits(_FEW, self._setup.limits.bytes)
            return Limits(max(_FEW, min(self._most, fitting.records)), fitting.bytes)
        return self._size.put()

    def _gathered(self, limits: Limits) -> tuple[list[Consumed], dict[TopicPartition, int]]:
        """What there is; for a sink of frames, which makes files of them, all that comes within `batch.max.ms`."""
        most, limit = limits.records, limits.bytes
        if not isinstance(self._process, FramePut):
            return self._consumer.consume(min(most, 1 + int(limit / max(1.0, self._size.record_bytes))), _WAIT)
        # The first are few: before their size is known, many could be far more than `batch.max.bytes`.
        found, ends = self._consumer.consume(min(most, _FEW), _WAIT)
        records, size = sum(len(c.offset) for c in found), sum(c.size() for c in found)
        deadline = self._clock() + self._setup.batch_seconds
        while found and records < most and size < limit and not self._stopping.is_set():
            left = deadline - self._clock()
            if left <= 0 or self._paused.is_set():
                break
            fitting = 1 + (limit - size) * records // max(1, size)
            more, later = self._consumer.consume(min(most - records, fitting), min(_WAIT, left))
            records, size = records + sum(len(c.offset) for c in more), size + sum(c.size() for c in more)
            LOOP.turned()
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
        """One batch of ranges, read and written by Spark's workers; what they stage is committed while they do the next.

        Each of them ends when its time is over, and tells how far it has come.
        """
        assert self._spark is not None
        setup = self._setup
        groups = self._groups(self._spark.cores)
        if not groups:
            self._here()
            return
        if self._read_here:
            self._consumer.assign({})
            self._read_here = False
        begun = self._clock()
        limits = self._range_limits(len(groups))
        payloads = [worker.range_payload(setup, group, limits) for group in groups]
        failures: list[RetriableError] = []

        def commit() -> None:
            """What the batch before this one has staged."""
            try:
                self._offsets.commit()
            except RetriableError as e:  # nothing that a worker met
                failures.append(e)

        before = commit if setup.staged and self._offsets.pending else None
        self._doubtful = True
        self._end.unlink(missing_ok=True)
        try:
            results = self._spark.run(
                worker.consume, payloads, timeout=setup.batch_timeout, meanwhile=before, watching=self._watch
            )
        except WorkerLost as e:
            self._size.lost()
            raise self._explained(e, self._clock() - begun) from e
        parts = [worker.part(result) for result in results]
        errors = [part.error for part in parts if part.error is not None]
        total, gaps = self._joined(groups, [part.summary for part in parts])
        sizes = [part.size for part in parts if part.size is not None]
        self._size.learn(sizes, total.read, total.bytes, sum(total.seconds.values()))
        self._wrote(total, self._clock() - begun, on_spark=True)
        self._doubtful = gaps or bool(errors)
        if errors:
            self._raise_first(errors)
        if setup.staged:
            if failures:
                raise failures[0]
        else:
            self._offsets.commit()
        self._report_lag()

    def _watch(self) -> None:
        """Let workers end after the puts that they are at, where the task is to stop or to pause."""
        if self._stopping.is_set() or self._paused.is_set():
            with suppress(OSError):
                self._end.touch()

    def _joined(self, groups: list[list[Range]], parts: list[Summary]) -> tuple[Summary, bool]:
        """What the workers have done together, and whether some of it does not count, since it lies behind a gap."""
        good, ends = reached(groups, [{TopicPartition(t, p): o for t, p, o in part.offsets} for part in parts])
        total = Summary()
        for number in good:
            total.add(parts[number])
        total.offsets = [(*of, offset) for of, offset in ends.items()]
        gaps = any(parts[number].offsets for number in range(len(parts)) if number not in good)
        if gaps:
            log.info("Workers had no time for all of their parts: what was staged behind them is staged again")
        turn = 1 + max(self._turns.values(), default=0)
        self._turns.update(dict.fromkeys(ends, turn))
        return total, gaps

    def _raise_first(self, errors: list[ConnectError]) -> None:
        """What ends the task goes before what may pass."""
        first = next((e for e in errors if not isinstance(e, RetriableError)), errors[0])
        for other in errors:
            if other is not first:
                log.warning("Another worker has met this: %s", other)
        # The outside asks to wait: that is done here, as long as the user says.
        self._spark_rests_until = self._clock() + _REST
        raise first

    def _explained(self, error: WorkerLost, seconds: float) -> WorkerLost:
        if seconds < self._setup.put_seconds:
            return error
        return WorkerLost(
            f"A worker of Spark was given up: one write has taken longer than consumer.override.max.poll.interval.ms "
            f"({self._setup.put_seconds:g} s), or the worker did not answer: {error}",
            "raise it, or lower consumer.override.max.poll.records",
        )

    def _groups(self, cores: int) -> list[list[Range]]:
        """What each worker is to do; nothing when positions must be found by the consumer first."""
        setup = self._setup
        cores = cores if setup.staged or not setup.single_writer else 1
        ranges = self._ranges()
        if not ranges:
            return []
        limits, record_bytes = self._size.batch(cores, staged=setup.staged), self._size.record_bytes
        most = min(limits.records, int(limits.bytes / max(1.0, record_bytes)))
        least = max(1, min(self._size.put().records if setup.staged else setup.put_records, most // cores))
        batch = bounded(ranges, limits, record_bytes=record_bytes, least=least)
        if setup.staged:
            return cut(batch, cores, least=least)
        return dealt(batch, cores)

    def _range_limits(self, workers: int) -> worker.RangeLimits:
        setup = self._setup
        return worker.RangeLimits(
            size=self._size, workers=workers, room=2 * self._size.put(workers).bytes, seconds=setup.range_seconds,
            put_seconds=setup.put_seconds,
        )  # fmt: skip

    def _ranges(self) -> list[Range]:
        """What lies before us, those first who have waited longest; none when the consumer must find positions first."""
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
        return sorted(found, key=lambda r: self._turns.get(r[0], 0))

    def _wrote(self, summary: Summary, seconds: float, *, on_spark: bool) -> None:
        self._offsets.wrote(summary)
        self._doubtful = False
        self._losses = 0
        if not on_spark:
            self._size.wrote(summary.read, summary.bytes, seconds)
        self._reports.active(summary.topics)
        self._reports.batch(summary, seconds=seconds, on_spark=on_spark)

    def _refresh(self) -> None:
        """Find topics and partitions; take on new ones, let go of deleted ones."""
        setup = self._setup
        existing = self._consumer.partitions()
        mine = assigned(
            existing, topics=setup.topics, matches=setup.topic_matches, task=setup.spec.task,
            tasks=setup.spec.tasks,
        )  # fmt: skip
        topics = {tp.topic for tp in mine}
        ids = self._consumer.topic_ids(topics) if topics else {}
        anew = {topic for topic, id_ in ids.items() if self._ids.get(topic, id_) != id_}
        self._next_refresh = self._clock() + setup.metadata_seconds
        known = {tp for tp in self._offsets.positions if tp.topic not in anew}
        gone = sorted(self._offsets.positions.keys() - known | known - set(mine))
        new = [tp for tp in mine if tp not in known]
        if anew:
            log.warning(
                "Deleted and made anew: %s. Each is read from its beginning, unless the sink itself keeps a position in it",
                ", ".join(sorted(anew)),
            )
        if gone:
            log.warning("Partitions are gone: %s", ", ".join(f"{t}-{p}" for t, p in gone))
            self._offsets.drop(gone)
        if new:
            grown = {tp for tp in new if tp.partition >= self._counts.get(tp.topic, sys.maxsize)}
            self._offsets.assign(new, first={tp for tp in new if tp.topic in anew}, grown=grown)
        self._ids = {**self._ids, **ids}  # of topics that are gone, too: one that comes back is another
        self._counts = existing
        if gone or new:
            self._assign()
            self._reports.partitions(len(self._offsets.positions))
        missing = sorted(set(setup.topics) - set(existing))
        if missing or not self._offsets.positions:
            self._next_refresh = self._clock() + min(setup.metadata_seconds, _SOON)
        self._waiting_for = None
        if missing:
            self._waiting_for = f"Waiting for topics that do not exist, or that may not be read: {', '.join(missing)}"
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
                raise ConnectError(f"{error} ({self._losses} times; {error.advice})") from error
        log.warning("Trying again: %s", error)
        self._reports.trouble(str(error))
        self._next_refresh = 0.0
        seconds = error.retry_after or BATCH_BACKOFF.pause(self._failures)
        rest(seconds, stopping=self._stopping, paused=self._paused)
        self._read_here = False

    def _until_done(self, work: Callable[[], None]) -> None:
        until_done(work, passing=(RetriableError,), stopping=self._stopping, reports=self._reports)

    def _pause(self) -> None:
        self._consumer.assign({})
        self._read_here = told = False
        while self._paused.is_set() and not self._stopping.is_set():
            LOOP.turned()
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
        return sum(self._offsets.lag(of, *marks[of]) for of in positions)

    def _held_up(self, text: str | None) -> None:
        """A write is tried again, perhaps for hours: the lag grows meanwhile."""
        self._reports.trouble(text)
        self._offsets.keep_alive()
        self._report_lag()

    def _report_lag(self) -> None:
        self._reports.lag(self._lag())


def _quietly(what: str, work: Callable[[], None]) -> None:
    """On the way out: an error here must not take the place of the one that ended the task."""
    try:
        work()
    except Exception as e:  # noqa: BLE001 (a plugin may raise anything)
        log.warning("The sink could not %s: %s", what, e)
