"""What runs in Spark's Python workers: the same processes as in the driver, kept from batch to batch.

A worker gets everything in its payload: the task spec, the incarnation, the parts of the plan. It returns errors as data
(kind, type, message, trace), not as pickled exceptions, because their classes may exist in a plugin only.
"""

import atexit
import fcntl
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeVar

import msgspec

from penstock.errors import ConfigError, ConnectError, RetriableError, Superseded
from penstock.offsets import OffsetUpdates, SourcePartition
from penstock.sink import TopicPartition
from penstock.source import InputPartition
from penstock_kafka.errors import Fenced, TransactionAborted, TransactionExpired
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime import logs
from penstock_runtime.fencing.incarnation import TaskFence
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.kafka.status_topic import Incarnation
from penstock_runtime.pipeline import summary as summaries
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.pipeline.record_errors import printable
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.sink.offset_ranges import RangeReader, puts
from penstock_runtime.sink.process import SinkProcess
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.process import SourceProcess, Work
from penstock_runtime.task.stdio_capture import become_log_lines, last_lines

__all__ = [
    "Part",
    "RangeLimits",
    "consume",
    "deliver_on_worker",
    "end_file",
    "part",
    "payload",
    "range_payload",
    "unwrap",
]

log = logging.getLogger(__name__)
C = TypeVar("C", bound=TaskContext)


class _Payload(msgspec.Struct):
    spec: str
    slots: str
    incarnation: Incarnation | None
    work: list[
        tuple[dict[str, Any], list[tuple[dict[str, Any], dict[str, Any] | None]], list[tuple[bytes, bytes | None]]]
    ]


class _Ranges(msgspec.Struct):
    spec: str
    slots: str
    ranges: list[tuple[str, int, int, int]]
    limits: "RangeLimits"
    stage: bool


class RangeLimits(msgspec.Struct):
    """When a worker's part of a batch ends, wherever it is.

    Attributes:
        size: of puts, as the driver knows it.
        workers: how many there are.
        room: bytes that may be read before the part ends.
        seconds: after them it ends.
        put_seconds: a put that takes longer counts as lost, and its process ends.
    """

    size: PutSize
    workers: int
    room: int
    seconds: float
    put_seconds: float


class _Answer(msgspec.Struct):
    summary: bytes | None = None
    kind: str = ""
    message: str = ""
    trace: str = ""
    retry_after: float | None = None
    size: PutSize | None = None


_KINDS: Final[dict[str, type[ConnectError]]] = {
    "superseded": Superseded, "fenced": Fenced, "expired": TransactionExpired, "aborted": TransactionAborted,
    "retriable": RetriableError, "config": ConfigError, "fatal": ConnectError,
}  # fmt: skip


def payload(setup: SourceContext, incarnation: Incarnation | None, work: Sequence[Work]) -> bytes:
    """What a worker needs to deliver these parts; without an incarnation it writes in no transaction."""
    return msgspec.msgpack.encode(
        _Payload(
            spec=setup.spec_text,
            slots=str(setup.slots_dir),
            incarnation=incarnation,
            work=[(dict(part.data), _plain(part.offsets), list(entries)) for part, entries in work],
        )
    )


def _plain(offsets: OffsetUpdates) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    return [(dict(p), None if o is None else dict(o)) for p, o in offsets.items()]


def unwrap(result: bytes) -> Summary:
    """The summary that a worker sent.

    Raises:
        ConnectError: what the worker met, as the driver would have.
    """
    done = part(result)
    if done.error is not None:
        raise done.error
    return done.summary


class Part(NamedTuple):
    """What a worker has done of its part of a batch.

    Attributes:
        summary: of what it has done.
        error: what ended that before its end.
        size: of puts, as it has learnt it; of a sink's workers.
    """

    summary: Summary
    error: ConnectError | None
    size: PutSize | None


def part(result: bytes) -> Part:
    """What a worker sent."""
    answer = msgspec.msgpack.decode(result, type=_Answer)
    summary = Summary() if answer.summary is None else summaries.decode(answer.summary)
    if not answer.kind:
        return Part(summary, None, answer.size)
    error = _KINDS[answer.kind](answer.message)
    if isinstance(error, RetriableError):
        error.retry_after = answer.retry_after
    error.add_note(answer.trace)
    return Part(summary, error, answer.size)


def deliver_on_worker(data: bytes) -> bytes:
    """Deliver one part of a batch; the entry that Spark calls."""
    try:
        task = msgspec.msgpack.decode(data, type=_Payload)
        process, setup = _process(task)
        if task.incarnation is not None:
            fence = TaskFence(
                setup.settings, setup.shared, setup.status_topic, setup.ids, task.incarnation, known=setup.spec.status
            )
            try:
                process.take_over(fence)
            finally:
                fence.close()
        work = [
            (InputPartition(part, {SourcePartition(p): o for p, o in offsets}), entries)
            for part, offsets, entries in task.work
        ]
        _wait_for(min(_SOURCE_WAITS, setup.batch_timeout / 2))
        summary = process.deliver_batch(work, where=f"source {setup.spec.connector}")
        return msgspec.msgpack.encode(_Answer(summary=summaries.encode(summary)))
    except Exception as e:  # noqa: BLE001 (errors travel as data)
        return msgspec.msgpack.encode(failure(e, _redact))


def range_payload(setup: SinkContext, ranges: Sequence[tuple[TopicPartition, int, int]], limits: RangeLimits) -> bytes:
    """What a worker needs to read and write these ranges of offsets."""
    return msgspec.msgpack.encode(
        _Ranges(
            spec=setup.spec_text,
            slots=str(setup.slots_dir),
            ranges=[(*of, a, b) for of, a, b in ranges],
            limits=limits,
            stage=setup.staged,
        )
    )


def consume(data: bytes) -> bytes:
    """Read and write ranges of offsets until the time is over; the entry that Spark calls for sinks.

    It returns what was written also when an error ends it, so that these records are not read again.
    """
    begun = time.monotonic()
    task = msgspec.msgpack.decode(data, type=_Ranges)
    total, ends, error = Summary(), dict[TopicPartition, int](), None
    try:
        reader, process = _sink(task)
        _write(task, reader, process, total, ends)
    except Exception as e:  # noqa: BLE001 (errors travel as data)
        error = e
    if task.stage and ends:
        try:
            if error is not None and not isinstance(error, RetriableError):
                raise error  # who knows what is staged of the put that failed
            total.messages = process.staged()
        except Exception as e:  # noqa: BLE001 (as above)
            total, ends, error = Summary(), {}, e
    answer = _Answer()
    if error is not None:
        answer = failure(error, _redact)
        _let_go()  # what the reader had fetched is not to be trusted
    total.offsets = [(*of, offset) for of, offset in ends.items()]
    total.add_time("read", max(0.0, time.monotonic() - begun - sum(total.seconds.values())))
    answer.summary, answer.size = summaries.encode(total), task.limits.size
    return msgspec.msgpack.encode(answer)


def _write(
    task: _Ranges, reader: RangeReader, process: SinkProcess, total: Summary, ends: dict[TopicPartition, int]
) -> None:
    limits = task.limits
    _wait_for(limits.seconds, end_file(task.slots))
    ranges = [(TopicPartition(topic, number), start, end) for topic, number, start, end in task.ranges]
    size = limits.size
    for of, portions, offset in puts(
        ranges, reader.read, lambda: size.put(limits.workers), until=_waiting.until, room=limits.room, ending=_waited
    ):
        if portions:
            begun = time.monotonic()
            with _watched(limits.put_seconds, of):
                summary = process.put(portions, stage=task.stage)
            size.wrote(summary.read, summary.bytes, time.monotonic() - begun)
            total.add(summary)
        ends[of] = offset


@contextmanager
def _watched(seconds: float, of: TopicPartition) -> Iterator[None]:
    """End this process when it takes longer: the driver then counts it as lost, and begins again behind what it knows."""

    def end() -> None:
        log.error(
            "Writing records of %s-%d has taken longer than max.poll.interval.ms (%g s): this worker ends", *of, seconds
        )
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def end_file(slots: str | Path) -> Path:
    """While it exists, workers end their parts of a sink's batch as if their time were over."""
    return Path(slots) / "end"


class _Waiting:
    """How long a record that asks to wait is tried again here; after that the driver waits, which has all day."""

    until = float("inf")
    end: Path | None = None


_waiting: Final = _Waiting()


def _wait_for(seconds: float, end: Path | None = None) -> None:
    _waiting.until = time.monotonic() + seconds
    _waiting.end = end


def _waited() -> bool:
    return time.monotonic() >= _waiting.until or (_waiting.end is not None and _waiting.end.exists())


def failure(error: Exception, redact: Callable[[str], str] = str) -> _Answer:
    """An error as data, without secrets."""
    kind = next((k for k, cls in _KINDS.items() if isinstance(error, cls)), "fatal")
    message = str(error) if isinstance(error, ConnectError) else f"{type(error).__name__}: {error}"
    trace = "".join(traceback.format_exception(error))
    return _Answer(
        kind=kind, message=printable(redact(message)), trace=printable(redact(trace)),
        retry_after=getattr(error, "retry_after", None),
    )  # fmt: skip


_redactors: list[Callable[[str], str]] = []


def _redact(text: str) -> str:
    for redact in _redactors:
        text = redact(text)
    return text


def _context(kind: type[C], spec: str, slots: str) -> C:
    """This worker's context; from here on its log, its errors and what Python code prints are without its secrets."""
    setup = kind.of(TaskSpec.from_json(spec), slots_dir=Path(slots))
    _redactors[:] = [setup.redactor]
    context = {"connector": setup.spec.connector, "task": setup.spec.task, "worker": os.getpid()}
    logs.configure(stream=sys.__stderr__, context=lambda: context, redact=setup.redactor)
    become_log_lines(setup.redactor)
    atexit.register(last_lines)
    return setup


_SOURCE_WAITS: Final = 30.0
"""Seconds for which a source's record that asks to wait is tried again here."""
_PORTION: Final = 1_000
"""Records that are converted together: as many as stay in the processor's cache."""

_sinks: dict[str, tuple[RangeReader, SinkProcess]] = {}


def _let_go() -> None:
    """Close what this worker reads and writes with; the next batch makes it anew."""
    while _sinks:
        _, (reader, process) = _sinks.popitem()
        atexit.unregister(process.close)
        for close in (process.close, reader.close):
            with suppress(Exception):
                close()


def _sink(task: _Ranges) -> tuple[RangeReader, SinkProcess]:
    found = _sinks.get(task.spec)
    if found is None:
        setup = _context(SinkContext, task.spec, task.slots)
        client = f"connector-consumer-{setup.spec.connector}-{setup.spec.task}/{os.getpid()}"
        consumer = RecordConsumer(setup.settings, group=setup.group, client_id=client, hurried=True)
        found = _sinks[task.spec] = (
            RangeReader(consumer, most=min(setup.put_records, _PORTION)),
            setup.writing_process(_waited, retries_here=False),
        )
        atexit.register(found[1].close)
    return found


_processes: dict[str, tuple[SourceProcess, SourceContext]] = {}
_slot: dict[str, IO[str]] = {}


def _process(task: _Payload) -> tuple[SourceProcess, SourceContext]:
    """This process's end of the task: made once, kept for its life."""
    found = _processes.get(task.spec)
    if found is None:
        setup = _context(SourceContext, task.spec, task.slots)
        transactional_id = None
        if task.incarnation is not None:
            transactional_id = setup.ids.slot(_take_slot(task.slots, task.incarnation.slots))
        found = _processes[task.spec] = (setup.source_process(transactional_id, _waited), setup)
        atexit.register(found[0].close)
    return found


def _take_slot(folder: str, slots: int) -> int:
    """A number from 1 to `slots` that no other living process of this task holds, until this process ends."""
    for number in range(1, slots + 1):
        file = (Path(folder) / f"slot-{number}").open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        file.write(str(os.getpid()))
        file.flush()
        _slot[folder] = file
        return number
    raise RetriableError(f"All {slots} slots for transactional producers are taken by living workers")
