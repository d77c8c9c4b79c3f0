"""What a Spark worker runs, it runs in the first attempt of Spark's task only: a second one might deliver records twice.

`spark.task.maxFailures=1` does not say so: Spark counts no failure, and runs the task again, when its executor was lost. The
first attempt may have committed by then, and nobody has heard of it.
"""

from collections.abc import Callable

from penstock.errors import RetriableError

__all__ = ["in_first_attempt"]


def in_first_attempt(entry: Callable[[bytes], bytes], payload: bytes) -> bytes:
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
            "that is refused. The task fences, reads its offsets, and plans the batch anew"
        )
    return entry(payload)
