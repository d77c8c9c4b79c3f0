"""Chain of transforms with their predicates, over columns with an exact fallback.

Each stage first calls its form for whole batches. If there is none, or it raises, every record is processed separately with
the per-record form, and records that fail there become `Failure`s: the others continue. A Java plugin returns a result for
each record of a batch, so that only failed records are retried.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.plugin import Predicate, Transform
from penstock.record import Record
from penstock_runtime.java_plugins.steps import JavaPredicate, JavaTransform
from penstock_runtime.pipeline.error_tolerance import RetryWithToleranceOperator, Stage

__all__ = ["Step", "has_own", "transform"]


@dataclass(frozen=True)
class Step:
    """One transform of a chain.

    Attributes:
        alias: name in `transforms`.
        transform: configured plugin.
        name: class of the plugin as in the configuration, for messages.
        predicate: condition of the transform; None: it always applies.
        negate: whether to apply the transform if the predicate does not hold.
    """

    alias: str
    transform: Transform
    name: str
    predicate: Predicate | None = None
    negate: bool = False


def transform(steps: Sequence[Step], batch: RecordBatch, operator: RetryWithToleranceOperator) -> RecordBatch:
    """Return the batch after the chain, without rows that were dropped or failed."""
    for step in steps:
        if not batch.length:
            return batch
        batch = _step(step, batch, operator)
    return batch


def _step(step: Step, batch: RecordBatch, operator: RetryWithToleranceOperator) -> RecordBatch:
    if step.predicate is None:
        return _apply(step, batch, operator)
    found: bool | Sequence[bool | Exception]
    if isinstance(step.predicate, JavaPredicate):
        found = step.predicate.test_rows(batch)
        failed = [row for row, answer in enumerate(found) if isinstance(answer, Exception)]
        if failed:
            rest = [row for row, answer in enumerate(found) if not isinstance(answer, Exception)]
            tested = _where(step, batch.take(rest), [found[row] for row in rest], operator)
            again = _singly(step, batch.take(failed), operator, answers=[found[row] for row in failed])
            return RecordBatch.merged(tested, again)
    elif has_own(step.predicate, Predicate, "test_batch"):
        try:
            found = step.predicate.test_batch(batch)
        except Exception:  # noqa: BLE001 (each record is tested separately below, and its errors are kept)
            return _singly(step, batch, operator, answers=[None] * batch.length)
    else:
        answers = [_answer(step.predicate, record) for record in batch.records()]
        if any(isinstance(a, Exception) for a in answers):
            return _singly(step, batch, operator, answers=[*answers])
        found = answers
    if not isinstance(found, (bool, Sequence)):
        raise returned.wrong(returned.name(step.predicate, "test_batch"), found, "a bool, or a list of bools")
    if isinstance(found, bool):
        return _apply(step, batch, operator) if found is not step.negate else batch
    if len(found) != batch.length:
        return _singly(step, batch, operator, answers=[None] * batch.length)
    return _where(step, batch, found, operator)


def _where(
    step: Step, batch: RecordBatch, found: Sequence[bool | Exception], operator: RetryWithToleranceOperator
) -> RecordBatch:
    """Apply a step to the records for which its predicate holds, or to the others if it is negated."""
    hit = list(compress(range(batch.length), map(not_, found) if step.negate else found))
    if not hit:
        return batch
    if len(hit) == batch.length:
        return _apply(step, batch, operator)
    rest = list(compress(range(batch.length), found if step.negate else map(not_, found)))
    return RecordBatch.merged(batch.take(rest), _apply(step, batch.take(hit), operator))


def _apply(step: Step, batch: RecordBatch, operator: RetryWithToleranceOperator) -> RecordBatch:
    if isinstance(step.transform, JavaTransform):
        made, failed = step.transform.apply_rows(batch)
        if not failed:
            return made
        rows = sorted(failed)
        return RecordBatch.merged(made, _singly(step, batch.take(rows), operator, errors=[failed[row] for row in rows]))
    if step.transform.has_batch_form:
        try:
            made = step.transform.apply_batch(batch)
        except Exception:  # noqa: BLE001 (as above)
            return _singly(step, batch, operator)
        return returned.batch(made, returned.name(step.transform, "apply_batch"), before=batch)
    return _singly(step, batch, operator)


def _answer(predicate: Predicate, record: Record) -> bool | Exception:
    try:
        return bool(predicate.test(record))
    except Exception as e:  # noqa: BLE001 (a record's failure is data, for any exception of a plugin)
        return e


def _singly(
    step: Step,
    batch: RecordBatch,
    operator: RetryWithToleranceOperator,
    *,
    answers: list[bool | Exception | None] | None = None,
    errors: list[Exception | None] | None = None,
) -> RecordBatch:
    """Process each record separately.

    `answers` holds results of the predicate by row, which count as its first attempt. An item is None if the predicate was
    not called for the row. If `answers` itself is None, the predicate must not be called. `errors` holds errors of the
    transform by row, which count as its first attempt; an item, or `errors` itself, is None if there is no error.
    """
    made, positions = [], []
    for row, (position, record) in enumerate(zip(batch.positions, batch.records(), strict=True)):

        def work(row: int = row, record: Record = record) -> Record | None:
            if answers is not None and step.predicate is not None:
                known, answers[row] = answers[row], None
                answer = _answer(step.predicate, record) if known is None else known
                if isinstance(answer, Exception):
                    raise answer
                if answer is step.negate:
                    return record
            if errors is not None and (error := errors[row]) is not None:
                errors[row] = None
                raise error
            return step.transform.apply(record)

        done, result = operator.attempt(position, Stage.TRANSFORMATION, step.name, work)
        if done and result is not None:
            made.append(result)
            positions.append(position)
    method = returned.name(step.transform, "apply")
    returned.records(made, method, "a Record, or None to drop it", lambda: _given(batch, made, positions))
    return returned.batch(RecordBatch.of(made, like=batch, positions=positions), method)


def _given(batch: RecordBatch, made: Sequence[object], positions: Sequence[int]) -> str:
    """Return a description of the record for which the transform returned something other than a record."""
    wrong = next(position for one, position in zip(made, positions, strict=True) if not isinstance(one, Record))
    row = list(batch.positions).index(wrong)
    record = batch.record(row)
    if record.original is None:
        return f" (given record {row} of a batch for topic '{record.topic}')"
    topic, partition, offset = record.original
    return f" (given the record at {topic}-{partition} offset {offset})"


def has_own(plugin: object, kind: type, form: str) -> bool:
    """Return whether a plugin overrides this batch form.

    The inherited form only calls the per-record form, and starts over if one record fails: a record with retries would
    get one attempt too many.
    """
    return getattr(type(plugin), form, None) is not getattr(kind, form)
