"""Executors of a Connector's tasks (`spec.spark.executors`), and sizes that follow from their resources. Pure."""

import math
from collections.abc import Iterator
from typing import Final

from pydantic import ConfigDict, Field

from penstock.errors import Problem
from penstock_model.resources.base import ConfigMapping, Part
from penstock_model.resources.constraints import rule, ruled
from penstock_model.resources.quantity import MALFORMED, is_quantity, quantity

__all__ = ["ExecutorResources", "Executors", "refused_executors"]

_MEMORY: Final = "2Gi"
_LEAST_MEMORY: Final = 1 << 30
_PLACE: Final = "spec.spark.executors"


class ExecutorResources(Part):
    """Resources of an executor's container, as in Kubernetes."""

    requests: ConfigMapping = Field(
        {"cpu": "1"},
        examples=[{"cpu": "2", "memory": "4Gi"}],
        description="What the container requests. By default cpu: 1, and as much memory as its limit.",
    )
    limits: ConfigMapping = Field(
        {"memory": _MEMORY}, examples=[{"memory": "4Gi"}], description="Its limits. By default memory: 2Gi."
    )

    @property
    def cores(self) -> int:
        """Number of parts of a batch that an executor delivers in parallel: its CPU limit, else its request, rounded up."""
        text = self.limits.get("cpu") or self.requests.get("cpu") or "1"
        return max(1, math.ceil(quantity(text)))

    @property
    def memory(self) -> int:
        """Memory of an executor's container, in bytes: its limit, else its request."""
        return int(quantity(self.limits.get("memory") or self.requests.get("memory") or _MEMORY))


class Executors(Part):
    """Executors of each task, each in its own pod, which deliver backlogs."""

    model_config = ConfigDict(
        json_schema_extra=ruled(
            rule("self.min <= self.max", "must not be greater than max; lower it, or raise max", path=".min")
        )
    )

    min: int = Field(
        0, ge=0, le=100, strict=True, description="The number of executors that each task has without a backlog."
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
    """Return a problem for each value that is wrong or excludes another one."""
    if executors.min > executors.max:
        yield Problem(f"{_PLACE}.min", "must not be greater than max; lower it, or raise max")
    resources, is_readable = executors.resources, True
    for part in ("requests", "limits"):
        for name, text in getattr(resources, part).items():
            if not is_quantity(text):
                is_readable = False
                yield Problem(f"{_PLACE}.resources.{part}.{name}", MALFORMED)
    if not is_readable:
        return
    for name, text in resources.limits.items():
        if name in resources.requests and quantity(resources.requests[name]) > quantity(text):
            message = f"must not be greater than limits.{name}, which is {text}; lower it, or raise the limit"
            yield Problem(f"{_PLACE}.resources.requests.{name}", message)
    if resources.memory < _LEAST_MEMORY:
        yield Problem(f"{_PLACE}.resources", "an executor needs at least 1Gi of memory; raise limits.memory")
        return
    for name, text in resources.requests.items():
        if (limit := resources.limits.get(name)) is not None and quantity(text) > quantity(limit):
            message = f"must not be greater than the limit: {text} is requested, and the limit is {limit}; set both"
            yield Problem(f"{_PLACE}.resources.requests.{name}", message)
