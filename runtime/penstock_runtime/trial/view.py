"""Output of `penstock transform`: text for people, JSON lines for scripts."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, TextIO

from penstock import Record
from penstock_runtime.pipeline.error_tolerance import describe
from penstock_runtime.trial.record_diff import changed_parts, changes
from penstock_runtime.trial.record_format import plain_record, type_text, value_text
from penstock_runtime.trial.samples import Sample
from penstock_runtime.trial.trial import Outcome, StageResult, Trial

__all__ = ["JsonLines", "Text", "View"]

_INDENT: Final = "     "
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ODD: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, which a terminal would interpret, and surrogates, which UTF-8 cannot encode."""


class View(Protocol):
    """Printer of the results of records."""

    def show(self, sample: Sample) -> Outcome:
        """Run a record through the chain, and print the result of each stage.

        Returns:
            The outcome of the last stage.
        """

    def end(self, ends: Counter[Outcome]) -> None:
        """Print the summary of all records."""


class JsonLines:
    """Printer of one JSON line for each record and stage, or one for a record that cannot be read."""

    def __init__(self, trial: Trial, out: TextIO) -> None:
        self._trial = trial
        self._out = out

    def show(self, sample: Sample) -> Outcome:
        """Print the lines of a record."""
        place = {"record": sample.number, "place": sample.place}
        if isinstance(sample.read, str):
            error = {"stage": "INPUT", "plugin": None, "inPredicate": False, "class": None, "message": sample.read}
            nothing: dict[str, Any] = {"alias": None, "class": None, "predicate": None, "changed": [], "result": None}
            self._write({**place, **nothing, "outcome": Outcome.FAILED, "error": error})
            return Outcome.FAILED
        last = Outcome.UNCHANGED
        for result in self._trial.on(sample.read):
            self._write({**place, **self._line(result)})
            last = result.outcome
        return last

    def end(self, ends: Counter[Outcome]) -> None:
        """Print nothing: there is no summary."""

    def _line(self, result: StageResult) -> dict[str, Any]:
        step, place = result.stage.step, result.stage.place
        predicate = {"alias": place.predicate, "negate": step.negate, "held": result.held} if place.predicate else None
        error = None
        if result.failure is not None:
            f = result.failure
            error = {
                "stage": f.stage,
                "plugin": f.plugin,
                "inPredicate": result.in_predicate,
                "class": type(f.error).__name__,
                "message": str(f.error),
            }
        return {
            "alias": step.alias,
            "class": step.name,
            "predicate": predicate,
            "outcome": result.outcome,
            "changed": [] if result.after is None else changed_parts(result.before, result.after),
            "result": None if result.after is None else plain_record(result.after),
            "error": error,
        }

    def _write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False)
        if _SURROGATE.search(text):  # half of a surrogate pair, which JSON can hold but UTF-8 cannot
            text = json.dumps(line)
        self._out.write(self._trial.redactor(text) + "\n")
        self._out.flush()


class Text:
    """Printer of text for people: each record with its stages, and the changes at each."""

    def __init__(self, trial: Trial, out: TextIO) -> None:
        self._trial = trial
        self._out = out
        self._width = max((len(s.step.alias) for s in trial.stages), default=0)

    def show(self, sample: Sample) -> Outcome:
        """Print a block of lines."""
        lines = [f"record {sample.number} ({sample.place})"]
        if isinstance(sample.read, str):
            self._write([*lines, f"  cannot be read: {sample.read}"])
            return Outcome.FAILED
        lines += _whole("in", sample.read)
        last: StageResult | None = None
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
        """Print how many records went through, were dropped, or failed."""
        total, failed, dropped = sum(ends.values()), ends[Outcome.FAILED], ends[Outcome.DROPPED]
        if total:
            self._write(
                [
                    f"{total} record{'s' if total != 1 else ''}: {total - failed - dropped} went through, "
                    f"{dropped} dropped, {failed} failed"
                ],
                after="",
            )

    def _stage(self, number: int, result: StageResult) -> Iterator[str]:
        step, place = result.stage.step, result.stage.place
        guard = ""
        if place.predicate and not result.in_predicate:
            guard = f", predicate {place.predicate} {'holds' if result.held else 'does not hold'}"
            guard += ", negated" if step.negate else ""
        yield f"  {number}. {step.alias.ljust(self._width)}  {result.stage.type}{guard}{_RESULT[result.outcome]}"
        if result.after is not None:
            yield from (_INDENT + line for line in changes(result.before, result.after))
        if result.failure is not None:
            yield from (_INDENT + line for line in self._failure(result))

    def _failure(self, result: StageResult) -> Iterator[str]:
        failure, alias = result.failure, result.stage.step.alias
        assert failure is not None
        first, *more = describe(failure.error).splitlines()
        yield f"! {first}"
        yield from (f"  {line}" for line in more)
        where = (
            f"predicate {result.stage.place.predicate} of {failure.plugin}" if result.in_predicate else failure.plugin
        )
        yield f"  at stage {failure.stage}, {where}"
        properties = f"predicates.{result.stage.place.predicate}.*" if result.in_predicate else f"transforms.{alias}.*"
        if self._trial.tolerance == "all":
            kept = f"goes to {self._trial.dead_letters}" if self._trial.dead_letters else "is skipped"
            yield f"  In a task this record {kept} (errors.tolerance: all)."
        else:
            yield "  In a task this record fails the task (errors.tolerance: none)."
        yield f"  Correct {properties} or the data, or keep such records from {alias} with a predicate."

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
    """Yield lines with all parts of a record."""
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
