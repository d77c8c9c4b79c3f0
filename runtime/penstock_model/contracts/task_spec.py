"""Task spec: the input of a task process, and a versioned contract.

`penstock run` or the operator writes it; the task, which may be of a much older or newer release, reads it. Therefore a
reader ignores unknown fields and rejects an unknown `apiVersion`, and tests read a golden file of each version. It contains
no secret: its variables are not resolved.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from penstock_model.contracts.base import Document, Part
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.topic_policy import TopicPolicy

__all__ = [
    "PluginReference",
    "SparkCluster",
    "TaskSpec",
    "TaskState",
]


class TaskState(StrEnum):
    """State in which a task starts."""

    RUNNING = "Running"
    PAUSED = "Paused"


class PluginReference(Part):
    """Plugin that the task loads.

    Attributes:
        reference: argument of `penstock_runtime.plugins.discovery.load`.
        alias: name in messages, metrics and logs.
        version: version that the plan resolved.
        variant: name after the `$` (`Key`, `Value`), or None.
    """

    reference: str
    alias: str
    version: str
    variant: str | None = None


class SparkCluster(Part):
    """Standalone Spark cluster whose executors deliver the backlog of a task.

    Attributes:
        master: `spark://host:port`.
        secret_file: file on the task's machine with the secret that the cluster's processes share.
        cores: maximum number of cores that a task uses.
    """

    master: str
    secret_file: str
    cores: int = Field(ge=1)


class TaskSpec(Document):
    """One task of a connector, in one incarnation.

    Attributes:
        connector: the Connect name, from which the consumer group and the keys of status and offsets are derived.
        task: task number, starting at 0.
        tasks: number of tasks of the connector.
        generation: the plan generation.
        plan: the plan id, the same for all incarnations of its tasks.
        incarnation: number of this start of the task; a higher one supersedes lower ones.
        token: unique for each incarnation.
        config: properties of the framework and of this task's plugin, flat, variables unresolved.
        plugins: by place: `connector`, `key.converter`, `value.converter`, `header.converter`, `transforms.<alias>`,
            `predicates.<alias>`.
        worker: worker configuration as written, variables unresolved.
        settings: fields of the Connector's spec that tasks read (`TaskSettings.for_task`).
        spark_cluster: cluster of its Spark workers; None: they run next to the task.
        secrets_dir: folder in which `${secret:<name>:<key>}` is the file `<name>/<key>`; None if there are no secrets.
        state: state in which the task starts.
        status: records that the operator read from the status topic; None: the task reads the whole topic.
        topic_policy: how the topics of a source are created, if TopicCreationPolicies apply. The operator sets it,
            never the plan pod's answer. None: `topic.creation.*` of the configuration, or the brokers, decide.
        mounts: images of PluginVersions in the pod, the connector's first. Set by the operator, like `topic_policy`.
        config_providers: the Java config providers that variables of this task use, by name.
    """

    called: ClassVar = "a task spec"

    api_version: Literal["penstock.dev/task/v1"] = "penstock.dev/task/v1"
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
    settings: dict[str, Any] = Field(default_factory=dict)
    spark_cluster: SparkCluster | None = Field(default=None, exclude_if=lambda v: v is None)
    secrets_dir: str | None = None
    state: TaskState = TaskState.RUNNING
    status: StatusSnapshot | None = Field(default=None, exclude_if=lambda v: v is None)
    topic_policy: TopicPolicy | None = Field(default=None, exclude_if=lambda v: v is None)
    mounts: tuple[PluginMount, ...] = Field(default=(), exclude_if=lambda v: not v)
    config_providers: dict[str, PluginReference] = Field(default_factory=dict, exclude_if=lambda v: not v)

    @property
    def id(self) -> str:
        """Return `<connector>-<task>`, Connect's name for a task."""
        return f"{self.connector}-{self.task}"

    def for_incarnation(self, *, generation: int, incarnation: int, token: str, plan: str | None = None) -> Self:
        """Return the same task in a new incarnation, of the same plan unless `plan` is set."""
        changes = {"generation": generation, "incarnation": incarnation, "token": token}
        return self.model_copy(update=changes if plan is None else {**changes, "plan": plan})

    def with_mounts(self, mounts: Sequence[PluginMount]) -> Self:
        """Return the same task in pods with these mounts and no others."""
        alone = tuple(m.model_copy(update={"classes": (), "places": ()}) for m in mounts)
        return self.model_copy(update={"mounts": alone})

    def to_json(self) -> str:
        """Return the content of the file."""
        return self.model_dump_json(by_alias=True, indent=2)
