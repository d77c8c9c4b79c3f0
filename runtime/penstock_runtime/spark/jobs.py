"""A job on Spark's Python workers, and what Spark says of one that failed."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock_runtime.spark.first_attempt import REFUSED, in_first_attempt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Entry", "Job", "cause", "first_line", "has_lost_part", "in_workers", "is_alive"]

_RAISED: Final = re.compile(r"(?:: )?((?:[\w$]+\.)*\w+(?:Error|Exception): .*)")
_OWN: Final = re.compile(r"penstock\.errors\.\w+: ")
"""The class of an error of ours says nothing to people, and its message all."""
Entry = Callable[[bytes], Any]
"""Runs in a worker: a function of a module; the worker imports it by its name."""
Job = Callable[["SparkSession", Any, Sequence[bytes]], list[bytes]]
"""Runs an entry once for each payload, and returns what the driver is told, in order: `in_workers`, `KeptRows.fill`."""
_LOST: Final = ("Python worker exited unexpectedly", "ExecutorLostFailure", "FetchFailed", REFUSED)


def in_workers(session: "SparkSession", entry: Entry, payloads: Sequence[bytes]) -> list[bytes]:
    """The way into Spark's workers, each call in its first attempt, or the job fails; `KeptRows` is the other.

    RDDs, not mapInArrow: parts and results are a few bytes each, and Arrow would bring pyarrow and pandas into every worker
    (60 MB each, half a second of start). Payloads are data, not part of the function: a large function is broadcast, in a
    file that is never removed.
    """
    parts = session.sparkContext.parallelize(payloads, len(payloads))
    return list(parts.map(partial(in_first_attempt, entry)).collect())


def is_alive(session: Any) -> bool:
    """Whether the session runs, and its JVM answers."""
    try:
        return not session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 (no public way to ask the JVM)
    except Exception:  # noqa: BLE001 (no answer is the answer)
        return False


def has_lost_part(error: BaseException) -> bool:
    """Whether a job failed because a worker was lost, or what it had kept; the error may be a plugin's that came of it.

    Only what Spark says counts: a plugin's own message may quote anything.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    found: BaseException | None = error
    seen = set[int]()
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        if isinstance(found, (Py4JError, PySparkException)) and any(lost in _text(found) for lost in _LOST):
            return True
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
    return False


def _text(error: BaseException) -> str:
    """Of an error of Java's, which is asked for it, and may be gone."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 (no answer is the answer)
        return ""


def cause(error: BaseException) -> str:
    """What went wrong in a worker: of a trace of Python's the last line, else the first one that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = next(filter(None, map(_RAISED.match, lines)), None)
    return _OWN.sub("", raised[1] if raised else first_line(error), count=1)[:300]


def first_line(error: BaseException) -> str:
    """The first line of an error that says something."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
