"""Fields of a Connector that can be read but are refused: each with what there is instead. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.errors import Problem
from penstock_model.contracts.task_spec import SparkStart
from penstock_model.resources.connector_parts import Spark
from penstock_model.resources.connector_spec import ConnectorSpec
from penstock_model.resources.java_options import refused_options
from penstock_model.resources.spark_settings import refused_settings

__all__ = ["UNSUPPORTED", "refused_fields"]

UNSUPPORTED: Final[Mapping[str, str]] = {
    "offsets": "offsets are not listed or altered by a field in this release; remove it, and use the annotations "
    "penstock.dev/list-offsets, penstock.dev/alter-offsets and penstock.dev/reset-offsets",
}
"""What there is instead, by field of the spec."""


def refused_fields(spec: ConnectorSpec) -> Iterator[Problem]:
    """A problem for each field that is set and not supported, or beside what excludes it.

    Settings of Spark that a guarantee forbids are among them.

    Both the plan (of `penstock validate`, `penstock run` and the plan pod) and the operator refuse a Connector for these.
    """
    for name, field in type(spec).model_fields.items():
        # Not by what is set: a job's request carries every field, with its default where the user wrote none.
        if (field.alias or name) in UNSUPPORTED and getattr(spec, name) != field.default:
            yield Problem(f"spec.{field.alias or name}", UNSUPPORTED[field.alias or name])
    if spec.spark.executors:
        yield Problem("spec.spark.executors", "Spark runs in the task's own pod in this release; remove it, or write 0")
    if spec.spark.start is SparkStart.EAGER and spec.spark.idle_timeout != Spark().idle_timeout:
        yield Problem("spec.spark.idleTimeout", "with start: Eager Spark stays; remove one of the two")
    if not spec.spark.idle_timeout:
        message = "Spark would end after each batch; write 1m or more, or start: Eager, with which it stays"
        yield Problem("spec.spark.idleTimeout", message)
    yield from refused_settings(spec.spark.conf)
    if spec.java is not None:
        yield from refused_options(spec.java.options)
