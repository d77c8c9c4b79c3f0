"""Observation of one task, from that of its Connector. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from penstock_model.contracts.task_reports import Report
from penstock_model.contracts.task_spec import TaskState
from penstock_model.resources.connector import Restart
from penstock_operator.connector.decide.restart_requests import RestartRequests
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import PersistedTask
from penstock_operator.connector.model.plans import Plan, PodHashOf
from penstock_operator.connector.model.pod_status import Phase, TaskPod
from penstock_operator.connector.model.refused_pods import Refusal
from penstock_operator.names import pod_name

__all__ = ["LATE_JOB_POD", "TaskObservation", "living", "needs_control"]

LATE_JOB_POD: Final = "a late job pod of this Connector has fenced"
"""Beginning of messages."""


@dataclass(frozen=True, slots=True)
class TaskObservation:
    """Observation of one task.

    Attributes:
        connector: the resource's name, for pod names.
        persisted: its state in the status.
        pods: pods of this task and connector uid, any incarnation.
        report: the task's own, of any incarnation.
        pod_hash: of the contents that its pod must have.
        generation_to_report: the generation that a report must name to count for the requested state.
        policy: `spec.restart`.
        restart_requested: an annotation requests a restart of it, for the first time.
        restart_waits: its restart waits for a plan that is being made, or for a template that is accepted.
        fenced_by: the process that has fenced it, should it end as superseded; empty: that is not known.
        refusal: the API server refused its pod.
        node_timeout: seconds after its grace period from which on the node of a deleted pod counts as lost.
        now: seconds since 1970.
        unready: why pods fail their readiness probe after it has passed, by uid.
    """

    connector: str
    persisted: PersistedTask
    pods: Sequence[TaskPod]
    report: Report | None
    pod_hash: str
    generation_to_report: int
    policy: Restart
    restart_requested: bool
    refusal: Refusal | None
    node_timeout: float
    now: float
    restart_waits: bool = False
    fenced_by: str = ""
    unready: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        observed: Observation,
        plan: Plan,
        number: int,
        pod_hash: PodHashOf,
        wanted: TaskState,
        restarts: RestartRequests,
    ) -> "TaskObservation":
        """Return the observation of a task.

        Args:
            observed: the Connector.
            plan: that the task is made from.
            number: number of the task.
            pod_hash: returns the hash of the contents that its pod must have.
            wanted: the requested state.
            restarts: requested by annotations.
        """
        own = [p for p in observed.pods.tasks if p.task == number]
        name, refusals = observed.connector.metadata.name, observed.pods.refusals
        persisted = _with_reported(observed, number, own, pod_hash(plan, number))
        possible = [pod_name(name, number, persisted.incarnation), pod_name(name, number, persisted.incarnation + 1)]
        return cls(
            connector=name,
            persisted=persisted,
            pods=own,
            report=observed.records.reports.get(number),
            pod_hash=pod_hash(plan, number),
            generation_to_report=_generation_to_report(observed, own, wanted),
            policy=observed.connector.spec.restart,
            restart_requested=number in restarts.tasks,
            restart_waits=restarts.later,
            fenced_by=_fenced_by(observed),
            refusal=next((refusals[n] for n in possible if n in refusals), None),
            node_timeout=observed.release.node_timeout,
            now=observed.now,
            unready=observed.pods.unready_causes,
        )


def _with_reported(observed: Observation, number: int, pods: Sequence[TaskPod], pod_hash: str) -> PersistedTask:
    """Return the state of a task, which is at the incarnation that has reported.

    The status has an incarnation before its pod exists. A report of a later one shows that the status was lost or is older;
    a pod with fewer starts than that would be superseded.
    """
    task, report = observed.persisted.task(number), observed.records.reports.get(number)
    if report is None or report.epoch != observed.persisted.epoch:
        return task
    if report.incarnation <= max([task.incarnation, *(p.incarnation for p in pods)]):
        return task
    return replace(
        task,
        incarnation=report.incarnation,
        pod=pod_name(observed.connector.metadata.name, number, report.incarnation),
        pod_uid=report.pod_uid,
        has_ended=False,
        retry_at=None,
        pod_hash=pod_hash,
        started=None,
    )


def _fenced_by(observed: Observation) -> str:
    """Return which process has fenced a superseded task; empty: that is not known."""
    if observed.overtaken_by is None:
        return ""
    if observed.is_overtaken_by_itself:
        return f"{LATE_JOB_POD} this task, and it is prepared again"
    return (
        f"another process has started a connector of the name {observed.connector.connect_name} in Kafka (another operator, "
        f"penstock run) and has fenced this one; end that one, then restart this one (annotation penstock.dev/restart), "
        f"or create it again with another spec.connectName"
    )


def living(pods: Sequence[TaskPod]) -> list[TaskPod]:
    """Return the pods that have not ended and are not being deleted."""
    return [p for p in pods if p.phase is not Phase.ENDED and p.leaving is None]


def _state_given(observed: Observation, pod: TaskPod) -> tuple[int, str]:
    """Return the generation and the state that a pod got last: from a control record, or from its own task spec."""
    if observed.records.control is not None and observed.records.control.generation > pod.generation:
        return observed.records.control.generation, observed.records.control.state
    return pod.generation, pod.state


def needs_control(observed: Observation, pods: Sequence[TaskPod], wanted: TaskState) -> bool:
    """Return whether one of these pods was given another state than the wanted one."""
    return any(_state_given(observed, p)[1] != wanted for p in living(pods))


def _generation_to_report(observed: Observation, pods: Sequence[TaskPod], wanted: TaskState) -> int:
    """Return the generation that a task's report must name to be about the currently wanted state."""
    if needs_control(observed, pods, wanted):
        return observed.connector.metadata.generation
    return max((_state_given(observed, p)[0] for p in living(pods)), default=0)
