"""Jobs on Spark's Python workers, and the causes of failed ones."""

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
"""Class of Penstock's errors in a trace: users do not need it, because the message is complete."""
Entry = Callable[[bytes], Any]
"""Function of a module that runs in a worker; the worker imports it by its name."""
Job = Callable[["SparkSession", Any, Sequence[bytes]], list[bytes]]
"""Function that runs an entry once for each payload, and returns the results in order: `in_workers`, `KeptRows.fill`."""
_LOST: Final = ("Python worker exited unexpectedly", "ExecutorLostFailure", "FetchFailed", REFUSED)


def in_workers(session: "SparkSession", entry: Entry, payloads: Sequence[bytes]) -> list[bytes]:
    """Run the entry in Spark's workers. If a call needs a second attempt, the job fails. See also `KeptRows`.

    It uses RDDs instead of mapInArrow: parts and results are a few bytes each, and Arrow would bring pyarrow and pandas
    into every worker (60 MB each, half a second of start). Payloads are data, not part of the function: Spark broadcasts
    a large function in a file that is never removed.
    """
    parts = session.sparkContext.parallelize(payloads, len(payloads))
    return list(parts.map(partial(in_first_attempt, entry)).collect())


def is_alive(session: Any) -> bool:
    """Return whether the session runs and its JVM answers."""
    try:
        return not session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 (no public way to ask the JVM)
    except Exception:  # noqa: BLE001 (no answer is the answer)
        return False


def has_lost_part(error: BaseException) -> bool:
    """Return whether a job failed because a worker or rows that it kept were lost; a plugin may have wrapped the error.

    Only Spark's own messages count: a plugin's message may quote anything.
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
    """Return the message of an error, which may be requested from Java; empty if Java is gone."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 (no answer is the answer)
        return ""


def cause(error: BaseException) -> str:
    """Return the cause of an error in a worker: the last line of a Python trace, else the first line that is not empty."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = next(filter(None, map(_RAISED.match, lines)), None)
    return _OWN.sub("", raised[1] if raised else first_line(error), count=1)[:300]


def first_line(error: BaseException) -> str:
    """Return the first line of an error that is not empty."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
