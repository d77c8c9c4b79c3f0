"""Decision step that creates, deletes and replaces the pod of one task. Pure.

The order of writes makes every step repeatable: first the status with the incremented incarnation, then deletions of pods,
then creations. So a pod of the current incarnation that was never observed is created under the same name, and one that was
observed and no longer exists was lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock_model.backoff import ExponentialBackoff
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_reports import Report
from penstock_model.contracts.texts import cut_trace, joined
from penstock_model.resources import task_restart
from penstock_operator.connector.decide.end_classification import kind_and_reason
from penstock_operator.connector.decide.task_observation import TaskObservation
from penstock_operator.connector.model.persisted_state import EXPECTED_RESTARTS, PersistedTask
from penstock_operator.connector.model.pod_end import DISRUPTIONS, Ended
from penstock_operator.connector.model.pod_status import Phase, TaskPod
from penstock_operator.connector.model.refused_pods import pause
from penstock_operator.names import pod_name
from penstock_operator.reasons import Reason

__all__ = ["TaskStep", "step"]

_TRACE_LENGTH: Final = 4_000
_UNAVAILABLE_BACKOFF: Final = ExponentialBackoff(first=2.0, longest=60.0)
_FINAL: Final = frozenset((Reason.FAILED, Reason.CONFIG_INVALID))
"""Reasons of failures of the plugin, which may be final. Other ends are caused by infrastructure, and always retried."""
_RESTARTED: Final = "restarted as an annotation requested"
_RESTART_WAITS: Final = "will be restarted, as an annotation requested, once its configuration has been checked"
_UNPROVEN: Final = "it has started; its first records are pending"
_LOOK: Final = 30.0
"""Seconds between queries that ask a pod why it is not ready."""
_SLOW_START: Final = 30.0
"""Seconds after which a start counts as slow, and the status reports a low CPU limit as the cause."""
_ENDED_PODS_KEPT: Final = 1
"""Number of ended pods per task that are kept for their logs."""


@dataclass(frozen=True, slots=True)
class TaskStep:
    """Actions for one task.

    Attributes:
        persisted: its state for the status.
        create: incarnation for which to create a pod; None: no pod is created.
        delete: pods to delete.
        requeue_after: check again after this many seconds; None: when something happens.
    """

    persisted: PersistedTask
    create: int | None = None
    delete: tuple[TaskPod, ...] = ()
    requeue_after: float | None = None


def step(observed: TaskObservation) -> TaskStep:
    """Return the step for a task that should run."""
    pods = sorted(observed.pods, key=lambda p: p.incarnation)
    current = pods[-1] if pods else None
    persisted = observed.persisted
    if current is not None and current.incarnation >= persisted.incarnation:
        persisted = _with_pod(persisted, current)
    elif current is not None:  # the status has the next incarnation, whose pod does not exist yet
        current = None
    persisted = _with_progress(persisted, observed.report)
    outcome = _next_step(replace(observed, persisted=persisted), current)
    return replace(outcome, delete=(*outcome.delete, *_stale_pods(pods, current)))


def _with_pod(persisted: PersistedTask, pod: TaskPod) -> PersistedTask:
    if (pod.incarnation, pod.uid) == (persisted.incarnation, persisted.pod_uid):
        return persisted if pod.started is None else replace(persisted, started=pod.started)
    return replace(
        persisted,
        incarnation=pod.incarnation,
        pod=pod.name,
        pod_uid=pod.uid,
        pod_hash=pod.pod_hash,
        has_ended=False,
        started=None,
    )


def _with_progress(persisted: PersistedTask, report: Report | None) -> PersistedTask:
    """Return the state with the time of the last record of any incarnation and, for a hindered task, of its last loop."""
    if report is None:
        return replace(persisted, last_loop=None)
    is_hindered = report.trouble is not None and report.pod_uid == persisted.pod_uid and report.last_loop is not None
    last_record = max(persisted.last_record or 0.0, (report.last_record or 0) / 1000) or None
    return replace(
        persisted, last_record=last_record, last_loop=(report.last_loop or 0) / 1000 if is_hindered else None
    )


def _stale_pods(pods: Sequence[TaskPod], current: TaskPod | None) -> tuple[TaskPod, ...]:
    """Return the pods of earlier incarnations to delete: those that run, and those that ended except the last one."""
    earlier = [p for p in pods if p is not current]
    alive = [p for p in earlier if p.phase is not Phase.ENDED and p.leaving is None]
    ended = [p for p in earlier if p.phase is Phase.ENDED and p.leaving is None]
    return (*alive, *ended[: max(0, len(ended) - _ENDED_PODS_KEPT)])


def _next_step(observed: TaskObservation, current: TaskPod | None) -> TaskStep:
    persisted, now = observed.persisted, observed.now
    if persisted.has_ended:
        return _after_incarnation(observed)
    if current is None:
        if persisted.incarnation == 0:
            return _start_next(observed, persisted.to("Pending", now, Reason.STARTING))
        if persisted.reason in EXPECTED_RESTARTS:
            return _start_next(observed, persisted.to("Restarting", now, persisted.reason, persisted.message))
        if not persisted.pod_uid:  # its pod was never observed: it was not created, or is not visible yet
            return _create_pod(observed)
        reason, message = str(Reason.DELETED), f"pod {persisted.pod} was deleted"
        if persisted.reason in DISRUPTIONS:
            reason, message = persisted.reason, persisted.message
        return _end_incarnation(observed, None, task_restart.TaskEnd.LOST, reason, message, at=observed.now)
    if current.ended is not None:
        return _after_pod_end(observed, current, current.ended)
    if current.leaving is not None:
        return _await_deletion(observed, current)
    if current.last_word_due is not None:
        return TaskStep(persisted, requeue_after=current.last_word_due - now)
    if observed.restart_waits and (observed.restart_requested or persisted.reason == Reason.RESTART_REQUESTED):
        return TaskStep(
            replace(_as_reported(observed, current), reason=Reason.RESTART_REQUESTED, message=_RESTART_WAITS)
        )
    if observed.restart_requested:
        return _delete_pod(observed, current, Reason.RESTART_REQUESTED, _RESTARTED)
    if current.pod_hash != observed.pod_hash:
        return _delete_pod(
            observed, current, Reason.SPEC_CHANGED, "restarted for a change of configuration or pod template"
        )
    if persisted.reason == Reason.RESTART_REQUESTED:  # the status has the request, and the pod was not deleted yet
        return _delete_pod(observed, current, Reason.RESTART_REQUESTED, _RESTARTED)
    if (step_of_unready := _step_of_unready(observed, current)) is not None:
        return step_of_unready
    reported = _as_reported(observed, current)
    is_up = reported.state in ("Running", "Paused")
    again = current.look_after(now) if current.started is None else _until_slow(current, now) or None
    return TaskStep(reported, requeue_after=None if is_up else again)


def _step_of_unready(observed: TaskObservation, pod: TaskPod) -> TaskStep | None:
    """Return the step for a pod that was ready and no longer is; None: it is ready. A cause in its report has precedence.

    A task that has reported a state, but is not Running yet, can also hang.
    """
    cause, report = observed.unready.get(pod.uid), observed.report
    own = report if report is not None and report.pod_uid == pod.uid else None
    was_up = observed.persisted.state in ("Running", "Paused")
    if not cause or not (was_up or (own is not None and own.state)):
        return None
    reported = _as_reported(observed, pod)
    if reported.message and (was_up or (own is not None and own.trouble)):
        return TaskStep(reported, requeue_after=_LOOK)
    message = f"pod {pod.name} is not ready: {cause}"
    return TaskStep(reported.to(reported.state, observed.now, Reason.HINDERED, message), requeue_after=_LOOK)


def _create_pod(observed: TaskObservation) -> TaskStep:
    """Create the pod of the current incarnation, after any pause for an earlier refusal."""
    persisted = _as_unreported(observed, None)
    if not observed.restart_requested and (left := pause(observed.refusal, observed.now, observed.pod_hash)) > 0:
        return TaskStep(persisted, requeue_after=left)
    return TaskStep(persisted, create=persisted.incarnation)


def _start_next(observed: TaskObservation, persisted: PersistedTask) -> TaskStep:
    """Start the next incarnation."""
    number = persisted.incarnation + 1
    begun = replace(
        persisted,
        incarnation=number,
        pod=pod_name(observed.connector, persisted.id, number),
        pod_uid="",
        has_ended=False,
        retry_at=None,
        reason=Reason.STARTING,
        pod_hash=observed.pod_hash,
        started=None,
    )
    return TaskStep(begun, create=number)


def _delete_pod(observed: TaskObservation, pod: TaskPod, reason: str, message: str) -> TaskStep:
    return TaskStep(observed.persisted.to("Restarting", observed.now, reason, message), delete=(pod,))


def _await_deletion(observed: TaskObservation, pod: TaskPod) -> TaskStep:
    """Wait until a deleted pod has ended before starting the next incarnation, unless its node is lost."""
    persisted, now = observed.persisted, observed.now
    by = (pod.leaves_by or now) + observed.node_timeout
    if persisted.reason not in EXPECTED_RESTARTS:
        reason, message = pod.disruption or (Reason.DELETED, f"pod {pod.name} is being deleted")
        persisted = persisted.to("Restarting", now, reason, message)
    if now < by:
        return TaskStep(persisted.to("Restarting", now, persisted.reason, persisted.message), requeue_after=by - now)
    message = (
        f"node {pod.node or 'unknown'} does not stop pod {pod.name}: the node is unavailable, and the task is replaced"
    )
    if persisted.reason in EXPECTED_RESTARTS:
        return _start_next(observed, persisted.to("Restarting", now, persisted.reason, message))
    return _end_incarnation(observed, pod, task_restart.TaskEnd.LOST, Reason.NODE_LOST, message, at=now)


def _after_pod_end(observed: TaskObservation, pod: TaskPod, ended: Ended) -> TaskStep:
    persisted = observed.persisted
    if persisted.reason in EXPECTED_RESTARTS or (pod.pod_hash != observed.pod_hash and ended.code == ExitCode.OK):
        return _start_next(
            observed,
            persisted.to("Restarting", observed.now, persisted.reason or Reason.SPEC_CHANGED, persisted.message),
        )
    kind, reason = kind_and_reason(ended)
    trace = ended.word.trace if ended.word is not None else None
    report = observed.report
    if report is not None and report.pod_uid == pod.uid and report.trace:
        trace = report.trace
    observed = replace(observed, persisted=replace(persisted, trace=cut_trace(trace, _TRACE_LENGTH) if trace else None))
    if ended.code == ExitCode.OK and pod.leaving is not None:
        return _end_incarnation(observed, pod, kind, Reason.DELETED, f"pod {pod.name} was deleted", at=ended.at)
    message = ended.describe()
    if reason == Reason.SUPERSEDED and observed.fenced_by:
        message = joined(message, observed.fenced_by)
    return _end_incarnation(observed, pod, kind, reason, message, at=ended.at)


def _end_incarnation(
    observed: TaskObservation,
    pod: TaskPod | None,
    kind: task_restart.TaskEnd,
    reason: str,
    message: str,
    *,
    at: float,
) -> TaskStep:
    """End the incarnation: decide once when the next one starts, and record that in the status."""
    persisted, now = observed.persisted, observed.now
    started = persisted.started if pod is None else pod.started
    lived = max(0.0, at - started) if started is not None else 0.0
    history = task_restart.RestartHistory(persisted.failures, persisted.losses)
    unavailable = 0
    if kind is task_restart.TaskEnd.STOPPED:  # a service is unavailable: not a failure of the task, and always retried
        unavailable = persisted.unavailable + 1
        delay: float | None = _UNAVAILABLE_BACKOFF.pause(unavailable)
        text = message
    else:
        restart = task_restart.next_restart(kind, lived=lived, history=history, policy=observed.policy)
        delay, history, text = restart.delay, restart.history, joined(message, restart.reason)
    state = "Failed" if kind in (task_restart.TaskEnd.FAILED, task_restart.TaskEnd.REFUSED) else "Pending"
    ended = persisted.to(
        state,
        now,
        reason,
        text,
        has_ended=True,
        failures=history.failures,
        losses=history.losses,
        unavailable=unavailable,
        retry_at=None if delay is None else now + delay,
    )
    if (
        delay == 0.0 and reason != Reason.SUPERSEDED
    ):  # a superseded task must be prepared first, or it would be superseded again
        return _start_next(observed, replace(ended, restarts=ended.restarts + 1))
    return TaskStep(ended, requeue_after=delay)


def _after_incarnation(observed: TaskObservation) -> TaskStep:
    persisted, now = observed.persisted, observed.now
    if observed.restart_requested or persisted.reason == Reason.RESTART_REQUESTED:
        if observed.restart_waits:
            return TaskStep(persisted.to(persisted.state, now, Reason.RESTART_REQUESTED, _RESTART_WAITS))
        fresh = replace(persisted, failures=0, losses=0)
        return _start_next(observed, fresh.to("Restarting", now, Reason.RESTART_REQUESTED, _RESTARTED))
    if persisted.pod_hash != observed.pod_hash:  # with another configuration it may succeed
        fresh = replace(persisted, failures=0, losses=0)
        return _start_next(
            observed, fresh.to("Restarting", now, Reason.SPEC_CHANGED, "restarted for a change of configuration")
        )
    if persisted.retry_at is None and persisted.reason in _FINAL:
        return TaskStep(persisted)
    # Without a retry time the failure was final, but a stop that was immediately reverted has reset it.
    if persisted.retry_at is None or persisted.retry_at <= now:
        state = "Restarting" if persisted.state == "Failed" else persisted.state
        return _start_next(
            observed,
            replace(persisted.to(state, now, persisted.reason, persisted.message), restarts=persisted.restarts + 1),
        )
    return TaskStep(persisted, requeue_after=persisted.retry_at - now)


def _as_reported(observed: TaskObservation, pod: TaskPod) -> PersistedTask:
    persisted, report = observed.persisted, observed.report
    if report is None or report.pod_uid != pod.uid:
        if pod.phase is Phase.RUNNING and persisted.state in ("Running", "Paused") and persisted.pod_uid == pod.uid:
            return persisted  # it has reported before, and Kafka cannot be read now
        return _as_unreported(observed, pod)
    versions = dict(report.versions) or persisted.versions
    if not report.state:  # it is starting, perhaps with a temporary problem
        starting = replace(_as_unreported(observed, pod), versions=versions)
        return replace(starting, message=report.trouble) if report.trouble else starting
    if report.acted < observed.generation_to_report:
        return replace(_as_unreported(observed, pod, Reason.CHANGING, has_begun=True), versions=versions)
    match report.state:
        case "RUNNING":
            state = "Running"
        case "PAUSED":
            state = "Paused"
        case _:  # it is stopping; the end of its pod shows the result
            return replace(persisted, versions=versions)
    trouble = report.trouble or ""
    if state == "Running" and not trouble and not _is_proven(persisted, report):
        starting = _as_unreported(observed, pod, has_begun=True)
        return replace(starting, versions=versions, message=starting.message or _UNPROVEN)
    since = report.since / 1000 if persisted.state != state else persisted.since
    task = persisted.to(state, since, Reason.HINDERED if trouble else "", trouble)
    return replace(task, versions=versions, trace=persisted.trace if persisted.failures else None)


def _is_proven(persisted: PersistedTask, report: Report) -> bool:
    """Return whether a running task has proved that it works.

    It must have completed a loop and, at its first start and after a failure or loss, have run for some more seconds. So a
    task that fails repeatedly at its first record is never Ready, and planned restarts are not delayed.
    """
    is_suspect = persisted.incarnation <= 1 or persisted.failures + persisted.losses + persisted.unavailable > 0
    return report.progress == "steady" or (report.progress == "loop" and not is_suspect)


def _as_unreported(
    observed: TaskObservation, pod: TaskPod | None, reason: str = Reason.STARTING, *, has_begun: bool = False
) -> PersistedTask:
    """Return the state of a task that has not reported that it runs.

    `has_begun`: whether its process has started, so that a low CPU limit no longer delays the start.
    """
    persisted, slow = observed.persisted, _slow(pod)
    hindrance = pod.hindrance if pod is not None else None
    if pod is None and observed.refusal is not None:
        hindrance = observed.refusal.reason, observed.refusal.message
    state = persisted.state if persisted.state in ("Restarting", "Running", "Paused") and pod is not None else "Pending"
    if hindrance is not None:
        return persisted.to("Pending", observed.now, *hindrance)
    is_again = (
        persisted.state == "Restarting"
        and persisted.failures + persisted.losses > 0
        and persisted.reason != Reason.HINDERED
    )
    is_after_loss = (
        persisted.state == "Pending" and persisted.reason == reason and persisted.losses + persisted.unavailable > 0
    )
    texts = [persisted.message.removesuffix(slow).removesuffix("; ")] if is_again or is_after_loss else []
    is_up = state in ("Running", "Paused")
    if pod is not None and not is_up and not has_begun and _until_slow(pod, observed.now) == 0.0:
        texts.append(slow)
    return persisted.to(state, observed.now, reason, joined(*filter(None, texts)))


def _until_slow(pod: TaskPod, now: float) -> float | None:
    """Return the seconds until a start with little CPU counts as slow; None: it has enough, or has not started."""
    if pod.started is None or not pod.has_little_cpu:
        return None
    return max(0.0, pod.started + _SLOW_START - now)


def _slow(pod: TaskPod | None) -> str:
    limit = "" if pod is None else pod.cpu_limit
    return (
        f"the task has been starting for more than {_SLOW_START:.0f} s because of its CPU limit of {limit}; "
        "raise spec.template.resources.limits.cpu"
    )
