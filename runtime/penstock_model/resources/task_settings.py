"""Fields of a Connector's spec that its tasks read. Pure.

Tasks receive them as one JSON value, `TaskSpec.settings`. A new field is declared here and read by the task; the CRD, the
hash of a plan's inputs, the plan's answer and the task spec contain all fields without naming them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Self

from pydantic import Field, ValidationError

from penstock.errors import ConfigError
from penstock_model.resources.base import ConfigMapping, Part
from penstock_model.resources.constraints import AtMost, Mark, list_of, rule, ruled
from penstock_model.resources.executors import Executors
from penstock_model.resources.messages import field_problems
from penstock_model.resources.values import Duration

__all__ = ["Java", "RateLimits", "Spark", "SparkStart", "TaskSettings"]


class SparkStart(StrEnum):
    """Start of the Spark session: in parallel with the first batches, or when a backlog needs it."""

    EAGER = "Eager"
    ON_DEMAND = "OnDemand"


class Spark(Part):
    """The Spark session of each task."""

    conf: ConfigMapping = Field(
        {},
        examples=[{"spark.driver.memory": "2g"}],
        description="Spark properties (such as spark.sql.shuffle.partitions), which override those of Penstock. "
        "Properties on which a guarantee depends, such as spark.master and spark.task.maxFailures, are rejected with the "
        "reason.",
    )
    start: SparkStart = Field(
        SparkStart.ON_DEMAND,
        description="OnDemand: Spark starts when a backlog needs it, and stops when no backlog has needed it for "
        "idleTimeout. A small connector never needs it, and a task without Spark needs a tenth of the memory. Eager: Spark "
        "starts with the first batches, and keeps running.",
    )
    idle_timeout: Duration = Field(
        "10m",
        validate_default=True,
        description="How long after a backlog Spark keeps running, and the task has more than executors.min executors (a "
        "duration such as 90s or 1h30m). With Eager, with executors.min of 1 or more, or in a DataFrame sink, Spark does "
        "not stop.",
    )
    executors: Executors | None = Field(
        None,
        examples=[{"max": 2}],
        description="Executors of each task, in separate pods, which deliver backlogs. Without it, Spark delivers them "
        "in the task's own pod. Tasks with Java plugins or limits deliver backlogs in their own process, without executors.",
    )


_OPTION: Final = ruled(
    rule("self.startsWith('-')", "must start with '-'; write an option and its value as one entry (--add-opens=...)"),
    rule(
        "!self.contains('${secret:')",
        "variables are resolved in spec.config only; pass a secret to the plugin there, or mount it as a file",
    ),
)


class Java(Part):
    """The JVM of each task with Java plugins, and of the pod that plans them."""

    heap_percent: int = Field(
        50,
        ge=10,
        le=75,
        strict=True,
        description="The maximum heap, in percent of the container's memory limit, but at least 64 MiB; 1 GiB without a "
        "memory limit. The rest is for other memory of the JVM (classes, threads, code, direct buffers), for Python and the "
        "Kafka clients.",
    )
    options: Annotated[
        list[Annotated[str, AtMost(1024, least=1), Mark(**_OPTION)]], AtMost(64), Mark(**list_of("atomic"))
    ] = Field(
        [],
        examples=[["-Duser.timezone=UTC", "-XX:+UseG1GC"]],
        description="JVM options, one per entry: -D..., -XX:..., -Xss, -Xmn, -Xlog, --add-opens=... and similar options. "
        "An option is rejected with the reason if a guarantee depends on it, or if it sets the heap, runs commands or loads "
        "other classes. Do not put secrets here.",
    )


class RateLimits(Part):
    """Rate limits of each task."""

    records_per_second: int | None = Field(
        None,
        ge=1,
        le=10**9,
        strict=True,
        examples=[500],
        description="The maximum number of records per second, averaged over about a second. When absent, no limit.",
    )
    bytes_per_second: int | None = Field(
        None,
        ge=1,
        le=10**12,
        strict=True,
        examples=[1048576],
        description="The maximum number of bytes of keys and values per second, averaged over about a second. When absent, "
        "no limit.",
    )


class TaskSettings(Part):
    """Fields of a Connector's spec that its tasks read."""

    limits: RateLimits = Field(
        RateLimits(),
        examples=[{"recordsPerSecond": 500}],
        description="Rate limits of each task, to protect an external system. The limits are per task, so "
        "autoscaling multiplies them. A task with a limit delivers in its own process, without Spark. A change replaces "
        "the tasks.",
    )

    spark: Spark = Field(
        Spark(),
        examples=[{"start": "OnDemand"}],
        description="The Spark session of each task, which delivers backlogs. Tasks with Java plugins or limits deliver "
        "them in their own process; only a DataFrame sink still writes with Spark. A change replaces the tasks.",
    )
    java: Java | None = Field(
        None,
        examples=[{"heapPercent": 60, "options": ["-Duser.timezone=UTC"]}],
        description="The JVM of each task with Java plugins, and of the pod that plans them. A change replaces "
        "the tasks.",
    )

    @classmethod
    def of_task(cls, settings: Mapping[str, Any]) -> Self:
        """Return the settings in a task spec. Unknown fields are ignored.

        Raises:
            ConfigError: contains all problems, each with its field path.
        """
        try:
            return cls.model_validate(settings, extra="ignore")
        except ValidationError as e:
            raise ConfigError(field_problems(cls, e)) from None

    def for_task(self) -> dict[str, Any]:
        """Return the settings for a task spec, without defaults, so that a new field changes only tasks that set it."""
        return _without_defaults(TaskSettings(**{name: getattr(self, name) for name in TaskSettings.model_fields}))


def _without_defaults(part: Part) -> dict[str, Any]:
    """Return the JSON form of a part, without default values and without parts that have only default values."""
    fields = type(part).model_fields
    default = type(part)(**{name: getattr(part, name) for name, field in fields.items() if field.is_required()})
    written = part.model_dump(mode="json", by_alias=True)
    found: dict[str, Any] = {}
    for name, field in fields.items():
        value, key = getattr(part, name), field.alias or name
        if isinstance(value, Part):
            if inner := _without_defaults(value):
                found[key] = inner
        elif field.is_required() or value != getattr(default, name):
            found[key] = written[key]
    return found
