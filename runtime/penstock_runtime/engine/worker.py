"""What runs in Spark's Python workers: the same processes as in the driver, kept from batch to batch.

A worker is told everything by its payload: the task spec, the incarnation, the parts of the plan. Errors leave as data
(kind, type, message, trace), never as pickled exceptions: their classes may live in a plugin only.
"""

import atexit
import fcntl
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from penstock.errors import ConnectError, RetriableError, Superseded
from penstock.offsets import OffsetUpdates, SourcePartition
from penstock.sink import TopicPartition
from penstock.source import InputPartition
from penstock.taskspec import TaskSpec
from penstock_runtime import logs
from penstock_runtime.engine import summary as summaries
from penstock_runtime.engine.incarnation import Life
from penstock_runtime.engine.ranges import RangeReader, gathered
from penstock_runtime.engine.setup import Setup
from penstock_runtime.engine.sink_process import SinkProcess
from penstock_runtime.engine.source_process import SourceProcess, Work
from penstock_runtime.engine.summary import Summary
from penstock_runtime.engine.tolerance import printable
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.kafka.errors import Fenced, TransactionAborted, TransactionExpired
from penstock_runtime.kafka.status_topic import Incarnation
from penstock_runtime.prints import become_log_lines, last_lines

__all__ = ["consume", "deliver", "payload", "range_payload", "unwrap"]


class _Payload(msgspec.Struct):
    spec: str
    slots: str
    life: tuple[int, int, str, int, int, str] | None
    work: list[
        tuple[dict[str, Any], list[tuple[dict[str, Any], dict[str, Any] | None]], list[tuple[bytes, bytes | None]]]
    ]


class _Ranges(msgspec.Struct):
    spec: str
    slots: str
    ranges: list[tuple[str, int, int, int]]
    put_records: int
    stage: bool


class _Answer(msgspec.Struct):
    summary: bytes | None = None
    kind: str = ""
    message: str = ""
    trace: str = ""


_KINDS: Final[dict[str, type[ConnectError]]] = {
    "superseded": Superseded, "fenced": Fenced, "expired": TransactionExpired, "aborted": TransactionAborted,
    "retriable": RetriableError, "fatal": ConnectError,
}  # fmt: skip


def payload(setup: Setup, life: Life | None, work: Sequence[Work]) -> bytes:
    """What a worker needs to deliver these parts."""
    current = None if life is None else life.current
    return msgspec.msgpack.encode(
        _Payload(
            spec=setup.spec_text,
            slots=str(setup.slots_dir),
            life=None if current is None else astuple(current),
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
    answer = msgspec.msgpack.decode(result, type=_Answer)
    if answer.summary is not None:
        return summaries.decode(answer.summary)
    error = _KINDS[answer.kind](answer.message)
    error.add_note(answer.trace)
    raise error


def deliver(data: bytes) -> bytes:
    """Deliver one part of a batch; the entry that Spark calls."""
    try:
        task = msgspec.msgpack.decode(data, type=_Payload)
        process, setup = _process(task)
        if task.life is not None:
            process.take_over(
                Life(setup.settings, setup.shared, setup.status_topic, setup.ids, Incarnation(*task.life))
            )
        work = [
            (InputPartition(part, {SourcePartition(p): o for p, o in offsets}), entries)
            for part, offsets, entries in task.work
        ]
        summary = process.deliver(work, where=f"source {setup.spec.connector}")
        return msgspec.msgpack.encode(_Answer(summary=summaries.encode(summary)))
    except Exception as e:  # noqa: BLE001 (errors travel as data)
        return msgspec.msgpack.encode(failure(e, _redact))


def range_payload(setup: Setup, ranges: Sequence[tuple[TopicPartition, int, int]]) -> bytes:
    """What a worker needs to read and write these ranges of offsets."""
    return msgspec.msgpack.encode(
        _Ranges(
            spec=setup.spec_text,
            slots=str(setup.slots_dir),
            ranges=[(*of, a, b) for of, a, b in ranges],
            put_records=setup.put_records,
            stage=setup.staged,
        )
    )


def consume(data: bytes) -> bytes:
    """Read and write ranges of offsets; the entry that Spark calls for sinks."""
    try:
        task = msgspec.msgpack.decode(data, type=_Ranges)
        reader, process = _sink(task)
        total = Summary()
        for topic, partition, start, end in task.ranges:
            for portions in gathered(reader.read(TopicPartition(topic, partition), start, end), task.put_records):
                total.add(process.put(portions, stage=task.stage))
        total.offsets = []  # the driver knows the ends
        if task.stage:
            total.messages = process.staged()
        return msgspec.msgpack.encode(_Answer(summary=summaries.encode(total)))
    except Exception as e:  # noqa: BLE001 (errors travel as data)
        _let_go()  # what the reader had fetched is not to be trusted
        return msgspec.msgpack.encode(failure(e, _redact))


def failure(error: Exception, redact: Callable[[str], str] = str) -> _Answer:
    """An error as data, without secrets."""
    kind = next((k for k, cls in _KINDS.items() if isinstance(error, cls)), "fatal")
    message = str(error) if isinstance(error, ConnectError) else f"{type(error).__name__}: {error}"
    trace = "".join(traceback.format_exception(error))
    return _Answer(kind=kind, message=printable(redact(message)), trace=printable(redact(trace)))


_redactors: list[Callable[[str], str]] = []


def _redact(text: str) -> str:
    for redact in _redactors:
        text = redact(text)
    return text


def _setup(spec: str, slots: str) -> Setup:
    """This worker's setup; from here on its log, its errors and what Python code prints are without the setup's secrets."""
    setup = Setup.of(TaskSpec.from_json(spec), slots_dir=Path(slots))
    _redactors[:] = [setup.redactor]
    context = {"connector": setup.spec.connector, "task": setup.spec.task, "worker": os.getpid()}
    logs.configure(stream=sys.__stderr__, context=lambda: context, redact=setup.redactor)
    become_log_lines(setup.redactor)
    atexit.register(last_lines)
    return setup


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
        setup = _setup(task.spec, task.slots)
        client = f"connector-consumer-{setup.spec.connector}-{setup.spec.task}/{os.getpid()}"
        consumer = RecordConsumer(setup.settings, group=setup.group, client_id=client, hurried=True)
        found = _sinks[task.spec] = (
            RangeReader(consumer, most=min(setup.put_records, _PORTION)),
            setup.writing_process(lambda: False, patient=False),
        )
        atexit.register(found[1].close)
    return found


_processes: dict[str, tuple[SourceProcess, Setup]] = {}
_slot: dict[str, IO[str]] = {}


def _process(task: _Payload) -> tuple[SourceProcess, Setup]:
    """This process's end of the task: made once, kept for its life."""
    found = _processes.get(task.spec)
    if found is None:
        setup = _setup(task.spec, task.slots)
        transactional_id = None
        if task.life is not None:
            transactional_id = setup.ids.slot(_take_slot(task.slots, task.life[3]))
        found = _processes[task.spec] = (setup.source_process(transactional_id, lambda: False), setup)
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
