"""`penstock import`: prints manifests for connectors of Kafka Connect or Strimzi, and reports the steps to move them."""

import logging
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_cli.manifests.worker_file import read_texts
from penstock_cli.migration.connect_cluster import ConnectCluster
from penstock_cli.migration.documents import found_in
from penstock_cli.migration.found import Finding, LeftOut, NoConnector
from penstock_cli.migration.guidance import Moved, Step, bring, steps
from penstock_cli.migration.inventory import Inventory
from penstock_cli.migration.manifest import Imported, imported
from penstock_cli.migration.options import ImportOptions
from penstock_cli.migration.rest import answers_of
from penstock_cli.migration.secret_files import keep_secrets
from penstock_cli.migration.sources import Source, read_sources
from penstock_cli.migration.table import Refused, lines, row
from penstock_cli.migration.yaml_out import to_yaml
from penstock_cli.run import worker_config
from penstock_model.connect.variables import resolve
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.fencing.foreign_ids import record_ids
from penstock_runtime.fencing.plan_fence import Place
from penstock_runtime.job.prepare import make_status_topic
from penstock_runtime.job.with_kafka import ClientErrors, with_kafka
from penstock_runtime.logs import say
from penstock_runtime.pipeline.context import client_settings
from penstock_runtime.plugins.config_providers import ConfigProviders

__all__ = ["import_connectors"]

_OFFSETS: Final = "offset.storage.topic"
_NAMED: Final = 6
"""Maximum number of connectors to name when a remark applies to several."""


def import_connectors(options: ImportOptions) -> ExitCode:
    """Print the manifests and the report.

    A connector without a manifest (it has no class, or the name of another connector) and a document that cannot be read
    do not affect the others.

    Raises:
        ConfigError: an option is invalid, or no connector can be read; the error lists all problems.
        ConnectError: Kafka Connect or Kafka is unreachable, or rejects a request.
    """
    of_connect = {} if options.connect_worker is None else read_texts(options.connect_worker)
    worker = worker_config(options.worker, options.secrets, options.bootstrap_servers)
    problems: list[Problem] = []
    digests = dict(_digests(options, problems))
    url, inventory = _inventory(options)
    moved, refused = _manifests(options, inventory, of_connect, worker)
    problems += _unfound(options, inventory, moved, refused)
    problems += _offset_topics(options, moved, worker)
    kafka = None
    if options.records_ids:
        groups = [_group(m, options) for m in moved if m.made.kind != "sink"]
        try:
            kafka = _kafka(worker, options.secrets, has_groups=all(groups))
        except ConfigError as e:
            problems += e.problems
    if problems or not (moved or refused):
        raise ConfigError([*problems, *inventory.problems, *(Problem(r.name, r.reason) for r in refused)])
    if options.secrets_to is not None:
        keep_secrets(options.secrets_to, [m.made for m in moved])
    _report([m.made for m in moved], refused, inventory.left_out)
    if kafka is not None:
        for m in moved:
            if m.made.kind != "sink":
                say(f"{m.made.name}: {_recorded(m.made, kafka, _group(m, options))}")
    brought = bring(moved, inventory, digests)
    has_ids = kafka is not None
    _report_steps(steps(moved, brought, url, options.secrets_to, are_recorded=has_ids, again=options.again))
    rows = [row(m.made, is_brought=brought.has(m)) for m in moved]
    if len(rows) + len(refused) > 1 or refused:
        for line in lines(rows, refused):
            say(_printable(line))
    for problem in inventory.problems:
        say(_printable(str(problem)), level=logging.ERROR)
    sys.stdout.write(to_yaml([*brought.versions, *(m.made.manifest for m in moved)]))
    if refused or inventory.problems:
        return ExitCode.CONFIG_INVALID
    return ExitCode.OK if all(r.runs == "yes" for r in rows) else ExitCode.FAILED


def _manifests(
    options: ImportOptions, inventory: Inventory, of_connect: Mapping[str, str], worker: WorkerConfig
) -> tuple[list[Moved], list[Refused]]:
    """Return the requested connectors with their manifests, and those that have none."""
    moved: list[Moved] = []
    refused: list[Refused] = []
    first: dict[tuple[str, str], str] = {}
    for found in inventory.connectors:
        cluster = inventory.cluster_of(found)
        if options.connectors and found.name not in options.connectors:
            continue
        if options.kafka_connect is not None and not _is_named(cluster, options.kafka_connect):
            continue
        of_worker = of_connect or ({} if cluster is None else cluster.properties)
        known = inventory.plugins(cluster)
        try:
            made = imported(found, worker, of_worker, options.namespace, options.secrets, known)
        except ConfigError as e:
            reasons = (str(p).removeprefix(f"{found.where}: ") for p in e.problems)
            refused.append(Refused(found.name or Path(found.where).name, "; ".join(reasons)))
            continue
        metadata = made.manifest["metadata"]
        other = first.setdefault((metadata.get("namespace", ""), metadata["name"]), made.name)
        same = (m for m in moved if (m.made.name, m.made.namespace) == (made.name, made.namespace))
        if twin := next(same, None):
            reason = f"{_short(twin.found.where)} has another connector of this name"
            remedy = f"import the one in {_short(found.where)} separately, for another release"
            refused.append(Refused(made.name, f"{reason}; {remedy}"))
        elif other != made.name:
            reason = (
                f"has the metadata.name of {other}, {metadata['name']}; import it separately (--connector), with a separate "
                "--secrets-to, and rename it in its manifest"
            )
            refused.append(Refused(made.name, reason))
        else:
            moved.append(Moved(found, made, cluster, of_worker))
    counts = Counter(m.made.name for m in moved)
    moved = [replace(m, made=_one_of_several(m.made)) if counts[m.made.name] > 1 else m for m in moved]
    return moved, refused


def _one_of_several(made: Imported) -> Imported:
    """Return a connector with the remark that a connector of another namespace has the same Connect name."""
    remark = Problem(
        "spec.connectName",
        f"connectors in several namespaces, so in several Kafka Connects, have the name {made.name}, but a release can run "
        "only one of them; install a release for each, with the group.id and the internal topics of its Kafka Connect",
    )
    return replace(made, remarks=(*made.remarks, remark), is_ambiguous=True)


def _short(where: str) -> str:
    """Return a location without the folder of its file."""
    return where.rpartition("/")[2]


def _is_named(cluster: ConnectCluster | None, name: str) -> bool:
    return cluster is not None and name in (cluster.name, f"{cluster.namespace}/{cluster.name}")


def _unfound(
    options: ImportOptions, inventory: Inventory, moved: Sequence[Moved], refused: Sequence[Refused]
) -> Iterator[Problem]:
    """Yield a problem for each option whose object does not exist, or if there is no connector at all."""
    names = {m.made.name for m in moved} | {r.name for r in refused}
    for name in options.connectors:
        if name not in names:
            yield Problem("--connector", f"there is no connector {name}, or none that has a class")
    clusters = inventory.clusters
    if options.kafka_connect is not None and not any(_is_named(c, options.kafka_connect) for c in clusters):
        there = ", ".join(c.name for c in clusters) or "none"
        yield Problem("--kafka-connect", f"there is no KafkaConnect {options.kafka_connect}; available: {there}")
    images = [i.reference for c in clusters for i in c.images if i.reference]
    for image in options.images:
        tag = image.partition("@")[0]
        if "@" in image and tag not in images:
            yield Problem("--image", f"no KafkaConnect has the image {tag}; available: {', '.join(images) or 'none'}")
    if not names and not options.connectors and not inventory.problems:
        yield Problem("", "the input contains no connectors")


def _offset_topics(options: ImportOptions, moved: Sequence[Moved], worker: WorkerConfig) -> Iterator[Problem]:
    """Yield a problem if a single release cannot read the positions of all connectors."""
    clusters = list(dict.fromkeys((m.cluster.name, m.cluster.namespace) for m in moved if m.cluster is not None))
    places = {(m.worker.get(_OFFSETS), _hosts(m.cluster)) for m in moved if m.cluster is not None}
    if len(places) > 1:
        names = ", ".join(f"{namespace}/{name}" if namespace else name for name, namespace in clusters)
        text = (
            f"KafkaConnects {names} keep positions in different topics, but a release has one offset.storage.topic; import "
            "each separately with --kafka-connect NAMESPACE/NAME, for a separate release"
        )
        yield Problem("", text)
    if options.worker is None:
        return
    for topic in dict.fromkeys(m.worker.get(_OFFSETS) for m in moved):
        if topic and topic != worker.offset_storage_topic:
            text = (
                f"{_OFFSETS} is {worker.offset_storage_topic}, but the connectors have their positions in {topic}; set "
                f"{_OFFSETS}={topic}, or they start from the beginning"
            )
            yield Problem("--worker", text)


def _hosts(cluster: ConnectCluster | None) -> frozenset[str]:
    """Return the hosts of a cluster's brokers: one Kafka has several listeners, each with its own port."""
    servers = "" if cluster is None else cluster.bootstrap_servers
    return frozenset(server.strip().rpartition(":")[0] for server in servers.split(","))


def _group(m: Moved, options: ImportOptions) -> str:
    return options.connect_group_id or m.worker.get("group.id", "")


def _digests(options: ImportOptions, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """Yield the name of each given image with its tag, and its reference by digest."""
    for image in options.images:
        if (given := re.fullmatch(r"([^@\s]+)@sha256:[0-9a-f]{64}", image)) is None:
            text = (
                f"{image} has no digest; write <repository>:<tag>@sha256:<64 hex digits>, as `crane digest` prints it"
            )
            problems.append(Problem("--image", text))
        else:
            yield given[1], image


def _kafka(worker: WorkerConfig, secrets: Path | None, *, has_groups: bool) -> WorkerConfig:
    """Return the worker configuration with its variables resolved, as clients need it.

    Raises:
        ConfigError: it has no brokers, there is no group.id, or a variable cannot be resolved.
    """
    with ConfigProviders(worker.raw, secrets) as providers:
        resolved = resolve(worker.raw, secrets, providers=providers.table)
    problems = [Problem(f"--worker: {p.property}", p.message) for p in resolved.problems]
    if worker.bootstrap_servers is None:
        problems.append(Problem("--bootstrap-servers", "is missing, and --worker has no bootstrap.servers either"))
    if not has_groups:
        text = "is missing: transactional ids begin with the group.id of Kafka Connect's worker; set it or --connect-worker"
        problems.append(Problem("--connect-group-id", text))
    if problems:
        raise ConfigError(problems)
    return WorkerConfig.parse(resolved.values)


def _inventory(options: ImportOptions) -> tuple[str | None, Inventory]:
    """Return the address of the queried Kafka Connect, and the findings."""
    if bool(options.files) == (options.connect_url is not None):
        raise ConfigError(Problem("FILE", "specify either files or --connect-url URL"))
    url, sources = None, read_sources(options.files)
    if options.connect_url is not None:
        url, connectors, plugins = answers_of(options.connect_url)
        sources = iter([Source(url, answer) for answer in (connectors, plugins) if answer])
    return url, Inventory(f for source in sources for f in _findings(source, options))


def _findings(source: Source, options: ImportOptions) -> Iterator[Finding]:
    found: Iterable[Finding] = (
        (source.value,)
        if isinstance(source.value, Problem)
        else found_in(source.where, source.value, options.namespace, options.name)
    )
    for finding in found:
        if isinstance(finding, NoConnector) and source.is_of_folder:
            yield LeftOut(source.where, f"document that is not a connector ({source.where})")
        else:
            yield finding


def _recorded(one: Imported, worker: WorkerConfig, group: str) -> str:
    """Record the transactional ids of Kafka Connect's tasks. Return a message that names them."""
    client_errors = ClientErrors()
    settings = replace(client_settings("source", one.name, {}, worker)[0], on_error=client_errors)
    topic = worker.status_storage_topic

    def record() -> str:
        make_status_topic(settings, worker)
        ids = record_ids(Place(one.name, worker.group_id, settings, settings, topic), group, one.tasks)
        last = f" to {ids[-1]}" if len(ids) > 1 else ""
        return (
            f"transactional ids {ids[0]}{last} are recorded in topic {topic}: if the connector runs here exactly once, with "
            f"that status.storage.topic, its start fences them"
        )

    return with_kafka(record, settings, client_errors=client_errors)


def _report(made: Sequence[Imported], refused: Sequence[Refused], left_out: Sequence[LeftOut]) -> None:
    """Report the settings that are not carried over. A note that applies to several connectors is printed once."""
    counts = Counter(note for one in made for note in one.notes)
    for one in made:
        spec, metadata = one.manifest["spec"], one.manifest["metadata"]
        say(f"{one.label}: Connector {metadata['name']}, {spec['class']}, {spec['state']}")
        for note in one.notes:
            if counts[note] == 1:
                say(f"  - {_printable(str(note))}")
    for note, count in counts.items():
        if count > 1:
            names = [one.label for one in made if note in one.notes]
            listed = ", ".join(names[:_NAMED]) + (f" and {count - _NAMED} more" if count > _NAMED else "")
            say(f"{'all connectors' if count == len(made) else listed}:")
            say(f"  - {_printable(str(note))}")
    for other in refused:
        say(_printable(f"{other.name}: has no manifest: {other.reason}"))
    if left_out:
        kinds = Counter(one.kind for one in left_out)
        say(f"Skipped: {', '.join(f'{n} {kind}' for kind, n in kinds.items())}")


def _report_steps(found: Sequence[Step]) -> None:
    if found:
        say("Steps to take, in this order; connectors.yaml is the output of this command:")
    for number, step in enumerate(found, 1):
        say(f"{number}. {step.what}")
        for line in step.lines:
            say(f"     {_printable(line)}")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
