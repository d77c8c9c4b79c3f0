"""The process of a job: reads the request, answers in one line of standard output, leaves a last word.

Standard output holds that line alone: what plugins print goes to the log, which is standard error, and like the answer and
the last word it is without secrets.
"""

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from penstock.errors import ConfigError
from penstock_logging import log_warnings_and_uncaught_errors
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import JobAnswer, JobRequest, Outcome
from penstock_model.contracts.job_answer import RequestTexts, answer_line
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.resources.connector import Connector
from penstock_runtime import logs
from penstock_runtime.job.answer import answered
from penstock_runtime.plan.literals import plugin_secrets
from penstock_runtime.task.pod import termination_message
from penstock_runtime.task.redactor import redactor_of
from penstock_runtime.task.stdio_capture import become_log_lines, last_lines

__all__ = ["leave", "run"]

log = logging.getLogger("penstock_runtime.job")
_TRACE: Final = 16_000


def run(arguments: list[str]) -> ExitCode:
    """Answer; OK for whatever was answered."""
    parser = argparse.ArgumentParser(prog="penstock_runtime.job")
    parser.add_argument("request", type=Path, help="the request, a JSON file")
    parser.add_argument("--log-level", default="INFO")
    options = parser.parse_args(arguments)
    answers_to = os.dup(1)
    os.dup2(2, 1)
    try:
        request = JobRequest.from_json(options.request.read_bytes())
    except (ConfigError, OSError) as e:
        sys.stderr.write(f"{e}\n")
        termination_message.write(TerminationMessage(exit_code=ExitCode.CONFIG_INVALID, message=str(e)))
        return ExitCode.CONFIG_INVALID
    texts, class_name = _texts(request.connector)
    known = [redactor_of(texts, request.worker, request.secrets_dir)]

    def redact(text: str) -> str:
        return known[0](text)

    logs.configure(level=options.log_level, stream=sys.__stderr__, redact=redact, context=lambda: {"job": request.id})
    log_warnings_and_uncaught_errors()
    become_log_lines(redact)
    known[0] = known[0].with_secrets(plugin_secrets(class_name, texts))
    try:
        answer = answered(request, redact)
        _write(answers_to, f"{answer_line(answer, _written(request))}\n".encode())
    except Exception as e:  # noqa: BLE001 (the end of the process: whatever it was is told)
        return _failed(e, redact)
    termination_message.write(TerminationMessage(exit_code=ExitCode.OK, message=_said(answer)))
    return ExitCode.OK


def leave(code: int) -> NoReturn:
    """End now: work that was given up may still wait for Kafka in a thread."""
    with suppress(OSError):
        last_lines()
        logging.shutdown()
        (sys.__stderr__ or sys.stderr).flush()
    os._exit(code)


def _texts(document: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """The configuration and the class in a document that may be anything."""
    spec = document.get("spec")
    config = spec.get("config") if isinstance(spec, Mapping) else None
    class_name = spec.get("class") if isinstance(spec, Mapping) else None
    return {str(k): str(v) for k, v in config.items()} if isinstance(config, Mapping) else {}, str(class_name or "")


def _written(request: JobRequest) -> RequestTexts:
    """What an answer need not repeat."""
    try:
        return RequestTexts.of(Connector.draft(request.connector), request.worker)
    except ConfigError:  # then there is no plan either
        return RequestTexts({}, {}, request.worker)


def _said(answer: JobAnswer) -> str | None:
    if answer.outcome is Outcome.DONE:
        return None
    return "\n".join(filter(None, [f"{answer.outcome}:", answer.message, *map(str, answer.problems)]))


def _failed(error: Exception, redact: Callable[[str], str]) -> ExitCode:
    trace = redact("".join(traceback.format_exception(error)))[-_TRACE:]
    message = redact(f"{type(error).__name__}: {error}")
    log.error("The job has failed: %s", message, extra={"trace": trace})
    termination_message.write(TerminationMessage(exit_code=ExitCode.FAILED, message=message, trace=trace))
    return ExitCode.FAILED


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
