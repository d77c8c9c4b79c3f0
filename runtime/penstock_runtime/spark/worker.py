"""Common parts of Spark's Python workers: their context, kept until they exit, and the answers that they send.

A worker gets everything in its payload: the task spec, the incarnation, the parts of the plan. It returns errors as data
(kind, type, message, trace), not as pickled exceptions, because their classes may exist only in a plugin. `backlog`
decides when workers deliver instead of the driver.
"""

import atexit
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

import msgspec

from penstock.errors import ConfigError, ConnectError, RetriableError, Superseded
from penstock_kafka.errors import Fenced, TransactionAborted, TransactionExpired
from penstock_model.connect.variables import Secret
from penstock_model.contracts.pod_layout import EXECUTOR_VARIABLE, POD_NAME_VARIABLE
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime import logs
from penstock_runtime.pipeline import summary as summaries
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.pipeline.error_tolerance import printable, sentence
from penstock_runtime.pipeline.gc_tuning import tune_gc
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.process.stdio_capture import last_lines, redirect_to_log

__all__ = [
    "Answer",
    "Part",
    "context_of",
    "exclude_loaded",
    "failure",
    "part",
    "redact",
    "wait_for",
    "waited",
    "waits_until",
]

C = TypeVar("C", bound=TaskContext)


class Answer(msgspec.Struct):
    summary: bytes | None = None
    kind: str = ""
    message: str = ""
    trace: str = ""
    retry_after: float | None = None
    size: PutSize | None = None
    holder: tuple[str, int] | None = None


_KINDS: Final[dict[str, type[ConnectError]]] = {
    "superseded": Superseded,
    "fenced": Fenced,
    "expired": TransactionExpired,
    "aborted": TransactionAborted,
    "retriable": RetriableError,
    "config": ConfigError,
    "fatal": ConnectError,
}


class Part(NamedTuple):
    """Result of a worker's part of a batch.

    Attributes:
        summary: summary of the records that it has processed.
        error: error that ended the part early.
        size: size of puts, as the worker has learned it; only from a sink's workers.
        holder: name and slot of the worker (`source.worker_slots`); only from a source's workers that have delivered.
    """

    summary: Summary
    error: ConnectError | None
    size: PutSize | None
    holder: tuple[str, int] | None = None


def part(result: bytes) -> Part:
    """Decode the result of a worker."""
    answer = msgspec.msgpack.decode(result, type=Answer)
    summary = Summary() if answer.summary is None else summaries.decode(answer.summary)
    if not answer.kind:
        return Part(summary, None, answer.size, answer.holder)
    error = _KINDS[answer.kind](answer.message)
    if isinstance(error, RetriableError):
        error.retry_after = answer.retry_after
    error.add_note(answer.trace)
    return Part(summary, error, answer.size)


def failure(error: Exception, redact: Callable[[str], str] = str) -> Answer:
    """Return an error as data, without secrets."""
    kind = next((k for k, cls in _KINDS.items() if isinstance(error, cls)), "fatal")
    message = sentence(error)
    if EXECUTOR_VARIABLE in os.environ:
        message = f"{message} (in executor {os.environ.get(POD_NAME_VARIABLE, '')})"
    trace = "".join(traceback.format_exception(error))
    return Answer(
        kind=kind,
        message=printable(redact(message)),
        trace=printable(redact(trace)),
        retry_after=getattr(error, "retry_after", None),
    )


class _Waiting:
    """Time for which this worker retries a record whose plugin asks to wait; after it, the driver waits, without a limit."""

    until = float("inf")
    end: Path | None = None


_waiting: Final = _Waiting()


def wait_for(seconds: float, end: Path | None = None) -> None:
    """Allow this worker to wait for this many seconds from now, but no longer once the end file exists."""
    _waiting.until = time.monotonic() + seconds
    _waiting.end = end


def waits_until() -> float:
    """Return the monotonic time until which this worker may wait."""
    return _waiting.until


def waited() -> bool:
    """Return whether this worker must not wait any longer: the time is up, or the end file exists."""
    return time.monotonic() >= _waiting.until or (_waiting.end is not None and _waiting.end.exists())


_redactors: list[Callable[[str], str]] = []


def redact(text: str) -> str:
    """Return the text without this worker's secrets."""
    for without_secrets in _redactors:
        text = without_secrets(text)
    return text


def context_of(kind: type[C], spec: str, slots: str, secrets: Mapping[str, str] = MappingProxyType({})) -> C:
    """Return this worker's context; from then on its log, its errors and its printed output contain no secrets.

    Args:
        kind: class of the context.
        spec: task spec, as JSON.
        slots: folder of the incarnation on the driver's machine.
        secrets: `TaskContext.sent_secrets`.
    """
    known = [Secret(reference, value) for reference, value in secrets.items()]
    setup = kind.of(TaskSpec.from_json(spec), slots_dir=Path(slots), known=known)
    _redactors[:] = [setup.redactor]
    context = {"connector": setup.spec.connector, "task": setup.spec.task, "worker": os.getpid()}
    logs.configure(stream=sys.__stderr__, context=lambda: context, redact=setup.redactor)
    redirect_to_log(setup.redactor)
    atexit.register(last_lines)
    return setup


@cache
def exclude_loaded() -> None:
    """Exclude what this worker has loaded from garbage collection, once: Spark's full collection after each job takes 10 ms.

    It is not repeated, because that would also exclude remains of earlier contexts.
    """
    tune_gc()
