"""From a request to its answer: what each outcome of the work means, and nothing secret in it."""

import logging
import traceback
from collections.abc import Callable, Iterable

from penstock.errors import ConfigError, ConnectError, Problem, Superseded
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, JobRequest, Outcome
from penstock_runtime.job.preparing import Unavailable, prepared
from penstock_runtime.job.resetting import reset
from penstock_runtime.job.validating import validated

__all__ = ["answered"]

log = logging.getLogger("penstock_runtime.job")


def answered(request: JobRequest, redact: Callable[[str], str]) -> JobAnswer:
    """Do what is asked and say what came of it. Raises nothing that the work raises."""

    def findings(problems: Iterable[Problem]) -> tuple[JobProblem, ...]:
        return tuple(JobProblem(property=p.property, message=redact(p.message)) for p in problems)

    def said(outcome: Outcome, message: str) -> JobAnswer:
        return JobAnswer(id=request.id, action=request.action, outcome=outcome, message=redact(message))

    try:
        answer, warnings = _done(request)
    except ConfigError as e:
        invalid = said(Outcome.INVALID, "")
        return invalid.model_copy(update={"problems": findings(e.problems), "warnings": findings(e.warnings)})
    except Superseded as e:
        return said(Outcome.SUPERSEDED, str(e))
    except Unavailable as e:
        return said(Outcome.UNAVAILABLE, str(e))
    except Exception as e:  # noqa: BLE001 (a plugin may raise anything)
        log.error("The job has failed: %s", e, extra={"trace": redact("".join(traceback.format_exception(e)))})
        told = str(e) if isinstance(e, ConnectError) else f"{type(e).__name__}: {e}"
        return said(Outcome.FAILED, told)
    return answer.model_copy(update={"message": redact(answer.message), "warnings": findings(warnings)})


def _done(request: JobRequest) -> tuple[JobAnswer, Iterable[Problem]]:
    done = JobAnswer(id=request.id, action=request.action, outcome=Outcome.DONE)
    match request.action:
        case Action.PLAN:
            found = validated(request)
            standing = None
            if request.prepare and found.first is not None:
                standing = prepared(found.first, request.status, request.owner)
            return done.model_copy(update={"plan": found.answer, "standing": standing}), found.warnings
        case Action.PREPARE:
            if request.task is None:
                raise ConfigError(Problem("task", "is missing: Prepare needs the first task of the plan"))
            return done.model_copy(update={"standing": prepared(request.task, request.status, request.owner)}), ()
        case Action.RESET_OFFSETS:
            message, warnings = reset(request)
            return done.model_copy(update={"message": message}), warnings
