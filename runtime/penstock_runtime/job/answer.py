"""Carry out the request of a job pod, and build the answer without secrets."""

import logging
import traceback
from collections.abc import Callable, Iterable
from typing import Final

from penstock.errors import ConfigError, Problem, RetriableError, Superseded
from penstock_model.connect.version_messages import reported_once
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, JobRequest, OffsetsVerb, Outcome
from penstock_runtime.job.altering import alter
from penstock_runtime.job.listing import list_offsets
from penstock_runtime.job.resetting import reset, reset_of_valid
from penstock_runtime.job.validating import validate
from penstock_runtime.job.with_kafka import OffsetsRefused, Unavailable, prepare_plan
from penstock_runtime.pipeline.error_tolerance import sentence
from penstock_runtime.process.plugin_exit import as_failure

__all__ = ["answer_request"]

log = logging.getLogger("penstock_runtime.job")
_CHANGES: Final = {OffsetsVerb.RESET: reset_of_valid, OffsetsVerb.ALTER: alter}


def answer_request(request: JobRequest, redact: Callable[[str], str]) -> JobAnswer:
    """Carry out the request. Errors are returned in the answer, not raised."""

    def redacted(problems: Iterable[Problem]) -> tuple[JobProblem, ...]:
        return tuple(JobProblem(property=p.property, message=redact(p.message)) for p in problems)

    def answer_of(outcome: Outcome, message: str) -> JobAnswer:
        return JobAnswer(id=request.id, action=request.action, outcome=outcome, message=redact(message))

    try:
        answer, warnings = _carry_out(request)
    except ConfigError as e:
        invalid = answer_of(Outcome.INVALID, "")
        return invalid.model_copy(
            update={"problems": redacted(reported_once(e.problems)), "warnings": redacted(e.warnings)}
        )
    except Superseded as e:
        return answer_of(Outcome.SUPERSEDED, str(e))
    except OffsetsRefused as e:
        return answer_of(Outcome.REFUSED, str(e))
    except (RetriableError, Unavailable) as e:
        return answer_of(Outcome.UNAVAILABLE, str(e))
    except BaseException as e:  # noqa: BLE001 (a plugin may raise anything)
        error = as_failure(e)
        log.error("The job has failed: %s", error, extra={"trace": redact("".join(traceback.format_exception(error)))})
        message = sentence(error)
        return answer_of(Outcome.FAILED, message)
    return answer.model_copy(update={"message": redact(answer.message), "warnings": redacted(warnings)})


def _carry_out(request: JobRequest) -> tuple[JobAnswer, Iterable[Problem]]:
    done = JobAnswer(id=request.id, action=request.action, outcome=Outcome.DONE)
    match request.action:
        case Action.PLAN:
            validated = validate(request)
            epoch = None
            if request.prepare and validated.first is not None:
                epoch = prepare_plan(validated.first, request.status, request.owner)
            return done.model_copy(update={"plan": validated.answer, "epoch": epoch}), validated.warnings
        case Action.PREPARE:
            if request.task is None:
                raise ConfigError(Problem("task", "is missing: Prepare needs the first task of the plan"))
            return done.model_copy(update={"epoch": prepare_plan(request.task, request.status, request.owner)}), ()
        case Action.RESET_OFFSETS:
            message, warnings = reset(request)
            return done.model_copy(update={"message": message}), warnings
        case Action.OFFSETS:
            if request.offsets is None:
                raise ConfigError(Problem("offsets", "is missing: Offsets needs a verb"))
            message = _CHANGES[request.offsets.verb](request, request.offsets)
            return done.model_copy(update={"message": message}), ()
        case Action.LIST_OFFSETS:
            return done.model_copy(update={"offsets": list_offsets(request)}), ()
