"""Parts of a Connector's spec: restarts, rollout, deletion, references to other objects. Pure."""

from typing import Final, Literal

from pydantic import ConfigDict, Field

from penstock_model.resources.base import ObjectName, Part
from penstock_model.resources.values import Duration

__all__ = ["MOST", "Backoff", "Deletion", "Reference", "Restart", "Rollout"]

MOST: Final = 2**31 - 1
"""Maximum of Kubernetes' scale subresource and of Connect's INT."""


class Backoff(Part):
    """The delay before restart n: `initial * factor^(n-1)`, at most `max`."""

    initial: Duration = Field(
        "10s",
        validate_default=True,
        description="The delay before the first restart (a duration such as 90s or 1h30m).",
    )
    factor: int = Field(2, ge=1, le=10, strict=True, description="The ratio of each delay to the previous one.")
    max: Duration = Field(
        "10m", validate_default=True, description="The maximum delay (a duration such as 90s or 1h30m)."
    )


class Restart(Part):
    """Restarts of failed tasks."""

    policy: Literal["OnFailure", "Never"] = Field(
        "OnFailure", description="OnFailure: a failed task is restarted. Never: it stays Failed."
    )
    max_restarts: int = Field(
        10,
        ge=0,
        le=MOST,
        strict=True,
        description="The maximum number of consecutive restarts. After that, the task stays Failed until it is restarted "
        "manually (annotation penstock.dev/restart-failed) or the connector changes.",
    )
    backoff: Backoff = Field(
        Backoff(), description="How long to wait before restart n: initial * factor^(n-1), at most max."
    )
    reset_after: Duration = Field(
        "30m",
        validate_default=True,
        description="How long a task must run before the count of restarts is reset (a duration such as 90s or 1h30m).",
    )


class Rollout(Part):
    """Rollout of new plugin versions: `canaryTasks` tasks first, the others once those have run without a failure."""

    canary_tasks: int = Field(
        1,
        ge=0,
        le=MOST,
        strict=True,
        description="How many tasks get the new versions first. With 0, or with at least the number of tasks, all tasks "
        "change together. They also change together if they would then read different parts of the source, if the class or "
        "the number of tasks changes too, or if no task runs.",
    )
    canary_duration: Duration = Field(
        "5m",
        validate_default=True,
        description="How long the first canaryTasks tasks must run with the new versions without a failure before the "
        "others change (a duration such as 90s or 1h30m).",
    )


class Deletion(Part):
    """Whether offsets are kept when the connector is deleted."""

    offsets: Literal["Keep", "Reset"] = Field(
        "Keep",
        description="Keep: a connector that is created again with the same name continues where this one stopped. Reset: "
        "its offsets are removed once its tasks have stopped; a finalizer keeps the resource until then, for at "
        "most ten minutes, or an hour if the reset cannot be attempted. After that, the resource is deleted and the offsets "
        "remain (Event OffsetsKept).",
    )


class Reference(Part):
    """A reference to another resource in the same namespace."""

    model_config = ConfigDict(json_schema_extra={"x-kubernetes-map-type": "atomic"})

    name: ObjectName = Field(description="The name of the resource.")
