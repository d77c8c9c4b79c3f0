"""What a Spark worker runs, it runs in the first attempt of Spark's task only: a second one might deliver records twice.

`spark.task.maxFailures=1` does not say so: Spark counts no failure, and runs the task again, when its executor was lost. The
first attempt may have committed by then, and nobody has heard of it.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from penstock.errors import RetriableError

__all__ = ["REFUSED", "in_first_attempt", "in_job"]

T = TypeVar("T")
REFUSED: Final = "that is refused. The task fences, reads its offsets, and plans the batch anew"
"""How the message ends for a part that Spark runs again."""


def in_first_attempt(entry: Callable[[bytes], T], payload: bytes) -> T:
    """Call the entry, unless Spark has run this task before.

    Raises:
        RetriableError: it has. Not an answer as data, which would end the job well: the job has to fail, so that the driver
            gives the batch up, fences, and plans again from the offsets in Kafka.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    attempt = 0 if context is None else context.attemptNumber()
    if attempt > 0:
        raise RetriableError(
            f"Spark runs a part of a batch again (attempt {attempt + 1}) whose first attempt may have delivered records: "
            f"{REFUSED}"
        )
    return entry(payload)


def in_job(group: str | None, entry: Callable[[bytes], T], payload: bytes) -> T:
    """As `in_first_attempt`, and only in the job of that group: what it keeps, no later job may make again.

    Raises:
        RetriableError: another job asks, because what was kept is lost; or as `in_first_attempt`.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is not None and context.getLocalProperty("spark.jobGroup.id") != group:
        raise RetriableError(f"Spark has lost rows of a batch that it kept on disk, and asks for them again: {REFUSED}")
    return in_first_attempt(entry, payload)
