"""Spark executors of a Connector's tasks: what to do about them, and what the status reports. Frozen, and pure."""

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
    """Executor of a task.

    Attributes:
        name: name of its pod.
        plan: from which the task's pod was made, as the executor's is.
        pod: pod of the task.
        quick_ends: how many executors before it, in a row, ended soon after their start.
        last_end: how the one that it replaces ended, as a reason and a sentence; None: it replaces none.
        replaced: the one that it replaces, which is deleted; None: it replaces none.
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
        ready: number of those that run, and are connected to it if its Spark session has started.
        reason: why fewer are ready than wanted, or none is wanted although the Connector has executors; empty: neither.
        message: the same in a sentence.
    """

    wanted: int
    ready: int
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ExecutorsState:
    """Contents of `ExecutorsReady`."""

    ready: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ExecutorsDecision:
    """Decision about executors. A failure with one of these objects neither prevents nor delays anything else.

    Attributes:
        create_secrets: pods of tasks that wait for their Secret, which is created.
        delete: executors.
        create: executors.
        tasks: by number, for the status.
        state: for the condition; None: no executor is wanted.
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
        """Return whether anything is created or deleted."""
        return bool(self.create_secrets or self.delete or self.create)


def executors_of(task: TaskSpec) -> Executors | None:
    """Return the executors in the settings of a task; None: it has none."""
    if "executors" not in task.settings.get("spark", {}):
        return None
    return TaskSettings.of_task(task.settings).spark.executors
