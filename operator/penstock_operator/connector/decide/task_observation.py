"""Observation of one task, derived from that of its Connector. Pure."""

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
"""Prefix of messages."""


@dataclass(frozen=True, slots=True)
class TaskObservation:
    """Observation of one task.

    Attributes:
        connector: name of the resource, for pod names.
        persisted: state of the task in the status.
        pods: pods of this task and connector uid, of any incarnation.
        report: report of the task, from any incarnation; None: it has not reported.
        pod_hash: hash that its pod must have.
        generation_to_report: minimum generation in a report that applies to the requested state.
        policy: `spec.restart`.
        restart_requested: whether an annotation requests a restart of it that was not handled yet.
        restart_waits: whether its restart waits until planning is done or the template is accepted.
        fenced_by: message about the process that fenced it, for a superseded task; empty: that is unknown.
        refusal: refusal of its pod by the API server; None: it was not refused.
        node_timeout: seconds after the grace period of a deleted pod from which on its node counts as lost.
        now: seconds since 1970.
        unready: by pod uid, why the readiness probe fails again after it has succeeded.
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
            plan: plan of the task.
            number: number of the task.
            pod_hash: returns the hash that its pod must have.
            wanted: the requested state.
            restarts: restarts requested by annotations.
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
    """Return the persisted state of a task, moved forward to the incarnation that has reported.

    An incarnation is in the status before its pod exists. So a report of a later one shows that the status was lost or
    replaced by an older one; a pod of an earlier incarnation would be superseded.
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
    """Return a message about the process that fenced a superseded task; empty: that is unknown."""
    if observed.overtaken_by is None:
        return ""
    if observed.is_overtaken_by_itself:
        return f"{LATE_JOB_POD} this task, and it is prepared again"
    return (
        f"another process (another operator, or penstock run) has started a connector with the name "
        f"{observed.connector.connect_name} in Kafka and fenced this one; stop that process, then restart this connector "
        f"(annotation penstock.dev/restart), or create it again with another spec.connectName"
    )


def living(pods: Sequence[TaskPod]) -> list[TaskPod]:
    """Return the pods that have not ended and are not being deleted."""
    return [p for p in pods if p.phase is not Phase.ENDED and p.leaving is None]


def _state_given(observed: Observation, pod: TaskPod) -> tuple[int, str]:
    """Return the generation and the state that a pod received last, from a control record or from its task spec."""
    if observed.records.control is not None and observed.records.control.generation > pod.generation:
        return observed.records.control.generation, observed.records.control.state
    return pod.generation, pod.state


def needs_control(observed: Observation, pods: Sequence[TaskPod], wanted: TaskState) -> bool:
    """Return whether one of these pods last received a state other than the wanted one."""
    return any(_state_given(observed, p)[1] != wanted for p in living(pods))


def _generation_to_report(observed: Observation, pods: Sequence[TaskPod], wanted: TaskState) -> int:
    """Return the minimum generation in a task's report that applies to the wanted state."""
    if needs_control(observed, pods, wanted):
        return observed.connector.metadata.generation
    return max((_state_given(observed, p)[0] for p in living(pods)), default=0)
