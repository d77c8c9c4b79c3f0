"""Parts of a Connector's spec: restarts, rollout, deletion, Spark, references to other objects. Pure."""

from typing import Annotated, Final, Literal

from pydantic import Field

from penstock_model.contracts.task_spec import SparkStart
from penstock_model.resources.base import ConfigMapping, ObjectName, Part
from penstock_model.resources.constraints import AtMost, Mark, list_of, rule, ruled
from penstock_model.resources.values import Duration

__all__ = ["MOST", "Backoff", "Deletion", "Java", "Reference", "Restart", "Rollout", "Spark"]

MOST: Final = 2**31 - 1
"""The greatest number: that of Kubernetes' scale and of Connect's INT."""


class Backoff(Part):
    """The wait before restart n: `initial * factor^(n-1)`, at most `max`."""

    initial: Duration = Field("10s", validate_default=True, description="The wait before the first restart.")
    factor: int = Field(2, ge=1, le=10, strict=True, description="The factor between a wait and the next one.")
    max: Duration = Field("10m", validate_default=True, description="The longest wait.")


class Restart(Part):
    """What follows the failure of a task."""

    policy: Literal["OnFailure", "Never"] = Field(
        "OnFailure", description="OnFailure: a failed task is restarted. Never: it stays Failed."
    )
    max_restarts: int = Field(
        10,
        ge=0,
        le=MOST,
        strict=True,
        description="The maximum number of restarts in a row; then the task stays Failed until it is restarted by hand "
        "(annotation penstock.dev/restart-failed) or the connector changes.",
    )
    backoff: Backoff = Field(
        Backoff(), description="How long to wait before restart n: initial * factor^(n-1), at most max."
    )
    reset_after: Duration = Field(
        "30m", validate_default=True, description="How long a task must run before the count of restarts is reset."
    )


class Rollout(Part):
    """How a change of plugin versions is rolled out: `canary` tasks first, the rest once those have run well."""

    canary: int = Field(
        1,
        ge=0,
        le=MOST,
        strict=True,
        description="How many tasks get the new versions first. 0, or the number of tasks: all together. All tasks also "
        "change together if they then read different parts of the source, if the number of tasks changes too, or "
        "if no task runs.",
    )
    timeout: Duration = Field(
        "5m",
        validate_default=True,
        description="How long those tasks must run without a failure before the others change.",
    )


class Deletion(Part):
    """Whether offsets are kept when the connector is deleted."""

    offsets: Literal["Keep", "Reset"] = Field(
        "Keep",
        description="Keep: a connector that is created again with the same name continues where this one stopped. Reset: "
        "its offsets are removed once its tasks have stopped; a finalizer holds the resource until then, for a "
        "limited time.",
    )


class Spark(Part):
    """The Spark session of each task."""

    conf: ConfigMapping = Field(
        {},
        examples=[{"spark.driver.memory": "2g"}],
        description="Spark properties (such as spark.sql.shuffle.partitions), which override those of Penstock. Those on "
        "which a guarantee depends, such as spark.master and spark.task.maxFailures, are refused with the reason.",
    )
    start: SparkStart = Field(
        SparkStart.ON_DEMAND,
        description="OnDemand: Spark starts when a backlog needs it, and ends when no backlog has needed it for "
        "idleTimeout. A small connector never needs it, and a task without it needs a tenth of the memory. Eager: Spark "
        "starts with the first batches, and stays.",
    )
    idle_timeout: Duration = Field(
        "10m",
        validate_default=True,
        description="With OnDemand, how long Spark stays without a backlog before it ends.",
    )


_OPTION: Final = ruled(
    rule("self.startsWith('-')", "must begin with '-'; write an option and its value as one entry (--add-opens=...)"),
    rule(
        "!self.contains('${secret:')",
        "variables are resolved in spec.config only; pass a secret to the plugin there, or mount it as a file",
    ),
)


class Java(Part):
    """The JVM of each task that has Java plugins, and of the pod that plans them."""

    heap_percent: int = Field(
        50,
        ge=10,
        le=75,
        strict=True,
        description="The maximum heap, as a share of the container's memory limit. The rest is for other memory of the JVM "
        "(classes, threads, code, direct buffers), for Python and the Kafka clients.",
    )
    options: Annotated[
        list[Annotated[str, AtMost(1024, least=1), Mark(**_OPTION)]], AtMost(64), Mark(**list_of("atomic"))
    ] = Field(
        [],
        examples=[["-Duser.timezone=UTC", "-XX:+UseG1GC"]],
        description="Options of the JVM, one per entry: -D..., -XX:..., -Xss, -Xmn, -Xlog, --add-opens=... and the like. "
        "An option is refused with the reason if a guarantee depends on it, or if it sets the heap, runs commands or loads "
        "other classes. Do not put secrets here.",
    )


class Reference(Part):
    """A reference to another resource of the same namespace."""

    name: ObjectName = Field(description="The name of the resource.")
