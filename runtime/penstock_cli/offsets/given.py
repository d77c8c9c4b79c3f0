"""Input of `penstock offsets`: the connector, the worker configuration, a document of offsets."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from penstock.errors import ConfigError, ConnectError, Problem
from penstock_cli.manifests.reader import chosen, read_manifests
from penstock_cli.offsets.options import OffsetsOptions
from penstock_cli.run import worker_config
from penstock_model.connect.redaction import Redactor
from penstock_model.contracts.job import Action, JobRequest
from penstock_runtime.java_plugins.jvm_redaction import hidden
from penstock_runtime.job.with_kafka import OffsetsRefused
from penstock_runtime.plan.plaintext_passwords import plugin_secrets
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.task.redactor import redactor_of

__all__ = ["document_of", "redacted", "request_of"]

T = TypeVar("T")


def request_of(options: OffsetsOptions) -> tuple[JobRequest, Redactor]:
    """Return the request that a job pod would get, and the redactor of its secrets.

    Raises:
        ConfigError: a file or an option is invalid.
    """
    worker = worker_config(options.worker, options.secrets, options.bootstrap_servers)
    if worker.bootstrap_servers is None:
        raise ConfigError(
            Problem("--bootstrap-servers", "is missing; set the brokers that have the offsets, here or in --worker")
        )
    manifest = chosen(read_manifests([options.file]).connectors, options.connector)
    try:
        resource = manifest.connector
        if resource.reading.problems:
            raise ConfigError(resource.reading.problems)
    except ConfigError as e:
        raise ConfigError(Problem(f"{manifest.where}: {p.property}", p.message) for p in e.problems) from None
    request = JobRequest(
        action=Action.OFFSETS,
        id="command line",
        connector=resource.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"status"}),
        worker=dict(worker.raw),
        secrets_dir=None if options.secrets is None else str(options.secrets),
    )
    redactor = redactor_of(resource.spec.config, request.worker, request.secrets_dir)
    secrets = plugin_secrets(resource.spec.class_name, resource.spec.config, Plugins.installed())
    return request, redactor.with_secrets(secrets)


def document_of(file: str) -> str:
    """Return the text of a file; `-` is standard input.

    Raises:
        ConfigError: it cannot be read, or is empty.
    """
    name = "standard input" if file == "-" else file
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        text = data.decode("utf-8-sig")  # Windows editors write a byte order mark
    except UnicodeDecodeError:
        raise ConfigError(Problem(name, "is not UTF-8 text; save it as UTF-8")) from None
    except (OSError, AttributeError) as e:  # standard input is None if it was closed
        raise ConfigError(Problem(name, f"cannot be read: {getattr(e, 'strerror', None) or 'it is closed'}")) from None
    if not text.strip():
        raise ConfigError(Problem(name, "is empty"))
    return text


def redacted(redactor: Redactor, work: Callable[[], T]) -> T:
    """Return the result of the work. Its errors are raised with secrets hidden."""

    def problem(of: Problem) -> Problem:
        return Problem(of.property, hidden(redactor.problem(of).message))

    try:
        return work()
    except ConfigError as e:
        raise ConfigError(map(problem, e.problems), map(problem, e.warnings)) from None
    except OffsetsRefused as e:
        raise OffsetsRefused(hidden(redactor(str(e)))) from None
    except ConnectError as e:
        raise ConnectError(hidden(redactor(str(e)))) from None
