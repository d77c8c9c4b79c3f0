"""Decode the columnar messages of the plugin host into record batches."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

from penstock.batch import RecordBatch
from penstock.errors import DataError
from penstock.fields import Column, Fields, Same
from penstock.record import Header
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Field, Schema, Type
from penstock.values import Instant

__all__ = ["RecordReader"]

_CONSTANT: Final = 1
_STRUCT: Final = 2
_LOGICAL: Final[dict[tuple[str | None, Type], Callable[[Any], Any]]] = {
    (DECIMAL_NAME, Type.BYTES): Decimal,
    (DATE_NAME, Type.INT32): Instant,
    (TIME_NAME, Type.INT32): Instant,
    (TIMESTAMP_NAME, Type.INT64): Instant,
}
"""Constructors of logical values, which columns contain as strings and numbers."""


class RecordReader:
    """Decoder for the messages of one task or step, in order: a schema is sent with the first message that uses it."""

    def __init__(self) -> None:
        self._schemas: list[Schema | DataError] = []
        """Schemas by their numbers; an error for a schema that Penstock does not support."""
        self._known: dict[Schema, Schema] = {}

    def batch(self, message: Sequence[Any]) -> RecordBatch:
        """Return the records of a message: `["records", epoch, sequence, count, topic, ..., offsets, schemas, length]`."""
        _, _, _, count, topic, partition, timestamp, key, value, headers, _, schemas, _ = message
        return RecordBatch(
            length=count, **self.columns(count, [topic, partition, timestamp, key, value, headers, schemas])
        )

    def columns(self, count: int, encoded: Sequence[Any]) -> dict[str, Any]:
        """Return the columns of a batch: `[topic, partition, timestamp, key, value, headers, schemas]`.

        Raises:
            DataError: a record has a schema that Penstock does not support.
        """
        topic, partition, timestamp, key, value, headers, (is_reset, schemas) = encoded
        if is_reset:
            self._schemas.clear()
            self._known.clear()
        self._schemas += map(self._read_schema, schemas)
        keys, key_schema = self._side(key, count)
        values, value_schema = self._side(value, count)
        return {
            "topic": _plain(topic),
            "partition": _plain(partition),
            "timestamp": _plain(timestamp),
            "key": list(keys) if keys is not None else None,
            "key_schema": key_schema,
            "value": values,
            "value_schema": value_schema,
            "headers": self._headers(headers, count),
            "owned": True,
        }

    def _side(self, groups: Sequence[Any], count: int) -> tuple[list[Any] | Fields | None, Any]:
        """Read keys or values, which are grouped by schema, with the rows of each group."""
        if len(groups) == 1:
            number, _, column = groups[0]
            schema = self._numbered(number)
            values = _values(column, schema, count)
            return (None if schema is None and _is_absent(values) else values), schema
        all_values: list[Any] = [None] * count
        all_schemas: list[Schema | None] = [None] * count
        for number, rows, column in groups:
            schema = self._numbered(number)
            for row, value in zip(rows, _values(column, schema, len(rows)), strict=True):
                all_values[row] = value
                all_schemas[row] = schema
        return all_values, all_schemas

    def _headers(self, encoded: Sequence[Any], count: int) -> tuple[()] | list[tuple[Header, ...]]:
        kind, given = encoded
        if kind == _CONSTANT:
            return [self._header_list(given)] * count if given else ()
        return [*map(self._header_list, given)]

    def _header_list(self, headers: Sequence[Any]) -> tuple[Header, ...]:
        return tuple(Header(n, value, self._numbered(s)) for n, s, value in headers)

    def _numbered(self, number: int | None) -> Schema | None:
        schema = None if number is None else self._schemas[number]
        if isinstance(schema, DataError):
            raise schema
        return schema

    def _read_schema(self, encoded: Any) -> Schema | DataError:
        try:
            return self._schema(encoded)
        except (DataError, ValueError, TypeError) as e:
            return DataError(f"cannot read a schema of a Java plugin: {e}")

    def _schema(self, encoded: Any) -> Schema:
        """Return the schema. Equal schemas are the same object, since results are cached by schema."""
        type_, optional, name, version, doc, parameters, default, items, keys, fields = encoded
        kind = Type(type_)
        inner = None if items is None else self._schema(items)
        made = Schema(
            kind,
            optional=optional,
            name=name,
            version=version,
            doc=doc,
            parameters=parameters,
            default=default,
            items=inner if kind is Type.ARRAY else None,
            keys=None if keys is None else self._schema(keys),
            values=inner if kind is Type.MAP else None,
            fields=tuple(Field(n, self._schema(s)) for n, s in fields),
        )
        return self._known.setdefault(made, made)


def _values(column: Sequence[Any], schema: Schema | None, count: int) -> list[Any] | Fields:
    """Return the values of a group, as columns if all of them are structs."""
    if column[0] == _STRUCT and schema is not None:
        return _structs(column, schema, count)
    read = _column(column, schema, count)
    return [read.value] * count if isinstance(read, Same) else read


def _structs(column: Sequence[Any], schema: Schema, count: int) -> list[Any] | Fields:
    _, present, columns = column
    there = count if present is None else sum(present)
    rows: list[Any] | Fields
    if schema.fields:
        fields = zip(schema.fields, columns, strict=True)
        rows = Fields({f.name: _column(c, f.schema, there) for f, c in fields}, there)
    else:
        rows = [{} for _ in range(there)]
    if present is None:
        return rows
    following = iter(rows)
    return [next(following) if is_there else None for is_there in present]


def _column(column: Sequence[Any], schema: Schema | None, count: int) -> Column:
    if column[0] == _STRUCT and schema is not None:
        return list(_structs(column, schema, count))
    kind, given = column
    logical = None if schema is None else _LOGICAL.get((schema.name, schema.type))
    if kind == _CONSTANT:
        return Same(given if logical is None or given is None else logical(given))
    cells: list[Any] = given
    return cells if logical is None else [None if c is None else logical(c) for c in cells]


def _plain(column: Sequence[Any]) -> Any:
    """Return one value for all records, or a list. Integer widths do not matter here."""
    return column[1]


def _is_absent(values: list[Any] | Fields) -> bool:
    return not isinstance(values, Fields) and all(v is None for v in values)
