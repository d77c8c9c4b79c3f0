"""Autoscaling of a Connector's tasks (`spec.autoscaling`). Pure."""

from collections.abc import Iterator
from typing import Final

from pydantic import ConfigDict, Field

from penstock.errors import Problem
from penstock_model.resources.base import Part
from penstock_model.resources.connector_parts import MOST
from penstock_model.resources.constraints import rule, ruled

__all__ = ["Autoscaling", "refused_autoscaling"]

_DAY: Final = 24 * 60 * 60
_ORDER: Final = "must not be greater than max; lower it, or raise max"


class Autoscaling(Part):
    """Number of tasks of a sink, as its lag requires."""

    model_config = ConfigDict(json_schema_extra=ruled(rule("self.min <= self.max", _ORDER, path=".min")))

    target_lag_seconds: int = Field(
        ge=1,
        le=_DAY,
        strict=True,
        examples=[60],
        description="How far the tasks may be behind, in seconds: the lag of a task in records, divided by the records per "
        "second that it can write.",
    )
    min: int = Field(1, ge=1, le=MOST, strict=True, description="The smallest number of tasks.")
    max: int = Field(
        ge=1,
        le=MOST,
        strict=True,
        examples=[6],
        description="The greatest number of tasks. The lag never raises the number above the number of partitions.",
    )
    scale_up_after_seconds: int = Field(
        120,
        ge=0,
        le=_DAY,
        strict=True,
        description="For how long a task must be further behind than targetLagSeconds before there are more tasks.",
    )
    scale_down_after_seconds: int = Field(
        600,
        ge=60,
        le=_DAY,
        strict=True,
        description="For how long one task less must be enough before there is one less. Each time that this must soon be "
        "undone, the next wait is twice as long, up to 32 times this value.",
    )


def refused_autoscaling(autoscaling: Autoscaling) -> Iterator[Problem]:
    """Return a problem for each value that excludes another one."""
    if autoscaling.min > autoscaling.max:
        yield Problem("spec.autoscaling.min", _ORDER)
