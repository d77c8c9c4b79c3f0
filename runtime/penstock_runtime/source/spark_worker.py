"""What a source does in Spark's Python workers: the same process as in the driver's, kept from batch to batch."""

import atexit
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from penstock.errors import RetriableError
from penstock.offsets import OffsetUpdates, SourcePartition
from penstock.source import InputPartition
from penstock_runtime.fencing.incarnation import TaskFence
from penstock_runtime.kafka.status_topic import Incarnation
from penstock_runtime.pipeline import summary as summaries
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.process import SourceProcess, Work
from penstock_runtime.spark.worker import Answer, context_of, failure, redact, wait_for, waited

__all__ = ["deliver_on_worker", "payload"]

_SOURCE_WAITS: Final = 30.0
"""Seconds for which a source's record that asks to wait is tried again here."""


class _Payload(msgspec.Struct):
    spec: str
    slots: str
    incarnation: Incarnation | None
    work: list[
        tuple[dict[str, Any], list[tuple[dict[str, Any], dict[str, Any] | None]], list[tuple[bytes, bytes | None]]]
    ]


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
        wait_for(min(_SOURCE_WAITS, setup.batch_timeout / 2))
        summary = process.deliver_batch(work, where=f"source {setup.spec.connector}")
        summary.measures = setup.plugin_metrics.changes()
        return msgspec.msgpack.encode(Answer(summary=summaries.encode(summary)))
    except BaseException as e:  # noqa: BLE001 (errors travel as data)
        return msgspec.msgpack.encode(failure(as_failure(e), redact))


_processes: dict[str, tuple[SourceProcess, SourceContext]] = {}
_slot: dict[str, IO[str]] = {}


def _process(task: _Payload) -> tuple[SourceProcess, SourceContext]:
    """This process's end of the task: made once, kept for its life."""
    found = _processes.get(task.spec)
    if found is None:
        setup = context_of(SourceContext, task.spec, task.slots)
        transactional_id = None
        if task.incarnation is not None:
            transactional_id = setup.ids.slot(_take_slot(task.slots, task.incarnation.slots))
        found = _processes[task.spec] = (setup.source_process(transactional_id, waited), setup)
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
