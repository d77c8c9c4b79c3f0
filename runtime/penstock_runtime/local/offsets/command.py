"""`penstock offsets list|alter|reset`: the same work as that of the operator's job pods, for one connector of a file."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, TypeVar

from penstock.connector import Connector as ConnectorPlugin
from penstock.errors import ConfigError, ConnectError, Problem
from penstock.offsets import Offset, OffsetUpdates, SourcePartition
from penstock.source import SourceConnector
from penstock_model.connect.redaction import Redactor
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobRequest, OffsetsVerb, OffsetsWork, Outcome
from penstock_model.resources.connector import Connector
from penstock_runtime.job.altering import requested_offsets
from penstock_runtime.job.answer import answer_request
from penstock_runtime.job.listing import entries_of, read_entries, to_json
from penstock_runtime.job.offsets_change import refuse_members, target_to_ask
from penstock_runtime.job.offsets_target import Target
from penstock_runtime.job.preparing import ClientErrors, with_kafka
from penstock_runtime.job.rivals import rival_of
from penstock_runtime.job.sink_positions import check_positions, positions_of, seen_by
from penstock_runtime.kafka.groups import Groups
from penstock_runtime.local.offsets.options import OffsetsOptions
from penstock_runtime.local.offsets.view import change_table, list_table, partition_of_kafka
from penstock_runtime.local.run import RunOptions, worker_config
from penstock_runtime.logs import say
from penstock_runtime.manifests.reader import chosen, read_manifests
from penstock_runtime.plan.literals import plugin_secrets
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.task.redactor import redactor_of

__all__ = ["alter_offsets", "list_offsets", "reset_offsets"]

T = TypeVar("T")
_CODES: Final = {
    Outcome.DONE: ExitCode.OK,
    Outcome.INVALID: ExitCode.CONFIG_INVALID,
    Outcome.SUPERSEDED: ExitCode.SUPERSEDED,
    Outcome.UNAVAILABLE: ExitCode.UNAVAILABLE,
    Outcome.REFUSED: ExitCode.FAILED,
    Outcome.FAILED: ExitCode.FAILED,
}


def list_offsets(options: OffsetsOptions) -> ExitCode:
    """Print the offsets, as the connector's next task would find them.

    Raises:
        ConfigError: the file, the worker configuration or what names the offsets is wrong.
        ConnectError: Kafka is away, or refuses.
    """
    request, redactor = _request(options)
    target, entries = _told(redactor, lambda: read_entries(request.model_copy(update={"kind": _kind(request)})))
    if options.as_json:
        sys.stdout.write(f"{to_json(entries)}\n")
        return ExitCode.OK
    places = [p for e in entries if (p := partition_of_kafka(e["partition"])) is not None]
    bounds = seen_by(target, places).bounds if places else {}
    sys.stdout.write(list_table(entries, {p: end for p, (_, end) in bounds.items()}))
    say(f"{target.place.connector}: {_count(len(entries))}{_hint(target, entries)}")
    return ExitCode.OK


def alter_offsets(options: OffsetsOptions) -> ExitCode:
    """Set the positions of a JSON document, once they were shown and confirmed.

    Raises:
        ConfigError: the file, a configuration or the document is wrong; every problem is told.
        ConnectError: somebody else may run the connector; Kafka is away, or refuses.
    """
    if options.file == "-" and options.offsets == "-":
        raise ConfigError(
            Problem("--offsets", "is missing: standard input holds the manifest, so name a file of offsets")
        )
    request, redactor = _request(options)
    document = _text(options.offsets)
    work = OffsetsWork(verb=OffsetsVerb.ALTER, document=document)
    return _change("alter", options, request, work, redactor)


def reset_offsets(options: OffsetsOptions) -> ExitCode:
    """Forget all offsets, once they were shown and confirmed. Raises as `alter_offsets`."""
    request, redactor = _request(options)
    return _change("reset", options, request, OffsetsWork(verb=OffsetsVerb.RESET), redactor)


def _change(verb: str, options: OffsetsOptions, request: JobRequest, work: OffsetsWork, redactor: Redactor) -> ExitCode:
    target, before, changes = _told(redactor, lambda: _look(verb, request, work, is_forced=options.is_forced))
    sys.stdout.write(change_table(before, changes))
    others = len(before.keys() - changes.keys())
    say(
        f"{target.place.connector}: {_count(len(changes))} to {verb}, {_count(others)} more that stay{_hint(target, before)}"
    )
    if options.is_dry:
        say("Nothing was written, and the plugin was not asked (--dry-run).")
        return ExitCode.OK
    if not options.is_sure and not _confirmed(verb):
        say("Nothing was done.")
        return ExitCode.FAILED
    answer = answer_request(request.model_copy(update={"offsets": work}), redactor)
    failed = answer.outcome is not Outcome.DONE
    for line in filter(None, [answer.message, *map(str, answer.problems)]):
        say(f"penstock: {line}" if failed else line, level=logging.ERROR if failed else logging.INFO)
    return _CODES[answer.outcome]


def _look(
    verb: str, request: JobRequest, work: OffsetsWork, *, is_forced: bool
) -> tuple[Target, dict[SourcePartition, Offset], OffsetUpdates]:
    """Whose offsets they are, what they are now, and what is to change. Nothing is written, and the plugin is not asked."""
    client_errors = ClientErrors()
    target = target_to_ask(verb, request, client_errors)
    place = target.place
    requested = requested_offsets(target, work.document) if verb == "alter" else None

    def look() -> dict[SourcePartition, Offset]:
        if rival := rival_of(place):
            if not is_forced:
                raise ConnectError(f"{rival}. If nothing of that runs any more, since it was killed, add --force.")
            say(f"warning: {rival}. --force was given, so that is passed over.", level=logging.WARNING)
        if "sink" in target.kinds:
            refuse_members(verb, target, Groups(place.settings))
            check_positions(target, positions_of(requested or {}))
        return {SourcePartition(e["partition"]): e["offset"] for e in entries_of(target)}

    before = with_kafka(look, place.shared, place.settings, client_errors=client_errors)
    return target, before, dict.fromkeys(before) if requested is None else requested


def _request(options: OffsetsOptions) -> tuple[JobRequest, Redactor]:
    """The request to a job pod that does the same, and what hides its secrets."""
    worker = worker_config(
        RunOptions([options.file], options.bootstrap_servers, Path(), options.worker, options.secrets, "INFO")
    )
    if worker.bootstrap_servers is None:
        raise ConfigError(
            Problem("--bootstrap-servers", "is missing: name the Kafka that has the offsets, here or by --worker")
        )
    manifest = chosen(read_manifests([options.file]), options.connector)
    try:
        resource = manifest.connector
        if resource.reading.problems:
            raise ConfigError(resource.reading.problems)
    except ConfigError as e:
        raise ConfigError(Problem(f"{manifest.where}: {p.property}", p.message) for p in e.problems) from None
    request = JobRequest(
        action=Action.OFFSETS,
        id="command line",
        connector=_document(resource),
        worker=dict(worker.raw),
        secrets_dir=None if options.secrets is None else str(options.secrets),
    )
    redactor = redactor_of(resource.spec.config, request.worker, request.secrets_dir)
    secrets = plugin_secrets(resource.spec.class_name, resource.spec.config, Plugins.installed())
    return request, redactor.with_secrets(secrets)


def _document(resource: Connector) -> dict[str, object]:
    return resource.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"status"})


def _kind(request: JobRequest) -> Literal["source", "sink"] | None:
    """The kind of the connector's class; None where there is no such class here."""
    try:
        class_name = Connector.draft(request.connector).spec.class_name
        found = Plugins.installed().find(ConnectorPlugin, class_name).cls  # type: ignore[type-abstract]
    except ConfigError:
        return None
    return "source" if issubclass(found, SourceConnector) else "sink"


def _confirmed(verb: str) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError(Problem("--yes", f"is missing: nobody can be asked whether to {verb} these offsets"))
    sys.stderr.write(f"{verb.capitalize()} these offsets? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _told(redactor: Redactor, work: Callable[[], T]) -> T:
    """What the work returns. What its errors say holds no secret."""
    try:
        return work()
    except ConfigError as e:
        raise ConfigError(map(redactor.problem, e.problems), map(redactor.problem, e.warnings)) from None


def _hint(target: Target, found: object) -> str:
    if found or "." in target.place.connector:
        return ""
    return (
        f". On Kubernetes a connector's name in Kafka is <namespace>.{target.place.connector}: where that is meant, set "
        f"metadata.namespace or spec.connectName"
    )


def _count(number: int) -> str:
    return "1 position" if number == 1 else f"{number} positions"


def _text(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(Problem(file, "is not UTF-8 text; save it as UTF-8")) from None
    except OSError as e:
        raise ConfigError(Problem(file, f"cannot be read: {e.strerror}")) from None
