"""Report executors in the status and in the condition `ExecutorsReady`. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock_model.contracts.task_reports import Report
from penstock_operator.connector.model.executors import ExecutorsState, TaskExecutors
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.pod_status import ExecutorPod, Phase, TaskPod
from penstock_operator.connector.model.refused_pods import of_executor
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.names import executor_name
from penstock_operator.reasons import Reason

__all__ = ["state_of", "task_executors"]

_LENGTH: Final = 500
"""Maximum characters of the message of one task."""
_NOT_MOUNTED: Final = "; if this Secret was deleted, annotate `restart-tasks` to start the task with a new one"
_NAMED: Final = 20
"""Maximum number of tasks whose messages are in the condition."""


def task_executors(
    pod: TaskPod,
    report: Report,
    wanted: int,
    least: int,
    kept: Sequence[ExecutorPod],
    observed: Observation,
    due: Mapping[int, float],
    room: tuple[str, str] | None,
) -> TaskExecutors | None:
    """Return the entry of the status for a task's executors; None: it needs none, without a problem.

    Args:
        pod: pod of the task.
        report: the pod's report.
        wanted: number of executors that the task should have.
        least: number of executors that it has without a backlog.
        kept: executors that count towards the wanted number.
        observed: the Connector.
        due: by number of an ended executor, the seconds until it is replaced.
        room: reason and message why executors make room for the pod of a task or job; None: they do not.
    """
    trouble = report.executors_trouble or ""
    if wanted == 0:
        is_unused = report.executors_wanted is None and trouble
        return TaskExecutors(0, 0, Reason.UNUSED, trouble[:_LENGTH]) if is_unused else None
    running = sum(e.phase is Phase.RUNNING for e in kept)
    # Without a backlog there may be no Spark session to connect to: running executors then count as ready.
    waits = not report.executors and not trouble and (report.executors_wanted or 0) <= least
    connected = running if waits or report.executors is None else report.executors
    ready = min(running, connected, wanted)
    if ready == wanted:
        return TaskExecutors(wanted, ready, Reason.HINDERED if trouble else "", trouble[:_LENGTH])
    reason, message = room or next(_causes(pod, kept, observed, due, trouble))
    return TaskExecutors(wanted, ready, reason, message[:_LENGTH])


def _causes(
    pod: TaskPod, kept: Sequence[ExecutorPod], observed: Observation, due: Mapping[int, float], trouble: str
) -> Iterator[tuple[str, str]]:
    """Yield reasons and messages, the most specific first."""
    present = {e.name for e in observed.pods.executors}
    for number in range(len(present) + 1):
        refusal = observed.pods.refusals.get(of_executor(name := executor_name(pod.name, number)))
        if refusal is not None and name not in present:
            yield refusal.reason, f"pod {name} is refused: {refusal.message}"
    for executor in kept:
        if executor.hindrance is not None:
            reason, message = executor.hindrance
            remedy = _NOT_MOUNTED if pod.spark_secret in message else ""
            yield reason, f"pod {executor.name} does not start: {message}{remedy}"
    for executor in kept:
        if executor.ended is not None:
            again = timestamp(observed.now + due[executor.number])
            yield (
                executor.ended.cause,
                f"pod {executor.name} ended ({executor.ended.describe()}); it is replaced at {again}",
            )
    for executor in kept:
        if executor.last_end is not None and executor.phase is not Phase.RUNNING:
            reason, message = executor.last_end
            yield reason, f"pod {executor.name} is starting, and replaces one that ended ({message})"
    # The task also reports trouble while no executor can be connected yet, such as while an image is being pulled.
    starting = [e for e in kept if e.phase is Phase.WAITING]
    if starting:
        first = min(starting, key=lambda e: e.created)
        yield Reason.STARTING, f"pod {first.name} has been starting since {timestamp(first.created)}"
    if trouble:
        yield Reason.HINDERED, trouble
    yield Reason.STARTING, "executors are starting, or are not connected to the task yet"


def state_of(tasks: Mapping[int, TaskExecutors]) -> ExecutorsState | None:
    """Return the status, reason and message of `ExecutorsReady`; None: no executor is needed."""
    short = {n: t for n, t in tasks.items() if t.reason}
    if not short:
        wanted = sum(t.wanted for t in tasks.values())
        return ExecutorsState(True, Reason.CONNECTED, f"{wanted} of {wanted} executors are ready") if tasks else None
    texts = [f"task {n}: {_number(t)}{t.message}" for n, t in sorted(short.items())[:_NAMED]]
    rest = len(short) - len(texts)
    message = "; ".join([*texts, *([f"and {rest} more tasks"] if rest else [])])
    return ExecutorsState(False, min(short.items())[1].reason, message)


def _number(task: TaskExecutors) -> str:
    return f"{task.ready} of {task.wanted} executors are ready: " if task.wanted else ""
