"""What `penstock transform` prints of records and stages: text for people, lines of JSON for scripts."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, TextIO

from penstock import Record
from penstock_runtime.local.transform.record_diff import changed_parts, changes
from penstock_runtime.local.transform.record_format import plain_record, type_text, value_text
from penstock_runtime.local.transform.samples import Sample
from penstock_runtime.local.transform.trial import Outcome, Trial, Tried
from penstock_runtime.pipeline.record_errors import describe

__all__ = ["JsonLines", "Text", "View"]

_INDENT: Final = "     "
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ODD: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""What a terminal would obey, and what cannot be written."""


class View(Protocol):
    """Prints what happens to records."""

    def show(self, sample: Sample) -> Outcome:
        """Run a record through the chain, and print what each stage makes of it.

        Returns:
            how it ended.
        """

    def end(self, ends: Counter[Outcome]) -> None:
        """Print what comes after all records, given how they ended."""


class JsonLines:
    """One line of JSON for each record and stage; one alone for a record that cannot be read."""

    def __init__(self, trial: Trial, out: TextIO) -> None:
        self._trial = trial
        self._out = out

    def show(self, sample: Sample) -> Outcome:
        """Its lines."""
        place = {"record": sample.number, "place": sample.place}
        if isinstance(sample.read, str):
            error = {"stage": "INPUT", "plugin": None, "inPredicate": False, "class": None, "message": sample.read}
            nothing: dict[str, Any] = {"alias": None, "class": None, "predicate": None, "changed": [], "result": None}
            self._write({**place, **nothing, "outcome": Outcome.FAILED, "error": error})
            return Outcome.FAILED
        last = Outcome.UNCHANGED
        for tried in self._trial.on(sample.read):
            self._write({**place, **self._line(tried)})
            last = tried.outcome
        return last

    def end(self, ends: Counter[Outcome]) -> None:
        """Nothing: every line is one of a record."""

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
        text = json.dumps(line, ensure_ascii=False)
        if _SURROGATE.search(text):  # half a character, which JSON can hold and UTF-8 cannot
            text = json.dumps(line)
        self._out.write(self._trial.redactor(text) + "\n")
        self._out.flush()


class Text:
    """For people: each record with its stages, and what has changed at each."""

    def __init__(self, trial: Trial, out: TextIO) -> None:
        self._trial = trial
        self._out = out
        self._width = max((len(s.step.alias) for s in trial.stages), default=0)

    def show(self, sample: Sample) -> Outcome:
        """A block of lines."""
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
        """How many went through, were dropped, failed."""
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
        plain = (_ODD.sub(lambda m: f"\\x{ord(m[0]):02x}", self._trial.redactor(line)) for line in lines)
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
