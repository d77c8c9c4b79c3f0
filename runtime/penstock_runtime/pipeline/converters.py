"""Convert between Kafka's bytes and records: converters over columns, with an exact fallback as in the chain."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, Literal

from penstock import _returned as returned
from penstock._common_schema import common_schema
from penstock._unread import RawHeader, UnreadHeaders, UnreadTimestamps
from penstock.batch import RecordBatch, in_groups
from penstock.errors import ConnectError, DataError
from penstock.fields import Fields
from penstock.plugin import Converter, HeaderConverter
from penstock.python_data import value_of
from penstock.record import Header
from penstock.schema import Schema
from penstock_runtime.java_plugins.converters import JavaConverter
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.kafka.producer_buffer import Outgoing
from penstock_runtime.pipeline.chain import has_own
from penstock_runtime.pipeline.error_tolerance import RetryWithToleranceOperator, Stage
from penstock_runtime.pipeline.header_parts import joined, split_columns
from penstock_runtime.pipeline.java_conversion import java_in, java_out

__all__ = ["Converters", "convert_consumed", "convert_outgoing"]

_ROWS_TO_GAIN: Final = 8
"""Minimum number of rows per schema from which converting a batch costs less than converting single rows."""


@dataclass(frozen=True)
class Converters:
    """Configured converters of a connector and their class names, for messages."""

    key: Converter
    value: Converter
    header: HeaderConverter
    names: tuple[str, str, str]


def convert_outgoing(converters: Converters, batch: RecordBatch, operator: RetryWithToleranceOperator) -> Outgoing:
    """Return bytes for Kafka; the stages run in Kafka Connect's order: header, key, value.

    Raises:
        ConnectError: a record has no topic, or a negative timestamp or partition; `errors.tolerance` does not cover this.
    """
    _check(batch)
    headers = None
    if batch.headers:
        batch, headers = _headers_out(converters, batch, operator)
    key: list[bytes | None] | None = None
    if batch.key is not None or batch.key_schema is not None or isinstance(converters.key, JavaConverter):
        batch, key, headers = _side_out(converters.key, converters.names[0], "key", batch, headers, operator)
    before = batch.positions
    batch, value, headers = _side_out(converters.value, converters.names[1], "value", batch, headers, operator)
    return Outgoing(
        length=batch.length,
        topic=batch.topic,  # type: ignore[arg-type]
        key=_kept(key, before, batch.positions),
        value=value,
        headers=headers,
        partition=batch.partition,
        timestamp=batch.timestamp,
        positions=batch.positions,
    )


def _check(batch: RecordBatch) -> None:
    if not batch.length:
        return
    if batch.topic is None or (isinstance(batch.topic, list) and None in batch.topic):
        raise ConnectError("cannot produce a record without a topic; the source or a transform must set one")
    timestamp = _negative(batch.timestamp)
    if timestamp is not None:
        raise ConnectError(
            f"Invalid record timestamp {timestamp}: Kafka accepts no timestamp before 1970-01-01T00:00Z."
        )
    partition = _negative(batch.partition)
    if partition is not None:  # librdkafka takes -1 for no partition, and would choose one
        raise ConnectError(
            f"Invalid partition: {partition}. A partition is a number from 0, or None to let the producer choose one."
        )


def _negative(cells: int | None | list[int | None]) -> int | None:
    return next((c for c in (cells if isinstance(cells, list) else [cells]) if c is not None and c < 0), None)


def _side_out(
    converter: Converter,
    name: str,
    side: Literal["key", "value"],
    batch: RecordBatch,
    headers: Any,
    operator: RetryWithToleranceOperator,
) -> tuple[RecordBatch, list[bytes | None] | None, Any]:
    """Return the remaining rows, their bytes, and their headers, which the converter may change."""
    if isinstance(converter, JavaConverter) and batch.length and batch.topic is not None:
        left, data, headers = java_out(converter, name, side, batch, headers, operator)
        return left, data, _kept(headers, batch.positions, left.positions)
    stage = Stage.KEY_CONVERTER if side == "key" else Stage.VALUE_CONVERTER
    left, made = _column_out(converter, name, side, stage, batch, operator)
    headers = _kept(headers, batch.positions, left.positions)
    if converter.writes_headers and made is not None:
        made, headers = split_columns(converter, made, headers)
    return left, made, headers


def _column_out(
    converter: Converter, name: str, side: str, stage: Stage, batch: RecordBatch, operator: RetryWithToleranceOperator
) -> tuple[RecordBatch, list[bytes | None] | None]:
    values = batch.key if side == "key" else batch.value if batch.fields is None else batch.fields
    schema: Schema | list[Schema | None] | None = getattr(batch, f"{side}_schema")
    if values is None and schema is None:
        topic = batch.topic[0] if isinstance(batch.topic, list) else batch.topic
        if not batch.length or (topic is not None and _says_nothing(converter, topic)):
            return batch, None
    column: Sequence[Any] = batch.fields if side == "value" and batch.fields is not None else batch.column(side)
    if batch.topic is not None and has_own(converter, Converter, "from_connect_batch") and _gains(schema):
        try:
            whole = _all_out(converter, batch.topic, schema, column)  # type: ignore[arg-type]
        except returned.ReturnedWrong:
            raise
        except Exception:  # noqa: BLE001, S110 (each record is converted separately below, and its errors are kept)
            pass
        else:
            return batch, whole
    made: list[bytes | None] = []
    rows: list[int] = []
    for row, (position, topic, shape, value) in enumerate(
        zip(batch.positions, batch.column("topic"), batch.column(f"{side}_schema"), column, strict=True)
    ):
        done, data = operator.attempt(
            position,
            stage,
            name,
            lambda t=topic, s=shape, v=value: _one_out(converter, t, s, v),  # type: ignore[misc]
        )
        if done:
            made.append(data)
            rows.append(row)
    returned.written(made, len(made), returned.name(converter, "from_connect"))
    return (batch if len(rows) == batch.length else batch.take(rows)), made


def _one_out(converter: Converter, topic: str, schema: Schema | None, value: Any) -> bytes | None:
    """Return the bytes of a value. If it does not match its schema, a note on the error names the field."""
    try:
        return converter.from_connect(topic, schema, value)
    except Exception as e:
        if schema is not None:
            try:
                value_of(value, schema)
            except DataError as misfit:
                e.add_note(f"{misfit}: a source or transform that changes a value must set its schema too")
        raise


def _gains(schema: Schema | None | list[Schema | None]) -> bool:
    return not isinstance(schema, list) or len(set(map(id, schema))) * _ROWS_TO_GAIN <= len(schema)


def _all_out(
    converter: Converter, topic: str | list[str], schema: Schema | None | list[Schema | None], column: Sequence[Any]
) -> list[bytes | None]:
    """Return the bytes of every value, converting values of one schema together."""
    if not isinstance(schema, list):
        return _written(converter, topic, schema, column)

    def written(shape: Schema | None, taken: Callable[[Sequence[Any]], list[Any]]) -> list[bytes | None]:
        topics = taken(topic) if isinstance(topic, list) else topic
        if isinstance(column, Fields):  # as columns, because a dict for each row costs more than its JSON
            return _written(converter, topics, shape, column.take(taken(range(len(column)))))
        return _written(converter, topics, shape, taken(column))

    return in_groups(schema, written)


def _written(
    converter: Converter, topic: str | list[str], schema: Schema | None, column: Sequence[Any]
) -> list[bytes | None]:
    made = converter.from_connect_batch(topic, schema, column)
    return returned.written(made, len(column), returned.name(converter, "from_connect_batch"))


def _says_nothing(converter: Converter, topic: str) -> bool:
    """Return whether the converter returns None for a null value without a schema."""
    try:
        return converter.from_connect(topic, None, None) is None
    except Exception:  # noqa: BLE001 (each record fails separately)
        return False


def _headers_out(
    converters: Converters, batch: RecordBatch, operator: RetryWithToleranceOperator
) -> tuple[RecordBatch, list[list[RawHeader]]]:
    convert = converters.header.from_connect
    known: dict[int, RawHeader] = {}
    failed: dict[int, Exception] = {}
    if isinstance(batch.topic, str) and isinstance(batch.headers, list):
        # Most headers are one object in many records.
        each = {id(header): header for headers in batch.headers for header in headers}
        try:
            for mark, header in each.items():
                known[mark] = (header.name, convert(batch.topic, header.name, header.schema, header.value))
            return batch, [[known[id(header)] for header in headers] for headers in batch.headers]
        except Exception as e:  # noqa: BLE001 (each record is converted separately below; this was the first attempt of one)
            failed[mark] = e
    made: list[list[RawHeader]] = []
    rows: list[int] = []
    for row, (position, topic, headers) in enumerate(
        zip(batch.positions, batch.column("topic"), batch.column("headers"), strict=True)
    ):

        def work(topic: str = topic, headers: tuple[Header, ...] = headers) -> list[RawHeader]:
            found = []
            for h in headers:
                if id(h) in failed:
                    raise failed.pop(id(h))
                found.append(known.get(id(h)) or (h.name, convert(topic, h.name, h.schema, h.value)))
            return found

        done, data = operator.attempt(position, Stage.HEADER_CONVERTER, converters.names[2], work)
        if done and data is not None:
            made.append(data)
            rows.append(row)
    return (batch if len(rows) == batch.length else batch.take(rows)), made


def convert_consumed(converters: Converters, consumed: Consumed, operator: RetryWithToleranceOperator) -> RecordBatch:
    """Return records from Kafka's bytes; the stages are key, value and header, and a record stops at its first failure."""
    topic = consumed.source.topic
    rows: Sequence[int] = range(len(consumed.offset))
    keys, key_schema, rows = _side_in(
        converters.key, converters.names[0], Stage.KEY_CONVERTER, consumed, consumed.key, rows, operator
    )
    positions = rows
    values, value_schema, rows = _side_in(
        converters.value, converters.names[1], Stage.VALUE_CONVERTER, consumed, consumed.value, rows, operator
    )
    keys, key_schema = _kept(keys, positions, rows), _kept(key_schema, positions, rows)
    headers: Any = ()
    if consumed.headers is None:
        pass
    elif converters.header.reads_anything:
        headers = _headers_later(converters.header, topic, consumed.headers, rows)
    elif any(consumed.headers):
        positions = rows
        headers, rows = _headers_in(converters, topic, consumed.headers, rows, operator)
        keys, key_schema = _kept(keys, positions, rows), _kept(key_schema, positions, rows)
        values, value_schema = _kept(values, positions, rows), _kept(value_schema, positions, rows)
    whole = len(rows) == len(consumed.offset)
    types = consumed.timestamp_types
    return RecordBatch(
        length=len(rows),
        topic=topic,
        partition=consumed.source.partition,
        key=keys.rows() if isinstance(keys, Fields) else keys,
        key_schema=key_schema,
        value=values,
        value_schema=value_schema,
        headers=headers,
        timestamp=UnreadTimestamps(
            lambda: list(consumed.timestamp) if whole else [consumed.timestamp[row] for row in rows], len(rows)
        ),
        timestamp_type=types if whole or isinstance(types, str) else [types[r] for r in rows],
        offset=consumed.offset if whole else [consumed.offset[r] for r in rows],
        positions=rows,
        owned=True,
        original_topic=topic,
        original_partition=consumed.source.partition,
    )


def _kept(column: Any, before: Sequence[int], after: Sequence[int]) -> Any:
    """Return a column without the rows that failed at a later stage."""
    if not isinstance(column, (list, Fields)) or len(before) == len(after):
        return column
    kept = set(after)
    return [c for c, position in zip(column, before, strict=True) if position in kept]


def _side_in(
    converter: Converter,
    name: str,
    stage: Stage,
    consumed: Consumed,
    data: Sequence[bytes | None] | None,
    rows: Sequence[int],
    operator: RetryWithToleranceOperator,
) -> tuple[list[Any] | Fields | None, Any, Any]:
    topic = consumed.source.topic
    if not isinstance(converter, JavaConverter) or not rows:
        return _column_in(converter, name, stage, consumed, data, rows, operator)
    headers = None if consumed.headers is None else [consumed.headers[row] for row in rows]
    given = [None if data is None else data[row] for row in rows]
    return java_in(converter, name, stage, topic, given, headers, rows, operator)


def _column_in(
    converter: Converter,
    name: str,
    stage: Stage,
    consumed: Consumed,
    data: Sequence[bytes | None] | None,
    rows: Sequence[int],
    operator: RetryWithToleranceOperator,
) -> tuple[list[Any] | Fields | None, Any, Any]:
    topic = consumed.source.topic
    if data is None:  # no record has a key: one result for all
        try:
            pair = converter.to_connect(topic, None)
        except Exception:  # noqa: BLE001 (each record fails separately below)
            data = [None] * (max(rows, default=-1) + 1)
        else:
            returned.read([pair], returned.name(converter, "to_connect"))
            schema, value = pair
            return ([value] * len(rows) if value is not None else None), schema, rows
    column = data if len(rows) == len(data) else [data[r] for r in rows]
    headers: Sequence[Sequence[RawHeader]] | None = None
    if converter.reads_headers and consumed.headers is not None and any(consumed.headers):
        headers = [consumed.headers[r] for r in rows]
    if has_own(converter, Converter, "to_connect_batch"):
        try:
            whole = (
                column if headers is None else [joined(converter, *each) for each in zip(column, headers, strict=True)]
            )
            made = converter.to_connect_batch(topic, whole)
        except Exception:  # noqa: BLE001, S110 (each record is converted separately below, and its errors are kept)
            pass
        else:
            return *_read(made, len(column), returned.name(converter, "to_connect_batch")), rows
    found: list[Any] = []
    good: list[int] = []
    for row, one, own in zip(rows, column, repeat(()) if headers is None else headers, strict=False):
        done, read = operator.attempt(
            row,
            stage,
            name,
            lambda d=one, h=own: converter.to_connect(topic, joined(converter, d, h)),  # type: ignore[misc]
        )
        if done:
            found.append(read)
            good.append(row)
    returned.read(found, returned.name(converter, "to_connect"))
    return (
        [value for _, value in found],
        common_schema([schema for schema, _ in found]),
        (rows if len(good) == len(rows) else good),
    )


def _read(found: Any, length: int, method: str) -> tuple[list[Any] | Fields, Any]:
    """Return the values that a converter read from a column, and their schema or schemas."""
    if not (isinstance(found, tuple) and len(found) == 2):
        raise returned.wrong(method, found, "a pair of a schema, or one of each message, and the values")
    schemas, values = found
    if not isinstance(values, (list, Fields)):
        values = list(returned.iterable(values, method, "a list of values"))
    returned.schemas(schemas, length, method)
    if len(values) != length:
        raise returned.ReturnedWrong(
            f"{method} returned {len(values)} values for {length} messages; tell the plugin's author"
        )
    return values, schemas


def _headers_later(
    converter: HeaderConverter, topic: str, headers: Sequence[Sequence[RawHeader]], rows: Sequence[int]
) -> UnreadHeaders:
    def read(raw: Sequence[Sequence[RawHeader]]) -> list[tuple[Header, ...]]:
        convert = _KnownHeaders(converter, topic).__getitem__
        return [tuple(map(convert, row)) for row in raw]

    return UnreadHeaders(lambda: list(headers) if len(rows) == len(headers) else [headers[row] for row in rows], read)


def _headers_in(
    converters: Converters,
    topic: str,
    headers: Sequence[Sequence[RawHeader]],
    rows: Sequence[int],
    operator: RetryWithToleranceOperator,
) -> tuple[list[tuple[Header, ...]], Sequence[int]]:
    known = _KnownHeaders(converters.header, topic)
    convert = known.__getitem__
    try:
        return [tuple(map(convert, headers[row])) for row in rows], rows
    except Exception:  # noqa: BLE001, S110 (each record is converted separately below; this was the first attempt of one)
        pass
    made: list[tuple[Header, ...]] = []
    good: list[int] = []
    for row in rows:
        done, found = operator.attempt(
            row,
            Stage.HEADER_CONVERTER,
            converters.names[2],
            lambda hs=headers[row]: tuple(map(known.again, hs)),  # type: ignore[misc]
        )
        if done and found is not None:
            made.append(found)
            good.append(row)
    return made, (rows if len(good) == len(rows) else good)


class _KnownHeaders(dict[RawHeader, Header]):
    """Headers of a batch by name and bytes: few differ from one record to the next."""

    def __init__(self, converter: HeaderConverter, topic: str) -> None:
        super().__init__()
        self._convert = converter.to_connect
        self._topic = topic
        self._failed: dict[RawHeader, Exception] = {}

    def __missing__(self, pair: RawHeader) -> Header:
        try:
            found = self[pair] = self._convert(self._topic, *pair)
        except Exception as e:
            self._failed[pair] = e
            raise
        return found

    def again(self, pair: RawHeader) -> Header:
        """Return the header. If its conversion has failed before, raise that error once: it counts as the first attempt."""
        if pair in self._failed:
            raise self._failed.pop(pair)
        return self[pair] if pair in self else self._convert(self._topic, *pair)
