"""Conversion by Java converters: whole columns go to the JVM, and each record has a separate result."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from penstock._common_schema import common_schema
from penstock._unread import RawHeader
from penstock.batch import RecordBatch
from penstock.fields import Fields
from penstock_runtime.java_plugins.converters import JavaConverter, RawHeaders, Written
from penstock_runtime.pipeline.error_tolerance import RetryWithToleranceOperator, Stage

__all__ = ["java_in", "java_out"]

T = TypeVar("T")


def java_out(
    converter: JavaConverter,
    name: str,
    side: Literal["key", "value"],
    batch: RecordBatch,
    headers: RawHeaders | None,
    operator: RetryWithToleranceOperator,
) -> tuple[RecordBatch, list[bytes | None], RawHeaders | None]:
    """Return the rows whose key or value could be converted, the bytes of each, and the headers of all rows of `batch`.

    Args:
        converter: converter of the side.
        name: name of its class, for messages.
        side: side of the records.
        batch: the records.
        headers: headers of each, already converted; the converter may change them.
        operator: retries and collects records that fail.
    """
    stage = Stage.KEY_CONVERTER if side == "key" else Stage.VALUE_CONVERTER
    written = _written(converter, side, batch, headers)
    after = headers if written.headers is None else [*written.headers]
    made: list[bytes | None] = []
    rows: list[int] = []
    for row, (position, content) in enumerate(zip(batch.positions, written.data, strict=True)):
        if isinstance(content, Exception):
            one = batch.take([row])
            own = None if headers is None else [headers[row]]
            done, again = operator.attempt(
                position,
                stage,
                name,
                _after(content, lambda: _one_written(_written(converter, side, one, own))),  # noqa: B023
            )
            if not done or again is None:
                continue
            content, changed = again
            if changed is not None:
                after = [[] for _ in range(batch.length)] if after is None else [*after]
                after[row] = changed
        made.append(content)
        rows.append(row)
    left = batch if len(rows) == batch.length else batch.take(rows)
    return left, made, after


def _written(
    converter: JavaConverter, side: Literal["key", "value"], batch: RecordBatch, headers: RawHeaders | None
) -> Written:
    values = batch.key if side == "key" else batch.fields if batch.fields is not None else batch.value
    schema = batch.key_schema if side == "key" else batch.value_schema
    return converter.from_connect_rows(batch.topic, schema, values, headers or (), batch.length)


def _one_written(written: Written) -> tuple[bytes | None, Sequence[RawHeader] | None]:
    """Return the bytes of the only record, and its headers if they have changed."""
    (data,) = written.data
    if isinstance(data, Exception):
        raise data
    return data, None if written.headers is None else written.headers[0]


def java_in(
    converter: JavaConverter,
    name: str,
    stage: Stage,
    topic: str,
    data: Sequence[bytes | None],
    headers: RawHeaders | None,
    rows: Sequence[int],
    operator: RetryWithToleranceOperator,
) -> tuple[list[Any] | Fields, Any, Sequence[int]]:
    """Return the values of the messages that could be read, their schema or schemas, and their rows.

    Args:
        converter: converter of the key or the value.
        name: name of its class, for messages.
        stage: stage of the converter.
        topic: topic of the messages.
        data: message of each row.
        headers: headers of each row; None for none.
        rows: rows of the messages in the consumed batch.
        operator: retries and collects records that fail.
    """
    found = converter.to_connect_rows(topic, data, headers)
    if not found.failed:
        return found.values, found.schema, rows
    schemas = found.schema if isinstance(found.schema, list) else [found.schema] * len(found.rows)
    pairs = dict(zip(found.rows, zip(schemas, found.values, strict=True), strict=True))
    for index, error in sorted(found.failed.items()):
        one, own = [data[index]], None if headers is None else [headers[index]]
        done, pair = operator.attempt(
            rows[index],
            stage,
            name,
            _after(error, lambda: converter.to_connect_rows(topic, one, own).only()),  # noqa: B023
        )
        if done and pair is not None:
            pairs[index] = pair
    left = sorted(pairs)
    return (
        [pairs[index][1] for index in left],
        common_schema([pairs[index][0] for index in left]),
        [rows[index] for index in left],
    )


def _after(error: Exception, work: Callable[[], T]) -> Callable[[], T]:
    """Return work whose first attempt has already failed with this error."""
    first = [error]

    def attempt() -> T:
        if first:
            raise first.pop()
        return work()

    return attempt
