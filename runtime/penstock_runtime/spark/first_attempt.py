"""Guard that lets a Spark worker run only the first attempt of a Spark task: a second one might deliver records twice.

`spark.task.maxFailures=1` does not ensure this: if an executor was lost, Spark counts no failure, and runs the task again.
The first attempt may have committed by then, unnoticed.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from penstock.errors import RetriableError

__all__ = ["REFUSED", "in_first_attempt", "in_job"]

T = TypeVar("T")
REFUSED: Final = "the task fences its workers, reads its offsets, and plans the batch again"
"""End of the message for a part that Spark runs again."""


def in_first_attempt(entry: Callable[[bytes], T], payload: bytes) -> T:
    """Call the entry, unless Spark has run this task before.

    Raises:
        RetriableError: Spark has run it before. This is not returned as data, which would end the job successfully: the
            job must fail, so that the driver gives the batch up, fences, and plans again from the offsets in Kafka.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    attempt = 0 if context is None else context.attemptNumber()
    if attempt > 0:
        raise RetriableError(
            f"cannot run a part of a batch again (attempt {attempt + 1}): its first attempt may have delivered records; "
            f"{REFUSED}"
        )
    return entry(payload)


def in_job(group: str | None, entry: Callable[[bytes], T], payload: bytes) -> T:
    """Call the entry as `in_first_attempt` does, and only in the job of this group: a later job must not make rows again.

    Raises:
        RetriableError: another job needs the rows, because kept rows are lost; or as `in_first_attempt`.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is not None and context.getLocalProperty("spark.jobGroup.id") != group:
        raise RetriableError(f"cannot make rows of a batch again: Spark has lost rows that it kept on disk; {REFUSED}")
    return in_first_attempt(entry, payload)
