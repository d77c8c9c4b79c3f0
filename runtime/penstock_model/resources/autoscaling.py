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
    """Number of tasks of a sink, which follows its lag."""

    model_config = ConfigDict(json_schema_extra=ruled(rule("self.min <= self.max", _ORDER, path=".min")))

    target_lag_seconds: int = Field(
        ge=1,
        le=_DAY,
        strict=True,
        examples=[60],
        description="The target lag of each task, in seconds: its lag in records divided by the number of records per "
        "second that it can write.",
    )
    min: int = Field(1, ge=1, le=MOST, strict=True, description="The minimum number of tasks.")
    max: int = Field(
        ge=1,
        le=MOST,
        strict=True,
        examples=[6],
        description="The maximum number of tasks. The lag never raises the number above the number of partitions.",
    )
    scale_up_after_seconds: int = Field(
        120,
        ge=0,
        le=_DAY,
        strict=True,
        description="How long, in seconds, the lag of a task must exceed targetLagSeconds before tasks are added.",
    )
    scale_down_after_seconds: int = Field(
        600,
        ge=60,
        le=_DAY,
        strict=True,
        description="How long, in seconds, one task fewer must be sufficient before one is removed. Each time a "
        "removal has to be undone soon afterwards, the next wait is doubled, up to 32 times this value.",
    )


def refused_autoscaling(autoscaling: Autoscaling) -> Iterator[Problem]:
    """Yield a problem for values that contradict each other."""
    if autoscaling.min > autoscaling.max:
        yield Problem("spec.autoscaling.min", _ORDER)
