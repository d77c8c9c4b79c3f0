"""`penstock transform`: a connector's transforms tried on sample records, before the connector is applied."""

import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

from penstock import ConfigError, Problem, Record
from penstock.exit_codes import ExitCode
from penstock_runtime.discovery import Plugins
from penstock_runtime.engine.tolerance import describe
from penstock_runtime.local.changes import changed_parts, changes
from penstock_runtime.local.samples import Reader, Sample, Schemas
from penstock_runtime.local.shown import plain_record, type_text, value_text
from penstock_runtime.local.trial import Outcome, Trial, Tried
from penstock_runtime.logs import say
from penstock_runtime.manifests import Manifest, read_manifests

__all__ = ["TransformOptions", "transform"]


@dataclass(frozen=True)
class TransformOptions:
    """What the command line says.

    Attributes:
        file: the manifest; `-` is standard input.
        connector: which of several; None: the only one.
        records: the file of sample records; `-` is standard input.
        secrets: where `${secret:..}` is found.
        topic: of records that name none; None: one of the connector's.
        schemas: whether keys and values stand in an envelope.
        bare: each JSON is a value alone.
        as_json: for scripts.
    """

    file: str
    connector: str | None = None
    records: str = "-"
    secrets: Path | None = None
    topic: str | None = None
    schemas: Schemas = Schemas.DETECT
    bare: bool = False
    as_json: bool = False


def transform(options: TransformOptions, stdin: TextIO | None = None, stdout: TextIO | None = None) -> ExitCode:
    """Try the chain on every record, and print what each stage makes of it.

    Returns:
        FAILED when a record could not be read or failed at a stage, else OK: records that were dropped are well.

    Raises:
        ConfigError: every problem with the chain, or with the files.
    """
    given, out = stdin or sys.stdin, stdout or sys.stdout
    if options.file == "-" and options.records == "-":
        raise ConfigError(
            Problem("--records", "is missing: standard input holds the manifest, so name a file of records")
        )
    where, trial = _trial(options, given)
    with ExitStack() as stack:
        stack.enter_context(closing(trial))
        for warning in trial.warnings:
            say(f"warning: {where}: {warning}", level=logging.WARNING)
        if not trial.stages:
            say(f"warning: {where}: there are no transforms; records pass as they are", level=logging.WARNING)
        lines = given if options.records == "-" else stack.enter_context(_opened(options.records))
        if lines.isatty():
            say("Type records, one JSON object a line; Ctrl-D ends them.")
        reader = Reader(options.topic or trial.topic, trial.sink, options.schemas, options.bare)
        view: _View = _Json(trial, out) if options.as_json else _Text(trial, out)
        ends: Counter[Outcome] = Counter()
        try:
            for sample in reader.samples(lines):
                ends[view.show(sample)] += 1
        except UnicodeDecodeError:
            name = "standard input" if options.records == "-" else options.records
            raise ConfigError(Problem(name, "the records are not UTF-8 text; save them as UTF-8")) from None
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED
        if not ends:
            say("warning: there were no records", level=logging.WARNING)
        view.end(ends)
        return ExitCode.FAILED if ends[Outcome.FAILED] else ExitCode.OK


def _trial(options: TransformOptions, stdin: TextIO) -> tuple[str, Trial]:
    manifest = _chosen(read_manifests([options.file], stdin), options.connector)
    try:
        return manifest.where, Trial.of(manifest.connector, Plugins.installed(), options.secrets)
    except ConfigError as e:
        told = [[Problem(f"{manifest.where}: {p.property}", p.message) for p in of] for of in (e.problems, e.warnings)]
        raise ConfigError(*told) from None


def _chosen(manifests: Sequence[Manifest], name: str | None) -> Manifest:
    """The one of that name, or the only one.

    Raises:
        ConfigError: there is none, or there are several; says which.
    """
    readable = [(m, m.read) for m in manifests if not isinstance(m.read, ConfigError)]
    if name is None:
        if len(manifests) == 1:
            return manifests[0]
        if len(readable) == 1 and all(_is_of_another_kind(m) for m in manifests if m is not readable[0][0]):
            return readable[0][0]
        wrong = [Problem(f"{m.where}: {p.property}", p.message) for m in manifests for p in _problems(m)]
        names = ", ".join(c.connect_name for _, c in readable)
        raise ConfigError(
            [Problem("--connector", f"is missing: there are several connectors: {names}; name one"), *wrong]
        )
    of_name = [m for m, c in readable if name in (c.connect_name, c.metadata.name)]
    if len(of_name) == 1:
        return of_name[0]
    names = ", ".join(dict.fromkeys(c.connect_name for _, c in readable)) or "none that can be read"
    wrong = [Problem(f"{m.where}: {p.property}", p.message) for m in manifests for p in _problems(m)]
    what = "several are called" if of_name else "there is no connector"
    raise ConfigError([Problem("--connector", f"{what} {name}; there are: {names}"), *wrong])


def _is_of_another_kind(manifest: Manifest) -> bool:
    """Whether it is no connector at all, as a TopicCreationPolicy in the same file."""
    return bool(_problems(manifest)) and all(p.property == "kind" for p in _problems(manifest))


def _problems(manifest: Manifest) -> tuple[Problem, ...]:
    return manifest.read.problems if isinstance(manifest.read, ConfigError) else ()


def _opened(file: str) -> TextIO:
    try:
        return Path(file).open(encoding="utf-8")
    except OSError as e:
        raise ConfigError(Problem(file, f"cannot be read: {e.strerror}")) from None


class _View(Protocol):
    def show(self, sample: Sample) -> Outcome: ...

    def end(self, ends: Counter[Outcome]) -> None: ...


class _Json:
    """One line of JSON for each record and stage; one alone for a record that cannot be read."""

    def __init__(self, trial: Trial, out: TextIO) -> None:
        self._trial = trial
        self._out = out

    def show(self, sample: Sample) -> Outcome:
        place = {"record": sample.number, "place": sample.place}
        if isinstance(sample.read, str):
            error = {"stage": "INPUT", "plugin": None, "inPredicate": False, "class": None, "message": sample.read}
            nothing = {"alias": None, "class": None, "predicate": None, "changed": [], "result": None}
            self._write({**place, **nothing, "outcome": Outcome.FAILED, "error": error})
            return Outcome.FAILED
        last = Outcome.UNCHANGED
        for tried in self._trial.on(sample.read):
            self._write({**place, **self._line(tried)})
            last = tried.outcome
        return last

    def end(self, ends: Counter[Outcome]) -> None:
        pass

    def _line(self, tried: Tried) -> dict[str, Any]:
        step, place = tried.stage.step, tried.stage.place
        predicate = {"alias": place.predicate, "negate": step.negate, "held": tried.held} if place.predicate else None
        error = None
        if tried.failure is not None:
            f = tried.failure
            error = {"stage": f.stage, "plugin": f.plugin, "inPredicate": tried.in_predicate,
                     "class": type(f.error).__name__, "message": str(f.error)}  # fmt: skip
        return {
            "alias": step.alias,
            "class": step.name,
            "predicate": predicate,
            "outcome": tried.outcome,
            "changed": [] if tried.after is None else changed_parts(tried.before, tried.after),
            "result": None if tried.after is None else plain_record(tried.after),
            "error": error,
        }

    def _write(self, line: dict[str, Any]) -> None:
        self._out.write(self._trial.redactor(json.dumps(line, ensure_ascii=False)) + "\n")
        self._out.flush()


_INDENT: Final = "     "
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


class _Text:
    """For people: each record with its stages, and what has changed at each."""

    def __init__(self, trial: Trial, out: TextIO) -> None:
        self._trial = trial
        self._out = out
        self._width = max((len(s.step.alias) for s in trial.stages), default=0)

    def show(self, sample: Sample) -> Outcome:
        lines = [f"record {sample.number} ({sample.place})"]
        if isinstance(sample.read, str):
            self._write([*lines, f"  cannot be read: {sample.read}"])
            return Outcome.FAILED
        lines += _whole("in", sample.read)
        last: Tried | None = None
        for number, last in enumerate(self._trial.on(sample.read), 1):
            lines += self._stage(number, last)
        outcome, after = (Outcome.UNCHANGED, sample.read) if last is None else (last.outcome, last.after)
        if after is not None:
            lines += _whole("out", after)
        elif last is not None:
            lines.append(f"  out  nothing: {outcome} at {last.stage.step.alias}")
        self._write(lines)
        return outcome

    def end(self, ends: Counter[Outcome]) -> None:
        total, failed, dropped = sum(ends.values()), ends[Outcome.FAILED], ends[Outcome.DROPPED]
        if total:
            self._write([f"{total} record{'s' if total != 1 else ''}: {total - failed - dropped} went through, "
                         f"{dropped} dropped, {failed} failed"], after="")  # fmt: skip

    def _stage(self, number: int, tried: Tried) -> Iterator[str]:
        step, place = tried.stage.step, tried.stage.place
        guard = ""
        if place.predicate and not tried.in_predicate:
            guard = f", predicate {place.predicate} {'holds' if tried.held else 'does not hold'}"
            guard += ", negated" if step.negate else ""
        yield f"  {number}. {step.alias.ljust(self._width)}  {tried.stage.type}{guard}{_RESULT[tried.outcome]}"
        if tried.after is not None:
            yield from (_INDENT + line for line in changes(tried.before, tried.after))
        if tried.failure is not None:
            yield from (_INDENT + line for line in self._failure(tried))

    def _failure(self, tried: Tried) -> Iterator[str]:
        failure, alias = tried.failure, tried.stage.step.alias
        assert failure is not None
        told, *more = describe(failure.error).splitlines()
        yield f"! {told}"
        yield from (f"  {line}" for line in more)
        where = f"predicate {tried.stage.place.predicate} of {failure.plugin}" if tried.in_predicate else failure.plugin
        yield f"  at stage {failure.stage}, {where}"
        own = f"predicates.{tried.stage.place.predicate}.*" if tried.in_predicate else f"transforms.{alias}.*"
        if self._trial.tolerance == "all":
            kept = f"goes to {self._trial.dead_letters}" if self._trial.dead_letters else "is passed over"
            yield f"  In a task this record {kept} (errors.tolerance: all)."
        else:
            yield "  In a task this record fails the task (errors.tolerance: none)."
        yield f"  Correct {own} or the data, or keep such records from {alias} with a predicate."

    def _write(self, lines: Sequence[str], after: str = "\n") -> None:
        # A record may hold what a terminal would obey.
        plain = (_CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}", self._trial.redactor(line)) for line in lines)
        self._out.write("".join(f"{line}\n" for line in plain) + after)
        self._out.flush()


_RESULT: Final = {
    Outcome.CHANGED: "",
    Outcome.UNCHANGED: ": changes nothing",
    Outcome.PASSED_BY: ": passed by",
    Outcome.DROPPED: ": dropped",
    Outcome.FAILED: ": failed",
}


def _whole(title: str, record: Record) -> Iterator[str]:
    """A record: its value, and beside it what else it has."""
    parts = [f"topic {record.topic}"]
    parts += [f"{n} {getattr(record, n)}" for n in ("partition", "timestamp") if getattr(record, n) is not None]
    if record.key is not None:
        parts.append(f"key {value_text(record.key_schema, record.key)}")
    parts += [f"header {h.name} {value_text(h.schema, h.value)}" for h in record.headers]
    yield f"  {title.ljust(4)} {', '.join(parts)}"
    yield f"       value {value_text(record.value_schema, record.value)}"
    for side, schema in (("key", record.key_schema), ("value", record.value_schema)):
        if schema is not None:
            yield f"       {side} schema {type_text(schema)}"
