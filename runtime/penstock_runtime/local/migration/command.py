"""`penstock import`: prints manifests for connectors of Kafka Connect or Strimzi, and reports what does not carry over."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.errors import ConfigError, Problem
from penstock_model.connect.variables import resolve
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.fencing.foreign_ids import record_ids
from penstock_runtime.fencing.plan_fence import Place
from penstock_runtime.job.prepare import make_status_topic
from penstock_runtime.job.preparing import ClientErrors, with_kafka
from penstock_runtime.local.migration.found import Found, found_in
from penstock_runtime.local.migration.kept_secrets import keep_secrets
from penstock_runtime.local.migration.manifest import Imported, imported
from penstock_runtime.local.migration.options import ImportOptions
from penstock_runtime.local.migration.rest import connectors_of
from penstock_runtime.local.migration.yaml_out import to_yaml
from penstock_runtime.local.run import RunOptions, worker_config
from penstock_runtime.logs import say
from penstock_runtime.manifests.worker_file import read_texts
from penstock_runtime.manifests.yaml_text import documents
from penstock_runtime.pipeline.context import client_settings
from penstock_runtime.plugins.config_providers import ConfigProviders

__all__ = ["import_connectors"]


def import_connectors(options: ImportOptions) -> ExitCode:
    """Print the manifests, and report.

    Raises:
        ConfigError: an option or a file is wrong, or a connector has no name or class; all problems at once.
        ConnectError: Kafka Connect or Kafka does not answer, or refuses.
    """
    of_connect = {} if options.connect_worker is None else read_texts(options.connect_worker)
    worker = worker_config(RunOptions([], options.bootstrap_servers, Path(), options.worker, options.secrets, "INFO"))
    group = options.connect_group_id or of_connect.get("group.id", "")
    kafka = _kafka(worker, group, options.secrets) if options.records_ids else None
    made: list[Imported] = []
    problems: list[Problem] = []
    for found in _found(options, problems):
        try:
            made.append(imported(found, worker, of_connect, options.namespace, options.secrets))
        except ConfigError as e:
            problems += e.problems
    missing = [n for n in options.connectors if n not in {m.name for m in made}]
    problems += (Problem("--connector", f"there is no connector {n}, or none that has a class") for n in missing)
    problems += _twice(made)
    if problems:
        raise ConfigError(problems)
    if not made:
        say("There are no connectors.")
    if options.secrets_to is not None:
        keep_secrets(options.secrets_to, made)
    for one in made:
        _report(one, options.secrets_to)
        if kafka is not None and one.kind != "sink":
            say(f"  - {_recorded(one, kafka, group)}")
    _report_worker(of_connect)
    sys.stdout.write(to_yaml(m.manifest for m in made))
    return ExitCode.OK


def _kafka(worker: WorkerConfig, group: str, secrets: Path | None) -> WorkerConfig:
    """The worker configuration with the values of its variables, as clients need it.

    Raises:
        ConfigError: it has no brokers, there is no group.id, or a variable cannot be resolved.
    """
    with ConfigProviders(worker.raw, secrets) as providers:
        resolved = resolve(worker.raw, secrets, providers=providers.table)
    problems = [Problem(f"--worker: {p.property}", p.message) for p in resolved.problems]
    if worker.bootstrap_servers is None:
        problems.append(Problem("--bootstrap-servers", "is missing, and --worker names no brokers either"))
    if not group:
        text = (
            "is missing: transactional ids begin with the group.id of Kafka Connect's worker; or give --connect-worker"
        )
        problems.append(Problem("--connect-group-id", text))
    if problems:
        raise ConfigError(problems)
    return WorkerConfig.parse(resolved.values)


def _found(options: ImportOptions, problems: list[Problem]) -> Iterator[Found]:
    """What was found of the connectors that are asked for; what is wrong is added to the problems."""
    if bool(options.files) == (options.connect_url is not None):
        raise ConfigError(Problem("FILE", "give files, or --connect-url URL, and not both"))
    for where, value in _documents(options, problems):
        for found in found_in(where, value, options.namespace):
            if isinstance(found, Problem):
                problems.append(found)
            elif not options.connectors or found.name in options.connectors:
                yield found


def _documents(options: ImportOptions, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    if options.connect_url is not None:
        where, answer = connectors_of(options.connect_url)
        if answer != {}:  # a worker without connectors
            yield where, answer
        return
    for file in options.files:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            problems.append(Problem(file, "is not UTF-8 text; save it as UTF-8"))
            continue
        except (OSError, AttributeError) as e:  # standard input is None where it was closed
            reason = getattr(e, "strerror", None) or "it is closed"
            problems.append(Problem(file, f"cannot be read: {reason}"))
            continue
        name = "standard input" if file == "-" else file
        for document in documents(text):
            problems += (Problem(f"{name}: {p.property}", p.message) for p in document.problems)
            if document.value is not None:
                yield f"{name}, document {document.number}", document.value


def _twice(made: Sequence[Imported]) -> Iterator[Problem]:
    """A problem for each whose resource would have the name of one before it."""
    first: dict[tuple[str, str], Imported] = {}
    for one in made:
        metadata = one.manifest["metadata"]
        other = first.setdefault((metadata.get("namespace", ""), metadata["name"]), one)
        if other is not one:
            text = (
                f"and {other.name} come to one metadata.name, {metadata['name']}: import each by itself (--connector), with "
                f"a --secrets-to of its own, and rename one in its manifest"
            )
            yield Problem(one.name, "is there twice" if other.name == one.name else text)


def _recorded(one: Imported, worker: WorkerConfig, group: str) -> str:
    """Record the transactional ids of Kafka Connect's tasks; what was done, in a sentence."""
    client_errors = ClientErrors()
    settings = replace(client_settings("source", one.name, {}, worker)[0], on_error=client_errors)
    topic = worker.status_storage_topic

    def record() -> str:
        make_status_topic(settings, worker)
        ids = record_ids(Place(one.name, worker.group_id, settings, settings, topic), group, one.tasks)
        last = f" to {ids[-1]}" if len(ids) > 1 else ""
        return (
            f"transactional ids {ids[0]}{last} are recorded in topic {topic}: they are fenced when it starts here with that "
            f"status.storage.topic, exactly once"
        )

    return with_kafka(record, settings, client_errors=client_errors)


def _report(one: Imported, folder: Path | None) -> None:
    spec, metadata = one.manifest["spec"], one.manifest["metadata"]
    say(f"{one.name}: Connector {metadata['name']}, {spec['class']}, {spec['state']}")
    for note in one.notes:
        say(f"  - {''.join(c if c.isprintable() else '?' for c in str(note))}")
    if folder is not None:
        namespace = f" --namespace {metadata['namespace']}" if "namespace" in metadata else ""
        for name in one.secrets:
            say(f"  - kubectl create secret generic {name}{namespace} --from-file={folder / name}")


def _report_worker(of_connect: Mapping[str, str]) -> None:
    """What of Kafka Connect's worker applies to all its connectors, and belongs into the release's worker configuration."""
    names = [n for n in of_connect if n.startswith(("producer.", "consumer.", "admin.", "topic.creation.", "errors."))]
    if names:
        say(
            f"Kafka Connect's worker sets {', '.join(names)} for all its connectors: see that the release's worker does."
        )
