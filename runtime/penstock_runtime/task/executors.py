"""Executors of a task in a pod (`spec.spark.executors`): whether it can use them, and their Spark cluster."""

import logging
import os
from typing import TypeVar

from penstock_model.contracts.pod_layout import SPARK_SECRET_FILE
from penstock_model.resources.executors import Executors
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.spark.cluster import SECRET_VARIABLE
from penstock_runtime.spark.executor_pods import ExecutorPods, cluster_of
from penstock_runtime.spark.executor_support import reason_against_executors
from penstock_runtime.spark.executors_wanted import ExecutorsState

__all__ = ["executor_pods", "with_executors"]

log = logging.getLogger(__name__)

C = TypeVar("C", bound=TaskContext)


def with_executors(context: C, host: str | None) -> tuple[C, ExecutorsState | None]:
    """Return the context of a task in a pod, with its executors in the spec, and their state if it cannot use them.

    Args:
        context: context of the task.
        host: address of the task's pod; None: it is not in a pod, or has no executors.
    """
    executors = context.task_settings.spark.executors
    if executors is None or host is None:
        return context, None
    if reason := context.driver_only or reason_against_executors(context) or _frames_need_driver(context, executors):
        text = f"the task cannot use executors: {reason}"
        log.warning("%s", text)
        return context, ExecutorsState(None, None, text)
    cluster = cluster_of(executors, host, os.environ.get(SECRET_VARIABLE) or SPARK_SECRET_FILE)
    return context.with_cluster(cluster), None


def _frames_need_driver(context: TaskContext, executors: Executors) -> str | None:
    """Return why a sink of DataFrames uses no executors; None: it can.

    Spark also writes the small batches of such a sink, and would wait for an executor.
    """
    if executors.min or not isinstance(context, SinkContext) or not context.takes_frames:
        return None
    return (
        "its sink takes Spark DataFrames, and would wait for an executor for each small batch, too; set "
        "spec.spark.executors.min to 1 or more, so that there is always one"
    )


def executor_pods(context: TaskContext, host: str | None) -> ExecutorPods | None:
    """Return the executors in pods of a context that `with_executors` has returned; None: it has none.

    Raises:
        ConfigError: their secret cannot be read.
    """
    given, cluster = context.task_settings.spark, context.spec.spark_cluster
    if given.executors is None or cluster is None or host is None:
        return None
    return ExecutorPods.at(cluster, given.executors, host, given.idle_timeout.total_seconds())
