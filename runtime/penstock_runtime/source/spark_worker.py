"""Spark's Python worker of a source: runs the same process as the driver, kept from batch to batch."""

import atexit
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any, Final

import msgspec

from penstock.offsets import OffsetUpdates, SourcePartition
from penstock.source import InputPartition
from penstock_runtime.fencing.incarnation import TaskFence
from penstock_runtime.kafka.status_topic import Incarnation
from penstock_runtime.pipeline import summary as summaries
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.source_process import SourceProcess, Work
from penstock_runtime.source.worker_slots import Holder, Offer
from penstock_runtime.spark.worker import Answer, context_of, exclude_loaded, failure, redact, wait_for, waited

__all__ = ["deliver_on_worker", "payload"]

_SOURCE_WAITS: Final = 30.0
"""Seconds for which a worker retries a record whose plugin asks to wait."""


class _Payload(msgspec.Struct):
    spec: str
    slots: str
    incarnation: Incarnation | None
    offer: Offer | None
    work: list[
        tuple[dict[str, Any], list[tuple[dict[str, Any], dict[str, Any] | None]], list[tuple[bytes, bytes | None]]]
    ]
    secrets: Mapping[str, str] = {}


def payload(setup: SourceContext, incarnation: Incarnation | None, work: Sequence[Work], offer: Offer | None) -> bytes:
    """Return a worker's payload for these parts. Without an incarnation and an offer, the worker uses no transaction."""
    return msgspec.msgpack.encode(
        _Payload(
            spec=setup.spec_text,
            slots=str(setup.slots_dir),
            incarnation=incarnation,
            offer=offer,
            secrets=setup.sent_secrets,
            work=[(dict(part.data), _plain(part.offsets), list(entries)) for part, entries in work],
        )
    )


def _plain(offsets: OffsetUpdates) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    return [(dict(p), None if o is None else dict(o)) for p, o in offsets.items()]


def deliver_on_worker(data: bytes) -> bytes:
    """Deliver one part of a batch. Spark calls this function."""
    try:
        task = msgspec.msgpack.decode(data, type=_Payload)
        process, setup = _process(task)
        holder = None
        if task.incarnation is not None:
            assert task.offer is not None  # otherwise it would deliver at least once
            holder = _holder(task.offer)
            # One worker may get several parts of a batch, and the driver does not know which it delivered last.
            process.write_as(setup.ids.slot(holder[1]), kept=holder[0] in task.offer.held)
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
        return msgspec.msgpack.encode(Answer(summary=summaries.encode(summary), holder=holder))
    except BaseException as e:  # noqa: BLE001 (errors travel as data)
        return msgspec.msgpack.encode(failure(as_failure(e), redact))


_processes: dict[str, tuple[SourceProcess, SourceContext]] = {}


def _process(task: _Payload) -> tuple[SourceProcess, SourceContext]:
    """Return this process's part of the task, created once and kept until the process exits."""
    found = _processes.get(task.spec)
    if found is None:
        setup = context_of(SourceContext, task.spec, task.slots, task.secrets)
        transactional_id = None if task.offer is None else setup.ids.slot(_holder(task.offer)[1])
        with ExitStack() as failed:
            failed.callback(setup.close_chain)
            process = setup.source_process(transactional_id, waited)
            failed.pop_all()
        found = _processes[task.spec] = process, setup
        atexit.register(setup.close_chain)
        atexit.register(process.close)  # runs before it
        exclude_loaded()
    return found


def _holder(offer: Offer) -> Holder:
    """Return the name of this worker, and the slot that it holds or takes."""
    name = _name()
    return name, offer.held.get(name, offer.free)


@cache
def _name() -> str:
    """Return the name of this worker. Call this only after the fork, so that each worker gets a different one."""
    return uuid.uuid4().hex
