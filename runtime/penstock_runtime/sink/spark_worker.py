"""Spark's Python worker of a sink: reads ranges of offsets and writes their records, until its time is up."""

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from penstock.errors import RetriableError
from penstock.sink import TopicPartition
from penstock.source import Limits
from penstock_runtime.kafka.consumers import Consumed, RecordConsumer
from penstock_runtime.pipeline import summary as summaries
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.plugins.plugin_metrics import Measure
from penstock_runtime.process.liveness import place_of
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.sink.offset_ranges import RangeReader, puts
from penstock_runtime.sink.sink_process import SinkProcess
from penstock_runtime.spark.worker import (
    Answer,
    context_of,
    exclude_loaded,
    failure,
    redact,
    wait_for,
    waited,
    waits_until,
)

__all__ = [
    "RangeLimits",
    "RangesPart",
    "close_sinks",
    "consume",
    "end_file",
    "measures_of",
    "range_payload",
    "sink_of",
]

log = logging.getLogger(__name__)
_PORTION: Final = 1_000
"""Number of records to convert together: as many as fit in the processor's cache."""


class RangesPart(msgspec.Struct):
    """Part of a sink's batch for one worker."""

    spec: str
    slots: str
    ranges: list[tuple[str, int, int, int]]
    limits: "RangeLimits"
    stage: bool
    secrets: Mapping[str, str] = {}

    @classmethod
    def decode(cls, data: bytes) -> "RangesPart":
        """Decode a payload."""
        return msgspec.msgpack.decode(data, type=cls)

    def puts(
        self, reader: RangeReader, put: Callable[[], Limits], *, ending: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[TopicPartition, list[Consumed], int]]:
        """Yield records of this part as `offset_ranges.puts` does, until its time is up."""
        wait_for(self.limits.seconds, end_file(self.slots))
        ranges = [(TopicPartition(topic, number), start, end) for topic, number, start, end in self.ranges]
        until, room = waits_until(), self.limits.room
        yield from puts(ranges, reader.read, put, until=until, room=room, ending=lambda: waited() or ending())

    @contextmanager
    def watched(self, of: TopicPartition) -> Iterator[None]:
        """Exit this process if a put takes longer than allowed.

        The driver then counts the worker as lost, and resumes after the last records known to be written.
        """
        seconds, thread = self.limits.put_seconds, threading.get_ident()

        def end() -> None:
            log.error(
                "Writing records of %s-%d has taken longer than max.poll.interval.ms (%g s): this worker exits while in %s",
                *of,
                seconds,
                place_of(thread),
            )
            os._exit(1)

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


class RangeLimits(msgspec.Struct):
    """Limits after which a worker ends its part of a batch, even if it is incomplete.

    Attributes:
        size: sizes of puts, as known to the driver.
        workers: number of workers.
        room: bytes to read before the part ends.
        seconds: time after which the part ends.
        put_seconds: maximum duration of a put; after it, the put counts as lost, and its process exits.
        changes: for a sink of frames, the number of schema changes in a partition that ends the part; None: order does
            not matter.
    """

    size: PutSize
    workers: int
    room: int
    seconds: float
    put_seconds: float
    changes: int | None = None


def range_payload(setup: SinkContext, ranges: Sequence[tuple[TopicPartition, int, int]], limits: RangeLimits) -> bytes:
    """Return the payload for a worker to read and write these ranges of offsets."""
    return msgspec.msgpack.encode(
        RangesPart(
            spec=setup.spec_text,
            slots=str(setup.slots_dir),
            ranges=[(*of, a, b) for of, a, b in ranges],
            limits=limits,
            stage=setup.staged,
            secrets=setup.sent_secrets,
        )
    )


def consume(data: bytes) -> bytes:
    """Read and write ranges of offsets until the time is up. Spark calls this function for sinks.

    Even after an error, it returns which records were written, so that these are not read again.
    """
    begun = time.monotonic()
    task = RangesPart.decode(data)
    total, ends, error = Summary(), dict[TopicPartition, int](), None
    try:
        reader, process = sink_of(task)
        _write(task, reader, process, total, ends)
    except BaseException as e:  # noqa: BLE001 (errors travel as data)
        error = as_failure(e)
    if task.stage and ends:
        try:
            if error is not None and not isinstance(error, RetriableError):
                raise error  # it is unknown which records of the failed put are staged
            total.messages = process.staged()
        except BaseException as e:  # noqa: BLE001 (as above)
            total, ends, error = Summary(), {}, as_failure(e)
    total.measures = measures_of(task)
    answer = Answer()
    if error is not None:
        answer = failure(error, redact)
        close_sinks()  # records that the reader has prefetched cannot be trusted
    total.offsets = [(*of, offset) for of, offset in ends.items()]
    total.add_time("read", max(0.0, time.monotonic() - begun - sum(total.seconds.values())))
    answer.summary, answer.size = summaries.encode(total), task.limits.size
    return msgspec.msgpack.encode(answer)


def _write(
    task: RangesPart, reader: RangeReader, process: SinkProcess, total: Summary, ends: dict[TopicPartition, int]
) -> None:
    limits, size = task.limits, task.limits.size
    for of, portions, offset in task.puts(reader, lambda: size.put(limits.workers)):
        if portions:
            begun = time.monotonic()
            with task.watched(of):
                summary = process.put(portions, stage=task.stage)
            size.wrote(summary.read, summary.bytes, time.monotonic() - begun)
            total.add(summary)
        ends[of] = offset


def end_file(slots: str | Path) -> Path:
    """Return the path of the file that makes workers on this machine end their parts early, as soon as it exists.

    Workers on other machines do not see it, so a task that stops waits for their parts to end, at most `batch.max.ms`.
    """
    return Path(slots) / "end"


_sinks: dict[str, tuple[RangeReader, SinkProcess, SinkContext]] = {}


def close_sinks() -> None:
    """Close this worker's reader and process; the next batch makes new ones."""
    while _sinks:
        _, (reader, process, setup) = _sinks.popitem()
        for close in (process.close, setup.close_chain, reader.close):
            atexit.unregister(close)
            with suppress(Exception):
                close()


def measures_of(task: RangesPart) -> list[Measure]:
    """Return what this worker's plugins have measured since the last call."""
    found = _sinks.get(task.spec)
    return [] if found is None else found[2].plugin_metrics.changes()


def sink_of(task: RangesPart) -> tuple[RangeReader, SinkProcess]:
    """Return this worker's reader and process, kept from batch to batch."""
    found = _sinks.get(task.spec)
    if found is None:
        setup = context_of(SinkContext, task.spec, task.slots, task.secrets)
        client = f"connector-consumer-{setup.spec.connector}-{setup.spec.task}/{os.getpid()}"
        with ExitStack() as failed:
            failed.callback(setup.close_chain)
            process = setup.writing_process(waited, retries_here=False)
            failed.callback(process.close)
            consumer = RecordConsumer(setup.settings, group=setup.group, client_id=client, hurried=True)
            failed.pop_all()
        reader = RangeReader(consumer, most=min(setup.put_records, _PORTION))
        found = _sinks[task.spec] = reader, process, setup
        atexit.register(setup.close_chain)
        atexit.register(process.close)  # runs before it
        exclude_loaded()
    return found[0], found[1]
