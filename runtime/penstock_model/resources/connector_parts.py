"""The parts of a Connector's spec: restarts, rollout, deletion, Spark, references to other objects. Pure."""

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
    factor: int = Field(2, ge=1, le=10, strict=True, description="By how much each wait is longer than the one before.")
    max: Duration = Field("10m", validate_default=True, description="The longest wait.")


class Restart(Part):
    """What follows the failure of a task."""

    policy: Literal["OnFailure", "Never"] = Field(
        "OnFailure", description="OnFailure: a task that failed is started again. Never: it stays Failed."
    )
    max_restarts: int = Field(
        10,
        ge=0,
        le=MOST,
        strict=True,
        description="How often in a row; then the task stays Failed until it is restarted by hand (annotation "
        "penstock.dev/restart-failed) or the connector changes.",
    )
    backoff: Backoff = Field(
        Backoff(), description="How long to wait before restart n: initial * factor^(n-1), at most max."
    )
    reset_after: Duration = Field(
        "30m", validate_default=True, description="How long a task must run for the count to begin anew."
    )


class Rollout(Part):
    """How a change of plugin versions is rolled out: `canary` tasks first, the rest once those have run well."""

    canary: int = Field(
        1,
        ge=0,
        le=MOST,
        strict=True,
        description="How many tasks get the new versions first. 0, or as many as there are: all at once. A change after "
        "which a source's tasks read other parts of it comes to all at once, too, and so does one together with another "
        "number of tasks, or while no task runs.",
    )
    timeout: Duration = Field(
        "5m",
        validate_default=True,
        description="For how long those must run without a failure before the rest follows.",
    )


class Deletion(Part):
    """Whether offsets are kept when the connector is deleted."""

    offsets: Literal["Keep", "Reset"] = Field(
        "Keep",
        description="Keep: a connector that is created anew under the same name goes on where this one stopped. "
        "Reset: its offsets are removed once its tasks have stopped; a finalizer holds the resource until then, "
        "for a limited time.",
    )


class Spark(Part):
    """The Spark session of each task."""

    conf: ConfigMapping = Field(
        {},
        examples=[{"spark.driver.memory": "2g"}],
        description="Spark's own properties (spark.sql.shuffle.partitions and the like), over Penstock's. Those on "
        "which a guarantee rests, such as spark.master and spark.task.maxFailures, are refused with the reason.",
    )
    start: SparkStart = Field(
        SparkStart.ON_DEMAND,
        description="OnDemand: Spark starts when a backlog needs it, which for a small connector is never, and ends when "
        "none has needed it for idleTimeout; without it a task takes a tenth of the memory. Eager: it starts beside the "
        "first batches, and stays.",
    )
    idle_timeout: Duration = Field(
        "10m",
        validate_default=True,
        description="With OnDemand, how long Spark stays without a backlog.",
    )


_OPTION: Final = ruled(
    rule("self.startsWith('-')", "must begin with '-'; write an option and its value as one entry (--add-opens=...)"),
    rule(
        "!self.contains('${secret:')",
        "variables are resolved in spec.config alone; give a secret to the plugin there, or as a file by a volume",
    ),
)


class Java(Part):
    """The JVM of each task that has Java plugins, and of the pod that plans them."""

    heap_percent: int = Field(
        50,
        ge=10,
        le=75,
        strict=True,
        description="The share of the container's memory limit that is the greatest heap. The rest is for the JVM's other "
        "memory (classes, threads, code, direct buffers), for Python and the clients of Kafka.",
    )
    options: Annotated[
        list[Annotated[str, AtMost(1024, least=1), Mark(**_OPTION)]], AtMost(64), Mark(**list_of("atomic"))
    ] = Field(
        [],
        examples=[["-Duser.timezone=UTC", "-XX:+UseG1GC"]],
        description="Options of the JVM, one an entry: -D..., -XX:..., -Xss, -Xmn, -Xlog, --add-opens=... and the like. "
        "Those on which a guarantee rests, that set the heap, run commands, or load other classes are refused with the "
        "reason. They are no place for secrets.",
    )


class Reference(Part):
    """A reference to another resource of the same namespace."""

    name: ObjectName = Field(description="Its name.")
