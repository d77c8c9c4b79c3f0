"""Decision step that creates, deletes and replaces the executors of all tasks. Pure.

A task reports how many executors it can use now, within the Connector's bounds. Executors belong to one task pod, and
Kubernetes deletes them with it. They only speed up a backlog, so no task depends on this step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from penstock_model.contracts.task_reports import Report
from penstock_model.resources import task_restart
from penstock_model.resources.connector import Restart
from penstock_model.resources.executors import Executors
from penstock_operator.connector.decide.executors.report import state_of, task_executors
from penstock_operator.connector.decide.step_outcome import StepOutcome, soonest
from penstock_operator.connector.model.executors import (
    CreateExecutor,
    ExecutorsDecision,
    TaskExecutors,
    executors_of,
)
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.plans import Plan, PodHashOf
from penstock_operator.connector.model.pod_end import Ended
from penstock_operator.connector.model.pod_status import ExecutorPod, Phase, Pod, TaskPod
from penstock_operator.connector.model.refused_pods import of_executor, of_secret, pause, without_room
from penstock_operator.names import executor_name
from penstock_operator.reasons import Reason

__all__ = ["executors_step"]

_MOST_CREATED: Final = 20
"""Maximum number of executors that one run creates: the Connector's other work must not wait for hundreds."""
_ORDER: Final = (Phase.RUNNING, Phase.WAITING, Phase.ENDED)
"""Order in which executors are kept when fewer are needed; within a phase, the lowest numbers are kept."""
_PLACED: Final = 30.0
"""Seconds for which a task or job pod may wait for a node before executors make room: an autoscaler may add one."""
_MAKES_ROOM: Final = "executors make room in a ResourceQuota for pod {}"
_GROWS: Final = 2.0
"""Seconds between creations of executors. Each time their number is doubled, so that Connectors which need executors at the
same time share a quota, and an exhausted quota causes few requests.
"""
_LOOK: Final = 10.0
"""Seconds until the next decision while executors make room."""
_END_LENGTH: Final = 300
"""Maximum characters of the message about an executor's end that its successor's pod contains."""


def executors_step(observed: Observation, outcome: StepOutcome, pod_hash: PodHashOf) -> ExecutorsDecision:
    """Return the decision about the executors of all tasks.

    Args:
        observed: the Connector.
        outcome: outcome of the steps for its tasks: no executor is created for a pod that is being deleted.
        pod_hash: returns the hash that a task's pod must have.
    """
    pods = observed.pods
    if observed.namespace_ends or not (pods.executors or any(p.spark_secret for p in pods.tasks)):
        return ExecutorsDecision()
    leaving = {p.uid for p in outcome.delete}
    leaving |= {p.uid for p in pods.tasks if p.phase is Phase.ENDED or p.leaving is not None}
    steps = [
        _TaskStep.of(observed, outcome, pod_hash, pod).step()
        for pod in sorted(pods.tasks, key=lambda p: p.task)
        if pod.spark_secret and pod.uid not in leaving and pod.uid == outcome.persisted.task(pod.task).pod_uid
    ]
    alive = {p.uid for p in pods.tasks if p.phase is not Phase.ENDED}
    without_task = (e for e in pods.executors if e.task_pod not in alive and e.leaving is None)
    delete = (*(e for s in steps for e in s.delete), *without_task)
    create = tuple(c for s in steps for c in s.create)
    # An ended executor is kept until its successor, which continues its backoff, is created.
    delete = (*delete, *(c.replaced for c in create[:_MOST_CREATED] if c.replaced is not None))
    new = [p for p in pods.tasks if _needs_secret(observed, p) and p.uid not in leaving]
    names = [*(of_executor(e.name) for e in delete), *(of_secret(p.spark_secret) for p in new)]
    pauses = {name: left for name in names if (left := pause(pods.refusals.get(name), observed.now))}
    tasks = {s.task: s.shown for s in steps if s.shown is not None}
    return ExecutorsDecision(
        create_secrets=tuple(p for p in new if of_secret(p.spark_secret) not in pauses),
        delete=tuple(e for e in delete if of_executor(e.name) not in pauses),
        create=create[:_MOST_CREATED],
        tasks=tasks,
        state=state_of(tasks),
        requeue_after=soonest(
            0.0 if len(create) > _MOST_CREATED else None,
            *(s.requeue_after for s in steps),
            *pauses.values(),
            *(left for p in _unplaced(observed) if (left := p.created + _PLACED - observed.now) > 0),
        ),
    )


def _needs_secret(observed: Observation, pod: TaskPod) -> bool:
    """Return whether a pod may be waiting for its Secret, which is then created.

    A pod that has started has mounted its Secret, and a new Secret would have another value.
    """
    is_known = observed.pods.spark_secrets.get(pod.uid, False)
    return bool(pod.spark_secret) and pod.phase is Phase.WAITING and not is_known


def _own_room(observed: Observation) -> tuple[str, str] | None:
    """Return reason and message why executors make room for a pod of their Connector; None: they do not."""
    if (refused := without_room(observed.pods.refusals, observed.now)) is not None:
        return Reason.QUOTA_EXCEEDED, _MAKES_ROOM.format(refused)
    late = (p.name for p in _unplaced(observed) if observed.now >= p.created + _PLACED)
    if (first := min(late, default=None)) is not None:
        return Reason.UNSCHEDULABLE, f"executors make room on the nodes for pod {first}"
    return None


def _others_room(observed: Observation) -> tuple[str, str] | None:
    """Return the reason and message if executors make room for another Connector's pod, or are not created because of it.

    None: there is no such pod.
    """
    pod = observed.pods.without_room
    return (Reason.QUOTA_EXCEEDED, _MAKES_ROOM.format(pod)) if pod else None


def _unplaced(observed: Observation) -> Iterator[Pod]:
    """Yield the task and job pods that cannot be scheduled, perhaps because executors occupy the nodes."""
    pods = observed.pods
    for pod in (*pods.tasks, *pods.jobs, *pods.offsets_jobs):
        is_unplaced = pod.hindrance is not None and pod.hindrance[0] == Reason.UNSCHEDULABLE
        if is_unplaced and pod.phase is Phase.WAITING and pod.leaving is None:
            yield pod


@dataclass(frozen=True, slots=True)
class _Step:
    """Actions for the executors of one task, and their entry in the status."""

    task: int
    delete: tuple[ExecutorPod, ...] = ()
    create: tuple[CreateExecutor, ...] = ()
    shown: TaskExecutors | None = None
    requeue_after: float | None = None


@dataclass(frozen=True, slots=True)
class _TaskStep:
    """Decision step for the executors of one task.

    Attributes:
        observed: the Connector.
        pod: the current pod of the task.
        plan: plan from which the pod was created; None: it is unknown, so no executor can be created.
        report: report of this pod; None: it has not reported yet.
    """

    observed: Observation
    pod: TaskPod
    plan: Plan | None
    report: Report | None

    @classmethod
    def of(cls, observed: Observation, outcome: StepOutcome, pod_hash: PodHashOf, pod: TaskPod) -> "_TaskStep":
        report = observed.records.reports.get(pod.task)
        plans = (outcome.plan, *outcome.save, *reversed(observed.plans))
        fits = (p for p in plans if p is not None and _is_of(p, pod, pod_hash))
        own = report if report is not None and report.pod_uid == pod.uid else None
        return cls(observed, pod, next(fits, None), own)

    def step(self) -> _Step:
        executors = [e for e in self.observed.pods.executors if e.task_pod == self.pod.uid]
        if self.report is None:  # it is starting, or Kafka cannot be read: keep all executors
            return _Step(self.pod.task)
        own = _own_room(self.observed)
        room, gives = own or _others_room(self.observed), own is not None or self.observed.pods.gives_room
        wanted, wish = self._wanted(), 0 if gives else self._wanted()
        staying = sorted((e for e in executors if e.leaving is None), key=lambda e: (_ORDER.index(e.phase), e.number))
        kept, surplus = staying[:wish], staying[wish:]
        due = {e.number: left for e in kept if (left := self._until_replaced(e)) is not None}
        numbers = self._free_numbers(executors)
        create, pauses = list[CreateExecutor](), list[float]()
        ended = [e for e in kept if due.get(e.number) == 0.0]
        missing, may_create = wish - len(kept), self._can_create() and room is None
        more = 0 if self._has_grown(kept) else min(missing, max(1, len(kept), self._least - len(kept)))
        for before in (*ended, *[None] * more) if may_create else ():
            name = executor_name(self.pod.name, next(numbers))
            if left := pause(self.observed.pods.refusals.get(of_executor(name)), self.observed.now):
                pauses.append(left)  # the others would be refused for the same reason
                break
            create.append(self._creation(name, before))
        looks = (e.look_after(self.observed.now) for e in kept)
        return _Step(
            self.pod.task,
            delete=tuple(surplus),
            create=tuple(create),
            shown=task_executors(self.pod, self.report, wanted, self._least, kept, self.observed, due, room),
            requeue_after=soonest(
                *pauses,
                *(left for left in due.values() if left),
                *looks,
                _GROWS if may_create and missing > more and not pauses else None,
                _LOOK if room is not None else None,
            ),
        )

    @property
    def _bounds(self) -> Executors | None:
        return executors_of(self.plan.tasks[self.pod.task]) if self.plan is not None else None

    @property
    def _least(self) -> int:
        return self._bounds.min if self._bounds is not None else 0

    def _wanted(self) -> int:
        """Return how many executors the task should have. A task without a Spark session needs none."""
        assert self.report is not None
        if self.report.executors_wanted is None:
            return 0
        if (bounds := self._bounds) is None:  # its pod is replaced as soon as that is possible
            present = sum(e.task_pod == self.pod.uid and e.leaving is None for e in self.observed.pods.executors)
            return min(self.report.executors_wanted, present)
        return min(self.report.executors_wanted, bounds.max)

    def _has_grown(self, kept: Sequence[ExecutorPod]) -> bool:
        """Return whether executors were created just now, by this clock: other Connectors may need some, too."""
        return any(0 <= self.observed.now - e.created < _GROWS for e in kept)

    def _can_create(self) -> bool:
        return self.plan is not None and self.pod.phase is Phase.RUNNING and self.pod.address != ""

    def _free_numbers(self, executors: Sequence[ExecutorPod]) -> Iterator[int]:
        """Yield the lowest numbers that no pod has, not even one that is being deleted."""
        used = {e.number for e in executors}
        return (n for n in count() if n not in used)

    def _until_replaced(self, executor: ExecutorPod) -> float | None:
        """Return the seconds until an executor that has ended is replaced; None: it has not ended."""
        if executor.ended is None:
            return None
        delay = _restart(executor, executor.ended).delay or 0.0
        return max(0.0, executor.ended.at + delay - self.observed.now)

    def _creation(self, name: str, before: ExecutorPod | None) -> CreateExecutor:
        """Return a new executor, which replaces an ended one or is an additional one."""
        assert self.plan is not None
        if before is None or before.ended is None:
            return CreateExecutor(name, self.plan, self.pod)
        quick_ends = _restart(before, before.ended).history.losses
        end = before.ended.cause, before.ended.describe()[:_END_LENGTH]
        return CreateExecutor(name, self.plan, self.pod, quick_ends, end, before)


def _is_of(plan: Plan, pod: TaskPod, pod_hash: PodHashOf) -> bool:
    """Return whether a pod is identical to the one that this plan would create now."""
    return pod.task < len(plan.tasks) and pod_hash(plan, pod.task) == pod.pod_hash


def _restart(executor: ExecutorPod, ended: Ended) -> task_restart.RestartDecision:
    """Return when an executor that has ended is replaced: like a lost task, regardless of how it ended."""
    lived = max(0.0, ended.at - (executor.started or executor.created))
    history = task_restart.RestartHistory(losses=executor.quick_ends)
    return task_restart.next_restart(task_restart.TaskEnd.LOST, lived=lived, history=history, policy=Restart())
