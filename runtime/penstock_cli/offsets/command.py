"""`penstock offsets list|alter|reset`: do the work of the operator's job pods for one connector in a file."""

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from penstock.connector import Connector as ConnectorPlugin
from penstock.errors import ConfigError, ConnectError, Problem
from penstock.offsets import Offset, OffsetUpdates, SourcePartition
from penstock.sink import TopicPartition
from penstock.source import SourceConnector
from penstock_cli.offsets.given import document_of, redacted, request_of
from penstock_cli.offsets.options import OffsetsOptions
from penstock_cli.offsets.view import change_table, list_table, partition_of_kafka
from penstock_model.connect.redaction import Redactor
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import JobRequest, OffsetsVerb, OffsetsWork, Outcome
from penstock_model.resources.connector import Connector
from penstock_runtime.job.altering import requested_offsets
from penstock_runtime.job.answer import answer_request
from penstock_runtime.job.listing import entries_of, read_entries, to_json
from penstock_runtime.job.offsets_change import refuse_members, target_to_ask
from penstock_runtime.job.offsets_target import Target
from penstock_runtime.job.rivals import known_of
from penstock_runtime.job.sink_positions import check_positions, positions_of, seen_by
from penstock_runtime.job.with_kafka import ClientErrors, OffsetsRefused, with_kafka
from penstock_runtime.kafka.groups import Groups
from penstock_runtime.logs import say
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["alter_offsets", "list_offsets", "reset_offsets"]

Entries: TypeAlias = Sequence[Mapping[str, Any]]
Ends: TypeAlias = Mapping[TopicPartition, int]
_CODES: Final = {
    Outcome.DONE: ExitCode.OK,
    Outcome.INVALID: ExitCode.CONFIG_INVALID,
    Outcome.SUPERSEDED: ExitCode.SUPERSEDED,
    Outcome.UNAVAILABLE: ExitCode.UNAVAILABLE,
    Outcome.REFUSED: ExitCode.FAILED,
    Outcome.FAILED: ExitCode.FAILED,
}


def list_offsets(options: OffsetsOptions) -> ExitCode:
    """Print the offsets, as the connector's next task would read them.

    Raises:
        ConfigError: the file, the worker configuration or a property that names the offsets is wrong.
        ConnectError: Kafka is unreachable, or rejects the request.
    """
    request, redactor = request_of(options)
    kind = _kind(request)

    def read() -> tuple[Target, Entries, Ends]:
        target, entries = read_entries(request.model_copy(update={"kind": kind}))
        return target, entries, _ends(target, entries)

    target, entries, ends = redacted(redactor, read)
    if options.as_json:
        sys.stdout.write(f"{to_json(entries)}\n")
        return ExitCode.OK
    sys.stdout.write(list_table(entries, ends, has_sink="sink" in target.kinds))
    hint = ""
    if not entries and "." not in target.place.connector:
        hint = (
            f". If it uses other internal topics, pass its worker configuration (--worker). On Kubernetes the name in Kafka "
            f"is <namespace>.{target.place.connector}: set metadata.namespace or spec.connectName"
        )
    say(f"{target.place.connector}: {_count(len(entries))}{hint}")
    return ExitCode.OK


def _ends(target: Target, entries: Entries) -> Ends:
    places = [p for e in entries if "sink" in target.kinds and (p := partition_of_kafka(e)) is not None]
    bounds = seen_by(target, places).bounds if places else {}
    return {place: end for place, (_, end) in bounds.items()}


def alter_offsets(options: OffsetsOptions) -> ExitCode:
    """Set the positions in a JSON document, after showing them and asking for confirmation.

    Raises:
        ConfigError: the file, a configuration or the document is invalid; the error lists all problems.
        ConnectError: the connector may be running elsewhere; Kafka is unreachable, or rejects the request.
    """
    if options.file == "-" and options.offsets == "-":
        raise ConfigError(Problem("--offsets", "is missing: standard input has the manifest; pass a file of offsets"))
    request, redactor = request_of(options)
    document = document_of(options.offsets)
    work = OffsetsWork(verb=OffsetsVerb.ALTER, document=document)
    return _change("alter", options, request, work, redactor)


def reset_offsets(options: OffsetsOptions) -> ExitCode:
    """Delete all offsets, after showing them and asking for confirmation. Raises as `alter_offsets`."""
    request, redactor = request_of(options)
    return _change("reset", options, request, OffsetsWork(verb=OffsetsVerb.RESET), redactor)


def _change(verb: str, options: OffsetsOptions, request: JobRequest, work: OffsetsWork, redactor: Redactor) -> ExitCode:
    try:
        looked = redacted(redactor, lambda: _look(verb, request, work, is_forced=options.is_forced))
    except OffsetsRefused as e:
        say(f"penstock: {e}", level=logging.ERROR)
        return ExitCode.FAILED
    target, changes = looked.target, looked.changes
    is_shown = _is_printed(change_table(looked.before, changes, is_sink=target.kinds == {"sink"}))
    others = len(looked.before.keys() - changes.keys())
    staying = f"; {_count(others)} more, which are kept" if others else ""
    say(f"{target.place.connector}: {_count(len(changes))} to {verb}{staying} ({_where(target)})")
    if options.is_dry:
        say("Nothing was written, and the plugin was not called (--dry-run).")
        return ExitCode.OK
    if not is_shown and not options.is_sure:
        say("Nothing was done: the table cannot be printed, so it cannot be confirmed; use --yes.")
        return ExitCode.FAILED
    try:
        is_confirmed = options.is_sure or _confirmed(verb)
    except KeyboardInterrupt:
        is_confirmed = False
    if not is_confirmed:
        say("Nothing was done.")
        return ExitCode.FAILED
    # Ensures that the table is still current: a start of the connector since then records a greater generation.
    work = work.model_copy(update={"generation": looked.generation})
    try:
        answer = answer_request(request.model_copy(update={"offsets": work}), redactor)
    except KeyboardInterrupt:
        say("The outcome is unknown, because the command was interrupted; list the offsets.", level=logging.ERROR)
        return ExitCode.INTERRUPTED
    failed = answer.outcome is not Outcome.DONE
    for line in filter(None, [answer.message, *map(str, answer.problems)]):
        say(f"penstock: {line}" if failed else line, level=logging.ERROR if failed else logging.INFO)
    return _CODES[answer.outcome]


@dataclass(frozen=True)
class _Looked:
    """Target of the offsets, their current values, the changes, and the greatest recorded plan generation."""

    target: Target
    before: Mapping[SourcePartition, Offset]
    changes: OffsetUpdates
    generation: int


def _look(verb: str, request: JobRequest, work: OffsetsWork, *, is_forced: bool) -> _Looked:
    """Read the current offsets. Nothing is written, and the plugin is not called.

    Raises:
        ConfigError: the configuration or the document is wrong.
        OffsetsRefused: the consumer group has members, or the plugin fails.
        ConnectError: the connector may be running elsewhere; Kafka is unreachable, or rejects the request.
    """
    client_errors = ClientErrors()
    target = target_to_ask(verb, request, client_errors)
    place = target.place
    requested = requested_offsets(target, work.document) if verb == "alter" else None

    def look() -> _Looked:
        known = known_of(place)
        if known.rival and not is_forced:
            raise ConnectError(
                f"{known.rival}. If none of these is running any more because it was killed, add --force; this is necessary "
                f"until the connector has been started and stopped normally."
            )
        if known.rival:
            say(f"warning: {known.rival}. --force was given, so this is ignored.", level=logging.WARNING)
        elif known.is_unknown:
            say(
                f"warning: topic '{place.status_topic}' has no records of {place.connector}, so a running task would "
                f"not be detected. If the connector runs with another worker configuration, pass it by --worker.",
                level=logging.WARNING,
            )
        if "sink" in target.kinds:
            refuse_members(verb, target, Groups(place.settings))
            if requested is not None:
                check_positions(target, positions_of(requested))
        before = {SourcePartition(e["partition"]): e["offset"] for e in entries_of(target)}
        changes = dict.fromkeys(before) if requested is None else requested
        return _Looked(target, before, changes, known.generation)

    return with_kafka(look, place.shared, place.settings, client_errors=client_errors)


def _where(target: Target) -> str:
    if target.kinds == {"sink"}:
        return f"consumer group {target.group}"
    topics = list(dict.fromkeys(topic for _, topic in target.topics))
    return f"topic{'s' if len(topics) > 1 else ''} {' and '.join(topics)}"


def _kind(request: JobRequest) -> Literal["source", "sink"] | None:
    """Return the kind of the connector's class; None if the class is not installed here."""
    try:
        class_name = Connector.draft(request.connector).spec.class_name
        found = Plugins.installed().find(ConnectorPlugin, class_name).cls  # type: ignore[type-abstract]
    except ConfigError:
        return None
    return "source" if issubclass(found, SourceConnector) else "sink"


def _is_printed(text: str) -> bool:
    """Print a text. Return False if standard output is closed; later output is then discarded."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()  # before the question, which goes to standard error
    except (OSError, AttributeError):  # it is None if it was closed
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return False
    return True


def _confirmed(verb: str) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise ConfigError(
            Problem("--yes", f"is missing: without a terminal, you cannot be asked whether to {verb} these offsets")
        )
    sys.stderr.write(f"{verb.capitalize()} these offsets? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _count(number: int) -> str:
    return "1 position" if number == 1 else f"{number} positions"
