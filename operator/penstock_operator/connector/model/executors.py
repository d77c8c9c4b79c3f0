"""Spark executors of a Connector's tasks: the decision about them, and their status. Immutable, and pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.resources.executors import Executors
from penstock_model.resources.task_settings import TaskSettings
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.pod_status import ExecutorPod, TaskPod

__all__ = ["CreateExecutor", "ExecutorsDecision", "ExecutorsState", "TaskExecutors", "executors_of"]


@dataclass(frozen=True, slots=True)
class CreateExecutor:
    """Executor to create for a task.

    Attributes:
        name: name of its pod.
        plan: plan of the task's pod and of this executor.
        pod: pod of the task.
        quick_ends: number of consecutive executors before it that ended soon after their start.
        last_end: reason and message of the end of the executor that it replaces; None: it replaces none.
        replaced: the executor that it replaces, which is deleted; None: it replaces none.
    """

    name: str
    plan: Plan
    pod: TaskPod
    quick_ends: int = 0
    last_end: tuple[str, str] | None = None
    replaced: ExecutorPod | None = None


@dataclass(frozen=True, slots=True)
class TaskExecutors:
    """Executors of one task.

    Attributes:
        wanted: number that the task should have now.
        ready: number of them that run, and are connected to it if its Spark session has started.
        reason: why fewer are ready than wanted, or why none is wanted despite `spec.spark.executors`; empty: neither.
        message: message for the reason.
    """

    wanted: int
    ready: int
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ExecutorsState:
    """Status, reason and message of condition `ExecutorsReady`."""

    ready: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ExecutorsDecision:
    """Decision about executors. A failure of one of these writes neither prevents nor delays anything else.

    Attributes:
        create_secrets: task pods whose Secrets are created.
        delete: executors to delete.
        create: executors to create.
        tasks: by task number, the entries for the status.
        state: contents of the condition; None: no executor is wanted.
        requeue_after: decide again after this many seconds; None: when something happens.
    """

    create_secrets: tuple[TaskPod, ...] = ()
    delete: tuple[ExecutorPod, ...] = ()
    create: tuple[CreateExecutor, ...] = ()
    tasks: Mapping[int, TaskExecutors] = field(default_factory=dict)
    state: ExecutorsState | None = None
    requeue_after: float | None = None

    @property
    def has_actions(self) -> bool:
        """Return whether there is an object to create or delete."""
        return bool(self.create_secrets or self.delete or self.create)


def executors_of(task: TaskSpec) -> Executors | None:
    """Return the executor settings of a task; None: it has none."""
    if "executors" not in task.settings.get("spark", {}):
        return None
    return TaskSettings.of_task(task.settings).spark.executors
