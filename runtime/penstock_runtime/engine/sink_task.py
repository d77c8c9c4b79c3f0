"""The driver's loop of a sink task: read, write, commit, and what happens when it fails.

A trickle is read and written here. When the lag is worth a Spark job and the sink has writers, ranges of offsets are read
and written by Spark's workers while this consumer stands still. Offsets go to the group after `Sink.commit`, never before.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from typing import Any, Final

from penstock.errors import ConnectError, RetriableError
from penstock.sink import Sink, TopicPartition
from penstock.taskspec import SparkStart
from penstock_runtime.engine import worker
from penstock_runtime.engine.assignment import assigned
from penstock_runtime.engine.frames import FramePut
from penstock_runtime.engine.reports import Reports
from penstock_runtime.engine.setup import Setup
from penstock_runtime.engine.sink_process import SinkProcess
from penstock_runtime.engine.spark import Spark, WorkerLost
from penstock_runtime.engine.summary import Summary
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.kafka.status_topic import State

__all__ = ["SinkTask"]

log = logging.getLogger(__name__)
_WAIT: Final = 0.2
_SOON: Final = 5.0
"""How often a topic that is listed and does not exist is looked for, in seconds."""
_RECOMMIT: Final = 24 * 3600.0
"""A group without members loses its offsets after offsets.retention.minutes; seven days by default."""


class SinkTask:
    """One sink task, from its start to its stop. `run` is the whole life."""

    def __init__(
        self, setup: Setup, reports: Reports, *, stopping: threading.Event, paused: threading.Event,
        spark: Spark | None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._setup = setup
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
            self._sink, stopping.is_set, sleep=lambda s: stopping.wait(s), trouble=reports.trouble, spark=spark
        )
        self._positions: dict[TopicPartition, int | None] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._messages: list[Any] = []
        self._last_commit = self._last_recommit = clock()
        self._next_refresh = 0.0
        self._failures = 0
        self._losses = 0
        self._spark_due = spark is not None and setup.spec.spark.start is SparkStart.EAGER
        self._read_here = True
        self._waiting_for: str | None = None
        self._commit_fails = False

    def run(self) -> None:
        """Until `stopping`, or an error.

        Raises:
            ConnectError: the task has failed. What was written before is committed as far as it can be.
        """
        try:
            self._until_done(self._sink.start)
            self._until_done(self._refresh)
            self._report_state()
            while not self._stopping.is_set():
                if self._paused.is_set():
                    self._pause()
                else:
                    self._once()
            self._commit_quietly()
        except BaseException:
            if not self._commit_fails:
                self._commit_quietly()
            raise
        finally:
            self._close()
            self._sink.stop()
            self._process.close()
            self._consumer.close()

    def _once(self) -> None:
        try:
            if self._clock() >= self._next_refresh:
                self._refresh()
            if self._worth_spark():
                self._on_spark()
            else:
                self._here()
            self._commit_if_due()
        except RetriableError as e:
            self._failed(e)
            return
        self._failures = 0
        self._reports.trouble(self._consumer.trouble or self._waiting_for)
        self._start_spark()

    def _here(self) -> None:
        """Read and write what there is, in this process."""
        if not self._read_here:
            self._assign()
        if not self._positions:
            self._stopping.wait(_WAIT)
            return
        begun = self._clock()
        consumed, ends = self._consumer.consume(self._setup.put_records, _WAIT)
        if consumed:
            summary = self._process.put(consumed)
            self._wrote(summary, self._clock() - begun, on_spark=False)
        for partition, end in ends.items():
            position = self._positions.get(partition)
            if position is not None and position < end:  # transaction markers at the end are no records
                self._positions[partition] = end
        self._report_lag()

    def _worth_spark(self) -> bool:
        if self._spark is None or isinstance(self._process, FramePut):
            return False
        lag = self._lag()
        if lag is None or lag < self._setup.backlog_records:
            return False
        self._spark.start()
        ready = self._spark.ready
        self._reports.spark(up=ready)
        return ready

    def _on_spark(self) -> None:
        """One batch of ranges, read and written by Spark's workers."""
        assert self._spark is not None
        ranges = self._ranges()
        if not ranges:
            self._here()
            return
        if self._read_here:
            self._consumer.assign({})
            self._read_here = False
        begun = self._clock()
        groups = [ranges] if self._setup.single_writer else _dealt(ranges, self._spark.cores)
        payloads = [worker.range_payload(self._setup, group) for group in groups]
        future = self._spark.submit(worker.consume, payloads, timeout=self._setup.batch_timeout)
        wait([future])
        total = Summary()
        for result in future.result():
            total.add(worker.unwrap(result))
        self._losses = 0
        for of, _, end in ranges:
            total.offsets.append((*of, end))
        self._wrote(total, self._clock() - begun, on_spark=True)
        self._report_lag()

    def _ranges(self) -> list[tuple[TopicPartition, int, int]]:
        """What lies before us, cut to the batch limits; none when positions must be found by the consumer first."""
        share = max(1, self._setup.limits.records // max(1, len(self._positions)))
        ranges = []
        for of, position in self._positions.items():
            low, high = self._consumer.watermarks(of, cached=False)
            if position is None and (low == high or self._consumer.from_beginning):
                position = low
            if position is None or not low <= position <= high:
                return []
            if position < high:
                ranges.append((of, position, min(high, position + share)))
        return ranges

    def _wrote(self, summary: Summary, seconds: float, *, on_spark: bool) -> None:
        for topic, partition, offset in summary.offsets:
            self._positions[TopicPartition(topic, partition)] = offset
        self._messages.extend(summary.messages)
        self._reports.active(summary.topics)
        self._reports.batch(summary, seconds=seconds, on_spark=on_spark)
        if on_spark:
            self._commit()

    def _commit_if_due(self) -> None:
        now = self._clock()
        if now - self._last_commit >= self._setup.commit_seconds and (self._pending() or self._messages):
            self._commit()
        elif now - self._last_recommit >= _RECOMMIT and self._committed:
            self._consumer.commit(self._committed)
            self._last_recommit = now

    def _pending(self) -> dict[TopicPartition, int]:
        return {tp: o for tp, o in self._positions.items() if o is not None and self._committed.get(tp) != o}

    def _commit(self) -> None:
        """Make what was written final, and tell the group.

        Raises:
            RetriableError: Kafka did not answer, or the task is to stop while the sink asks to wait.
            ConnectError: the sink or the group refuses.
        """
        reached = {tp: o for tp, o in self._positions.items() if o is not None}
        self._commit_fails = True  # until it has not: nobody tries again on the way out
        allowed = self._final(reached)
        self._messages = []
        good = {}
        for tp, offset in allowed.items():
            if tp not in reached or offset > reached[tp]:
                log.warning("The sink wants to commit %s-%d at %d, which it was not given; ignored", *tp, offset)
            elif self._committed.get(tp) != offset:
                good[tp] = offset
        if good:
            self._consumer.commit(good)
            self._committed.update(good)
            self._last_recommit = self._clock()
        self._last_commit = self._clock()
        self._commit_fails = False
        self._reports.committed()

    def _final(self, reached: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """`Sink.commit`, with the same arguments until it does not ask to wait."""
        attempt = 0
        while True:
            try:
                return self._sink.commit(self._messages, reached)
            except RetriableError as e:
                if self._stopping.is_set():
                    raise
                attempt += 1
                log.warning("Commit is tried again (attempt %d): %s", attempt, e)
                self._reports.trouble(f"commit is tried again (attempt {attempt}): {e}")
                self._stopping.wait(e.retry_after or min(10.0, 0.1 * 2 ** min(attempt, 10)))

    def _commit_quietly(self) -> None:
        """On the way out: what was written need not come again, but what is not committed comes again and is not lost."""
        try:
            if self._pending() or self._messages:
                self._commit()
        except Exception as e:  # noqa: BLE001 (after a failure, its error is the one to tell)
            log.warning("Offsets of what was written could not be committed; it will be written again: %s", e)

    def _close(self) -> None:
        try:
            if self._positions:
                self._sink.close(list(self._positions))
        except Exception as e:  # noqa: BLE001 (as above)
            log.warning("The sink could not close its partitions: %s", e)

    def _refresh(self) -> None:
        """Find topics and partitions; take on new ones, let go of deleted ones."""
        setup = self._setup
        existing = self._consumer.partitions()
        mine = assigned(
            existing, topics=setup.topics, matches=setup.topic_matches, task=setup.spec.task,
            tasks=setup.spec.tasks,
        )  # fmt: skip
        self._next_refresh = self._clock() + setup.metadata_seconds
        known = set(self._positions)
        gone, new = sorted(known - set(mine)), [tp for tp in mine if tp not in known]
        if gone:
            log.warning("Partitions are gone: %s", ", ".join(f"{t}-{p}" for t, p in gone))
            self._sink.close(gone)
            for tp in gone:
                del self._positions[tp]
                self._committed.pop(tp, None)
        if new:
            if self._positions:
                self._commit()
            committed = self._consumer.committed(new)
            if committed:  # what it holds already; refused when the group has members, before anything is written twice
                self._consumer.commit(committed)
            stored = self._sink.open(new)
            self._committed.update(committed)
            for tp in new:
                self._positions[tp] = stored.get(tp, committed.get(tp))
        if gone or new:
            self._assign()
            self._reports.partitions(len(self._positions))
        missing = sorted(set(setup.topics) - set(existing))
        if missing or not self._positions:
            self._next_refresh = self._clock() + min(setup.metadata_seconds, _SOON)
        self._waiting_for = None
        if missing:
            self._waiting_for = f"Waiting for topics that do not exist: {', '.join(missing)}"
        elif not self._positions:
            self._waiting_for = f"Waiting: no partition of {setup.topics_text} falls to this task"

    def _assign(self) -> None:
        self._consumer.assign(self._positions)
        self._read_here = True

    def _failed(self, error: RetriableError) -> None:
        """The batch comes again from the last positions that were written."""
        self._failures += 1
        if isinstance(error, WorkerLost):
            self._losses += 1
            if self._losses >= self._setup.batch_attempts:
                raise ConnectError(f"{error} ({self._losses} times; is the memory limit too small?)") from error
        log.warning("Trying again: %s", error)
        self._reports.trouble(str(error))
        self._next_refresh = 0.0
        self._stopping.wait(error.retry_after or min(10.0, 0.1 * 2 ** min(self._failures, 10)))
        self._read_here = False

    def _start_spark(self) -> None:
        """Beside the batches, once the first has gone through: the session's start takes both cores for seconds."""
        if self._spark_due and self._spark is not None:
            self._spark_due = False
            self._spark.start()

    def _until_done(self, work: Callable[[], None]) -> None:
        delay = 0.1
        while not self._stopping.is_set():
            try:
                work()
            except RetriableError as e:
                log.warning("Trying again in %.1f s: %s", delay, e)
                self._reports.trouble(str(e))
                self._stopping.wait(delay)
                delay = min(10.0, delay * 2)
            else:
                self._reports.trouble(None)
                return

    def _pause(self) -> None:
        if self._pending() or self._messages:
            self._until_done(self._commit)
        self._consumer.assign({})
        self._read_here = False
        self._report_state()
        while self._paused.is_set() and not self._stopping.is_set():
            self._stopping.wait(_WAIT)
            self._until_done(self._commit_if_due)
        if not self._stopping.is_set():
            self._report_state()

    def _report_state(self) -> None:
        self._reports.state(State.PAUSED if self._paused.is_set() else State.RUNNING)

    def _lag(self) -> int | None:
        if not self._positions:
            return None
        total = 0
        for tp, position in self._positions.items():
            low, high = self._consumer.watermarks(tp, cached=self._read_here)
            if high < 0:
                return None
            total += max(0, high - (low if position is None else position))
        return total

    def _report_lag(self) -> None:
        self._reports.lag(self._lag())


def _dealt(
    ranges: Sequence[tuple[TopicPartition, int, int]], groups: int
) -> list[list[tuple[TopicPartition, int, int]]]:
    """The ranges in at most that many groups of about the same size."""
    found: list[list[tuple[TopicPartition, int, int]]] = [[] for _ in range(min(groups, len(ranges)))]
    sizes = [0] * len(found)
    for one in sorted(ranges, key=lambda r: r[1] - r[2]):
        smallest = sizes.index(min(sizes))
        found[smallest].append(one)
        sizes[smallest] += one[2] - one[1]
    return found
