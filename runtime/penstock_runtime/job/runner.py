"""Process of a job pod: reads the request, and writes the answer and a termination message.

The answer is the only line of standard output. Output of plugins goes to the log, which is standard error. Answer, log and
termination message contain no secrets.
"""

import argparse
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

from penstock.errors import ConfigError
from penstock_logging import log_warnings_and_uncaught_errors
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, JobRequest, Outcome
from penstock_model.contracts.job_answer import RequestTexts, answer_line
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.texts import cut_trace
from penstock_model.resources.connector import Connector
from penstock_runtime import logs
from penstock_runtime.job.answer import answer_request
from penstock_runtime.plan.mounted_images import check_images
from penstock_runtime.plan.plaintext_passwords import plugin_secrets
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.plugins.mounted import append_folders, python_folders
from penstock_runtime.process import termination_message
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.process.plugin_place import place_of_frame
from penstock_runtime.process.stdio_capture import last_lines, redirect_to_log
from penstock_runtime.task.redactor import redactor_of

__all__ = ["leave", "run"]

log = logging.getLogger("penstock_runtime.job")
_TRACE: Final = 16_000


def run(arguments: list[str]) -> ExitCode:
    """Answer the request in a file, and return the exit code, which is OK for every answer."""
    parser = argparse.ArgumentParser(prog="penstock_runtime.job")
    parser.add_argument("request", type=Path, help="the request, a JSON file")
    parser.add_argument("--log-level", default="INFO")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stopped)
    answer_descriptor = os.dup(1)
    os.dup2(2, 1)
    try:
        request = JobRequest.from_json(options.request.read_bytes())
    except (ConfigError, OSError) as e:
        sys.stderr.write(f"{e}\n")
        termination_message.write(TerminationMessage(exit_code=ExitCode.CONFIG_INVALID, message=str(e)))
        return ExitCode.CONFIG_INVALID
    texts, class_name = _config_and_class(request.connector)
    redactor = [redactor_of(texts, request.worker, request.secrets_dir)]

    def redact(text: str) -> str:
        return redactor[0](text)

    logs.configure(level=options.log_level, stream=sys.__stderr__, redact=redact, context=lambda: {"job": request.id})
    log_warnings_and_uncaught_errors()
    redirect_to_log(redact)
    append_folders(python_folders(request.mounts))
    try:
        # Listing offsets calls no plugin, whose import may hang, and returns no property. A plugin that differs from its
        # PluginVersion is not called either; the answer gives the reason.
        if request.action is not Action.LIST_OFFSETS and not check_images(request.mounts):
            plugins = Plugins.installed(request.mounts)
            redactor[0] = redactor[0].with_secrets(plugin_secrets(class_name, texts, plugins))
        answer = answer_request(request, redact)
        _write(answer_descriptor, f"{answer_line(answer, _texts_of_request(request))}\n".encode())
    except BaseException as e:  # noqa: BLE001 (end of the process: every error is reported, even `sys.exit`)
        return _failed(as_failure(e), redact)
    termination_message.write(TerminationMessage(exit_code=ExitCode.OK, message=_message(answer)))
    return ExitCode.OK


def leave(code: int) -> NoReturn:
    """Exit immediately, because a thread of abandoned work may still wait for Kafka."""
    with suppress(OSError):
        last_lines()
        logging.shutdown()
        (sys.__stderr__ or sys.stderr).flush()
    os._exit(code)


def _stopped(number: int, frame: FrameType | None) -> NoReturn:
    """Report which plugin call was in progress when the pod was stopped, and exit with the code of the signal."""
    code, message = 128 + number, f"The process was killed by signal {number} (SIGTERM)."
    termination_message.write(TerminationMessage(exit_code=code, message=message, trouble=place_of_frame(frame)))
    os._exit(code)


def _config_and_class(document: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Return `spec.config` and `spec.class` of a document that may be malformed."""
    spec = document.get("spec")
    config = spec.get("config") if isinstance(spec, Mapping) else None
    class_name = spec.get("class") if isinstance(spec, Mapping) else None
    return {str(k): str(v) for k, v in config.items()} if isinstance(config, Mapping) else {}, str(class_name or "")


def _texts_of_request(request: JobRequest) -> RequestTexts:
    """Return the strings of the request that the answer does not repeat."""
    try:
        return Connector.draft(request.connector).request_texts(request.worker)
    except ConfigError:  # then there is no plan either
        return RequestTexts({}, {}, request.worker)


def _message(answer: JobAnswer) -> str | None:
    if answer.outcome is Outcome.DONE:
        return None
    return "\n".join(filter(None, [f"{answer.outcome}:", answer.message, *map(str, answer.problems)]))


def _failed(error: Exception, redact: Callable[[str], str]) -> ExitCode:
    trace = cut_trace(redact("".join(traceback.format_exception(error))), _TRACE)
    message = redact(f"{type(error).__name__}: {error}")
    log.error("The job has failed: %s", message, extra={"trace": trace})
    termination_message.write(TerminationMessage(exit_code=ExitCode.FAILED, message=message, trace=trace))
    return ExitCode.FAILED


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
