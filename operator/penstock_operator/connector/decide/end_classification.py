"""Classify the end of a task's pod as a failure, an unavailable service, a refused configuration or a loss. Pure."""

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.resources.task_restart import TaskEnd
from penstock_operator.connector.model.pod_end import OUT_OF_MEMORY, Ended
from penstock_operator.reasons import Reason

__all__ = ["kind_and_reason"]


def kind_and_reason(ended: Ended) -> tuple[TaskEnd, str]:
    """Return the kind of end for `next_restart`, and the reason for the status."""
    if ended.lost:
        return TaskEnd.LOST, _reason_of_loss(ended)
    match ended.code:
        case ExitCode.OK:
            return TaskEnd.LOST, Reason.ENDED
        case ExitCode.STALLED:
            return TaskEnd.LOST, Reason.HEALTH_CHECK_FAILED
        case ExitCode.SUPERSEDED:
            return TaskEnd.LOST, Reason.SUPERSEDED
        case ExitCode.CONFIG_INVALID:
            return TaskEnd.REFUSED, Reason.CONFIG_INVALID
        case ExitCode.UNAVAILABLE:
            return TaskEnd.STOPPED, Reason.UNAVAILABLE
        case _:
            return TaskEnd.FAILED, Reason.FAILED


def _reason_of_loss(ended: Ended) -> str:
    if ended.reason not in ("Error", "", Reason.LOST):
        return ended.reason
    if ended.code != ExitCode.LOST:
        return Reason.PROCESS_KILLED
    reported = None if ended.word is None else ended.word.reason
    return reported if reported in (Reason.JVM_LOST, OUT_OF_MEMORY) else Reason.SPARK_LOST
