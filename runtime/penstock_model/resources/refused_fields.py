"""Rejected values of a Connector's fields, each with the reason and the remedy. Pure."""

from collections.abc import Iterator

from penstock.errors import Problem
from penstock_model.resources.autoscaling import refused_autoscaling
from penstock_model.resources.connector_spec import ConnectorSpec
from penstock_model.resources.executors import refused_executors
from penstock_model.resources.java_options import refused_options
from penstock_model.resources.spark_settings import refused_settings
from penstock_model.resources.task_settings import Spark, SparkStart

__all__ = ["refused_fields"]


def refused_fields(spec: ConnectorSpec) -> Iterator[Problem]:
    """Yield a problem for each value that contradicts another one or breaks a guarantee.

    Both the plan (of `penstock validate`, `penstock run` and the plan pod) and the operator reject a Connector with these.
    """
    if spec.spark.start is SparkStart.EAGER and spec.spark.idle_timeout != Spark().idle_timeout:
        yield Problem(
            "spec.spark.idleTimeout", "has no effect with start: Eager, because Spark keeps running; remove one of them"
        )
    if not spec.spark.idle_timeout:
        message = "Spark would stop after each batch; use 1m or more, or start: Eager, which keeps Spark running"
        yield Problem("spec.spark.idleTimeout", message)
    yield from refused_settings(spec.spark.conf, in_pods=spec.spark.executors is not None)
    if spec.spark.executors is not None:
        yield from refused_executors(spec.spark.executors)
    if spec.autoscaling is not None:
        yield from refused_autoscaling(spec.autoscaling)
    if spec.java is not None:
        yield from refused_options(spec.java.options)
