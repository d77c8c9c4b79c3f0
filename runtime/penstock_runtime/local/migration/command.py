"""`penstock import`: prints manifests for connectors of Kafka Connect or Strimzi, and reports what to do with them."""

import re
import sys
from collections.abc import Iterator, Sequence
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
from penstock_runtime.local.migration.found import found_in
from penstock_runtime.local.migration.guidance import Moved, Step, bring, steps
from penstock_runtime.local.migration.inventory import Inventory
from penstock_runtime.local.migration.kept_secrets import keep_secrets
from penstock_runtime.local.migration.manifest import Imported, imported
from penstock_runtime.local.migration.options import ImportOptions
from penstock_runtime.local.migration.rest import answers_of
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
    problems: list[Problem] = []
    digests = dict(_digests(options, problems))
    url, inventory = _inventory(options, problems)
    moved: list[Moved] = []
    for found in inventory.connectors:
        if options.connectors and found.name not in options.connectors:
            continue
        cluster = inventory.cluster_of(found)
        of_worker = of_connect or ({} if cluster is None else cluster.properties)
        known = inventory.plugins(cluster)
        try:
            made = imported(found, worker, of_worker, options.namespace, options.secrets, known)
        except ConfigError as e:
            problems += e.problems
        else:
            moved.append(Moved(found, made, cluster, of_worker))
    missing = [n for n in options.connectors if n not in {m.made.name for m in moved}]
    problems += (Problem("--connector", f"there is no connector {n}, or none that has a class") for n in missing)
    problems += _twice([m.made for m in moved])
    kafka = None
    if options.records_ids:
        groups = [_group(m, options) for m in moved if m.made.kind != "sink"]
        try:
            kafka = _kafka(worker, options.secrets, has_groups=all(groups))
        except ConfigError as e:
            problems += e.problems
    if problems:
        raise ConfigError(problems)
    if options.secrets_to is not None:
        keep_secrets(options.secrets_to, [m.made for m in moved])
    for m in moved:
        _report(m.made)
        if kafka is not None and m.made.kind != "sink":
            say(f"  - {_recorded(m.made, kafka, _group(m, options))}")
    brought = bring(moved, inventory, digests)
    _report_steps(steps(moved, brought, url, options.secrets_to, are_recorded=kafka is not None))
    if not moved:
        say("There are no connectors.")
    sys.stdout.write(to_yaml([*brought.versions, *(m.made.manifest for m in moved)]))
    return ExitCode.OK


def _group(m: Moved, options: ImportOptions) -> str:
    return options.connect_group_id or m.worker.get("group.id", "")


def _digests(options: ImportOptions, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """Images by digest, by their names with a tag."""
    for image in options.images:
        if (given := re.fullmatch(r"([^@\s]+)@sha256:[0-9a-f]{64}", image)) is None:
            text = (
                f"{image} has no digest; write <repository>:<tag>@sha256:<64 hex digits>, as `crane digest` prints it"
            )
            problems.append(Problem("--image", text))
        else:
            yield given[1], image


def _kafka(worker: WorkerConfig, secrets: Path | None, *, has_groups: bool) -> WorkerConfig:
    """The worker configuration with the values of its variables, as clients need it.

    Raises:
        ConfigError: it has no brokers, there is no group.id, or a variable cannot be resolved.
    """
    with ConfigProviders(worker.raw, secrets) as providers:
        resolved = resolve(worker.raw, secrets, providers=providers.table)
    problems = [Problem(f"--worker: {p.property}", p.message) for p in resolved.problems]
    if worker.bootstrap_servers is None:
        problems.append(Problem("--bootstrap-servers", "is missing, and --worker names no brokers either"))
    if not has_groups:
        text = (
            "is missing: transactional ids begin with the group.id of Kafka Connect's worker; or give --connect-worker"
        )
        problems.append(Problem("--connect-group-id", text))
    if problems:
        raise ConfigError(problems)
    return WorkerConfig.parse(resolved.values)


def _inventory(options: ImportOptions, problems: list[Problem]) -> tuple[str | None, Inventory]:
    """The address of the Kafka Connect that was asked, and what was found; what is wrong is added to the problems."""
    if bool(options.files) == (options.connect_url is not None):
        raise ConfigError(Problem("FILE", "give files, or --connect-url URL, and not both"))
    url, documents = None, _documents(options.files, problems)
    if options.connect_url is not None:
        url, connectors, plugins = answers_of(options.connect_url)
        documents = ((url, answer) for answer in (connectors, plugins) if answer)
    inventory = Inventory(f for where, value in documents for f in found_in(where, value, options.namespace))
    problems += inventory.problems
    return url, inventory


def _documents(files: Sequence[str], problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    for file in files:
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


def _report(one: Imported) -> None:
    spec, metadata = one.manifest["spec"], one.manifest["metadata"]
    say(f"{one.name}: Connector {metadata['name']}, {spec['class']}, {spec['state']}")
    for note in one.notes:
        say(f"  - {_printable(str(note))}")


def _report_steps(found: Sequence[Step]) -> None:
    if found:
        say("What to do, in this order; connectors.yaml is what this command prints:")
    for number, step in enumerate(found, 1):
        say(f"{number}. {step.what}")
        for line in step.lines:
            say(f"     {_printable(line)}")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
