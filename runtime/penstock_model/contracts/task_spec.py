"""The task spec: all that a task process is told, and a contract with its own version.

Whoever starts a task (`penstock run`, the operator) writes it; the task reads it, possibly years older or younger than
the writer. So a reader ignores fields that it does not know and refuses an `apiVersion` that it does not know; a golden
file per version keeps old readers alive. It holds no secret: variables stand in it unresolved.
"""

from enum import StrEnum
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from penstock.errors import ConfigError, Problem
from penstock_model.contracts.status_snapshot import StatusSnapshot

__all__ = ["API_VERSION", "PluginReference", "SparkSpec", "SparkStart", "TaskSpec", "TaskState"]

API_VERSION: Final = "penstock.dev/task/v1"


class TaskState(StrEnum):
    """What a task is meant to do from its first moment on."""

    RUNNING = "Running"
    PAUSED = "Paused"


class SparkStart(StrEnum):
    """When the Spark session starts: beside the first batches, or when a batch first needs it."""

    EAGER = "Eager"
    ON_DEMAND = "OnDemand"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class PluginReference(_Part):
    """One plugin that the task loads.

    Attributes:
        reference: what `penstock_runtime.plugins.discovery.load` takes.
        alias: the name that messages, metrics and logs use.
        version: the version that the plan resolved.
        variant: what stood after the `$` (`Key`, `Value`), None without one.
    """

    reference: str
    alias: str
    version: str
    variant: str | None = None


class SparkSpec(_Part):
    """The Spark session of a task.

    Attributes:
        executors: how many executors on Kubernetes; 0 is `local[n]` in the task's own process.
        conf: Spark properties, over ours.
        start: when it starts.
    """

    executors: int = Field(0, ge=0)
    conf: dict[str, str] = {}
    start: SparkStart = SparkStart.EAGER


class TaskSpec(_Part):
    """One task of one connector, in one of its lives.

    Attributes:
        connector: the Connect name; consumer group, status and offsets keys are made of it.
        task: this task's number, from 0.
        tasks: how many tasks the connector has.
        generation: the connector's configuration, counted; rises with every plan.
        plan: unique per plan, the same for all lives of its tasks.
        incarnation: the lives of this task, counted; the higher one fences the lower.
        token: unique per life.
        config: framework properties and this task's plugin properties, flat, variables unresolved.
        plugins: by place: `connector`, `key.converter`, `value.converter`, `header.converter`, `transforms.<alias>`,
            `predicates.<alias>`.
        worker: the worker configuration as written, variables unresolved.
        secrets_dir: where `${secret:<name>:<key>}` is `<secrets_dir>/<name>/<key>`; None: there are no secrets.
        state: what to do from the first moment on.
        status: what was read of the status topic for this life; None: it reads for itself.
    """

    api_version: Literal["penstock.dev/task/v1"] = API_VERSION
    connector: str
    task: int = Field(ge=0)
    tasks: int = Field(ge=1)
    kind: Literal["source", "sink"]
    generation: int = 0
    plan: str = ""
    incarnation: int = 0
    token: str = ""
    config: dict[str, str]
    plugins: dict[str, PluginReference]
    worker: dict[str, str]
    spark: SparkSpec = SparkSpec()
    secrets_dir: str | None = None
    state: TaskState = TaskState.RUNNING
    status: StatusSnapshot | None = Field(default=None, exclude_if=lambda v: v is None)

    @property
    def id(self) -> str:
        """`<connector>-<task>`, Connect's name for a task."""
        return f"{self.connector}-{self.task}"

    def for_incarnation(self, *, generation: int, incarnation: int, token: str, plan: str | None = None) -> Self:
        """The same task in a new life; of the same plan, unless another is given."""
        changes = {"generation": generation, "incarnation": incarnation, "token": token}
        return self.model_copy(update=changes if plan is None else {**changes, "plan": plan})

    def to_json(self) -> str:
        """The file's text."""
        return self.model_dump_json(by_alias=True, indent=2)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a file's text.

        Raises:
            ConfigError: not a task spec of this version; every field that is wrong is named, no value is shown.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as e:
            raise ConfigError(
                Problem(".".join(map(str, error["loc"])), f"not a task spec that this runtime reads: {error['msg']}")
                for error in e.errors(include_url=False, include_input=False)
            ) from None
