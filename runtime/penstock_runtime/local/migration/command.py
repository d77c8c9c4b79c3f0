"""`penstock import`: prints manifests for connectors of Kafka Connect or Strimzi, and reports what does not carry over."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from penstock.errors import ConfigError, Problem
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.fencing.foreign_ids import record_ids
from penstock_runtime.fencing.plan_fence import Place
from penstock_runtime.job.prepare import make_status_topic
from penstock_runtime.job.preparing import ClientErrors, with_kafka
from penstock_runtime.job.rivals import known_of
from penstock_runtime.local.migration.found import Found, found_in
from penstock_runtime.local.migration.manifest import Imported, imported
from penstock_runtime.local.migration.options import ImportOptions
from penstock_runtime.local.migration.rest import connectors_of
from penstock_runtime.local.run import RunOptions, worker_config
from penstock_runtime.logs import say
from penstock_runtime.manifests.worker_file import read_worker
from penstock_runtime.manifests.yaml_text import documents
from penstock_runtime.pipeline.context import client_settings

__all__ = ["import_connectors"]

_GROUP: Final = "connect-cluster"


def import_connectors(options: ImportOptions) -> ExitCode:
    """Print the manifests, and report.

    Raises:
        ConfigError: an option or a file is wrong, or a connector has no name or class; all problems at once.
        ConnectError: Kafka Connect or Kafka does not answer, or refuses.
    """
    of_connect = dict(read_worker(options.connect_worker).config.raw) if options.connect_worker is not None else {}
    worker = worker_config(RunOptions([], options.bootstrap_servers, Path(), options.worker, None, "INFO"))
    if options.records_ids and worker.bootstrap_servers is None:
        raise ConfigError(Problem("--bootstrap-servers", "is missing, and --worker names no brokers either"))
    made: list[Imported] = []
    problems: list[Problem] = []
    for found in _found(options):
        try:
            made.append(imported(found, worker, of_connect, options.namespace))
        except ConfigError as e:
            problems += e.problems
    if options.connectors:
        missing = [n for n in options.connectors if n not in {m.name for m in made}]
        problems += (Problem("--connector", f"there is no connector {n}") for n in missing)
        made = [m for m in made if m.name in options.connectors]
    problems += _twice(made)
    if problems:
        raise ConfigError(problems)
    if not made:
        say("There are no connectors.")
    group = options.connect_group_id or of_connect.get("group.id") or _GROUP
    for one in made:
        _report(one, _recorded(one, worker, group) if options.records_ids else "")
    for one in made:
        _keep(one, options.secrets)
    text = "---\n".join(yaml.safe_dump(dict(m.manifest), sort_keys=False, allow_unicode=True, width=120) for m in made)
    sys.stdout.write(text)
    return ExitCode.OK


def _found(options: ImportOptions) -> Iterator[Found]:
    if bool(options.files) == (options.connect_url is not None):
        raise ConfigError(Problem("FILE", "give files, or --connect-url URL, and not both"))
    problems: list[Problem] = []
    for where, value in _documents(options, problems):
        for found in found_in(where, value):
            if isinstance(found, Problem):
                problems.append(found)
            else:
                yield found
    if problems:
        raise ConfigError(problems)


def _documents(options: ImportOptions, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    if options.connect_url is not None:
        where, answer = connectors_of(options.connect_url)
        if answer != {}:  # a worker without connectors
            yield where, answer
        return
    for file in options.files:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
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
                f"and {other.name} come to one metadata.name, {metadata['name']}: import each by itself (--connector)"
            )
            yield Problem(one.name, "is there twice" if other.name == one.name else text)


def _recorded(one: Imported, worker: WorkerConfig, group: str) -> str:
    """What was recorded of the transactional ids of Kafka Connect's tasks, in a sentence."""
    if one.kind == "sink":
        return ""
    client_errors = ClientErrors()
    settings, _ = client_settings("source", one.name, {}, worker)

    def record() -> str:
        place = Place(one.name, worker.group_id, settings, settings, worker.status_storage_topic)
        make_status_topic(settings, worker)
        if rival := known_of(place).rival:
            return f"no transactional ids were recorded: {rival}; then import it again"
        ids = record_ids(place, group, one.tasks)
        last = f" to {ids[-1]}" if len(ids) > 1 else ""
        return f"transactional ids {ids[0]}{last} are recorded; they are fenced when it starts here"

    return with_kafka(record, settings, client_errors=client_errors)


def _report(one: Imported, recorded: str) -> None:
    spec = one.manifest["spec"]
    say(f"{one.name}: Connector {one.manifest['metadata']['name']}, {spec['class']}, {spec['state']}")
    for note in one.notes:
        say(f"  - {note}")
    if recorded:
        say(f"  - {recorded}")


def _keep(one: Imported, folder: Path | None) -> None:
    """Write secrets to files that their owner alone can read."""
    if folder is None:
        return
    for name, texts in one.secrets.items():
        place = folder / name
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        for key, text in texts.items():
            descriptor = os.open(place / key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        say(f"  - {one.name}: kubectl create secret generic {name} --from-file={place}")
