"""Executors of a Connector's tasks (`spec.spark.executors`), and sizes that follow from their resources. Pure."""

import math
from collections.abc import Iterator
from typing import Final

from pydantic import ConfigDict, Field

from penstock.errors import Problem
from penstock_model.resources.base import Part
from penstock_model.resources.constraints import rule, ruled
from penstock_model.resources.quantity import Quantities, quantity

__all__ = ["ExecutorResources", "Executors", "refused_executors"]

_MEMORY: Final = "2Gi"
_CPU: Final = "1"
_MEMORY_OF_JVMS: Final = 768 << 20
"""Bytes for Spark's Worker and the executor's JVM."""
_MEMORY_OF_CORE: Final = 256 << 20
"""Bytes for each Python worker."""
_MOST_PARTS: Final = 128
"""Maximum number of parts delivered in parallel: each has two transactional ids, which every start fences."""
_PLACE: Final = "spec.spark.executors"


class ExecutorResources(Part):
    """Resources of an executor's container, as in Kubernetes."""

    requests: Quantities = Field(
        {},
        examples=[{"cpu": "2", "memory": "4Gi"}],
        description="The container's requests. Without cpu: 1, or the CPU limit if it is lower. Without memory: the limit.",
    )
    limits: Quantities = Field(
        {}, examples=[{"memory": "4Gi"}], description=f"The container's limits. Without memory: {_MEMORY}."
    )

    @property
    def all_requests(self) -> dict[str, str]:
        """Requests, with the default for CPU."""
        limit = self.limits.get("cpu", _CPU)
        return {"cpu": limit if quantity(limit) < quantity(_CPU) else _CPU, **self.requests}

    @property
    def all_limits(self) -> dict[str, str]:
        """Limits, with the default for memory, so that memory is always limited."""
        return {"memory": _MEMORY, **self.limits}

    @property
    def cores(self) -> int:
        """Number of parts of a batch that an executor delivers in parallel: its CPU limit, else its request, rounded up."""
        return max(1, math.ceil(quantity(self.limits.get("cpu") or self.all_requests["cpu"])))

    @property
    def memory(self) -> int:
        """Memory limit of an executor's container, in bytes."""
        return int(quantity(self.all_limits["memory"]))


class Executors(Part):
    """Executors of each task, in separate pods, which deliver backlogs."""

    model_config = ConfigDict(
        json_schema_extra=ruled(
            rule("self.min <= self.max", "must not be greater than max; lower it, or raise max", path=".min")
        )
    )

    min: int = Field(
        0,
        ge=0,
        le=100,
        strict=True,
        description="The number of executors that each task has without a backlog. With 0, a DataFrame sink never uses "
        "executors.",
    )
    max: int = Field(
        ge=1,
        le=100,
        strict=True,
        examples=[2],
        description="The number of executors that each task has during a backlog.",
    )
    resources: ExecutorResources = Field(
        ExecutorResources(),
        examples=[{"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}],
        description="The resources of each executor's container. Its CPU limit (else its request), rounded up, is the "
        "number of parts of a batch that the executor delivers in parallel.",
    )


def refused_executors(executors: Executors) -> Iterator[Problem]:
    """Yield a problem for each value that is invalid or contradicts another one."""
    if executors.min > executors.max:
        yield Problem(f"{_PLACE}.min", "must not be greater than max; lower it, or raise max")
    resources = executors.resources
    for name, text in resources.all_limits.items():
        if name in resources.requests and quantity(resources.requests[name]) > quantity(text):
            message = f"must not be greater than limits.{name}, which is {text}; lower it, or raise the limit"
            if name not in resources.limits:
                message = (
                    f"must not be greater than limits.{name}, which is {text} by default; lower it, or set the limit"
                )
            yield Problem(f"{_PLACE}.resources.requests.{name}", message)
    cores = resources.cores
    if executors.max * cores > _MOST_PARTS:
        message = (
            f"{executors.max} executors with {cores} cores deliver {executors.max * cores} parts of a batch in parallel, "
            f"but at most {_MOST_PARTS} are allowed; lower max or the CPU limit, or raise spec.tasksMax"
        )
        yield Problem(f"{_PLACE}.max", message)
    if resources.memory < (least := _MEMORY_OF_JVMS + cores * _MEMORY_OF_CORE):
        message = f"an executor with {cores} cores needs at least {least >> 20}Mi of memory; raise limits.memory"
        yield Problem(f"{_PLACE}.resources", message)
