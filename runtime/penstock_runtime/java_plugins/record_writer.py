"""Encode record batches as columnar messages for the plugin host. Counterpart of `record_reader`."""

import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from penstock.batch import RecordBatch
from penstock.errors import DataError
from penstock.fields import Column, Fields, Same
from penstock.record import Header
from penstock.schema import DATE_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, Type
from penstock_runtime.java_plugins.wire import decimal_of, encode, text_of

__all__ = ["RecordWriter"]

_LIST: Final = 0
_CONSTANT: Final = 1
_STRUCT: Final = 2
_MOST_SCHEMAS: Final = 10_000
_MOMENTS: Final = (DATE_NAME, TIME_NAME, TIMESTAMP_NAME)
_PLAIN: Final = frozenset((int, float, str, bool, bytes, type(None)))
_CONTAINERS: Final = (dict, list, tuple, bytes, bytearray)


class RecordWriter:
    """Encoder for the messages of one task or step, in order: a schema is sent with the first message that uses it."""

    def __init__(self) -> None:
        self._numbers: dict[Schema, int] = {}
        self._known: dict[int, tuple[Schema, int]] = {}
        """Numbers by the `id()` of schemas, which are kept referenced so that no other object gets the same id."""
        self._unsent: list[Any] = []
        self._is_reset = False

    def message(self, batches: Sequence[RecordBatch]) -> bytes:
        """Return a message with all new schemas and the records of these batches, each from one Kafka partition or a source.

        Raises:
            DataError: a value is not supported by Kafka Connect's data model.
        """
        if len(self._numbers) >= _MOST_SCHEMAS:
            self._numbers.clear()
            self._known.clear()
            self._unsent = []
            self._is_reset = True
        try:
            content = [self._batch(batch) for batch in batches]
            message = _encoded([[self._is_reset, self._unsent], content])
        except (TypeError, OverflowError, ValueError, RecursionError, struct.error) as e:
            topics = sorted({str(topic) for batch in batches for topic in _topics(batch)})
            raise DataError(f"cannot pass records of {', '.join(topics)} to the Java plugin: {e}") from e
        self._unsent, self._is_reset = [], False
        return message

    def _batch(self, batch: RecordBatch) -> list[Any]:
        count = batch.length
        return [
            batch.original_topic,
            batch.original_partition,
            count,
            [_LIST, batch.column("offset")],
            _plain(batch.topic),
            _plain(batch.partition),
            _plain(batch.timestamp),
            _plain(batch.timestamp_type),
            self._side(batch.key, batch.key_schema, count),
            self._side(batch.fields if batch.fields is not None else batch.value, batch.value_schema, count),
            self._headers(batch.headers),
        ]

    def _side(self, values: Sequence[Any] | None, schema: Any, count: int) -> list[Any]:
        """Return keys or values grouped by schema, with the rows of each group; rows are None if there is only one group."""
        if not isinstance(schema, list):
            column = [_CONSTANT, None] if values is None else _column(values, schema)
            return [[self._number(schema), None, column]]
        groups: dict[int | None, tuple[Schema | None, list[int]]] = {}
        for row, each in enumerate(schema):
            groups.setdefault(self._number(each), (each, []))[1].append(row)
        given = [None] * count if values is None else values
        return [[n, rows, _column([given[row] for row in rows], of)] for n, (of, rows) in groups.items()]

    def _headers(self, headers: Sequence[Sequence[Header]]) -> list[Any] | None:
        if not headers:
            return None
        return [[self._header(header) for header in of] for of in headers]

    def _header(self, header: Header) -> list[Any]:
        schema = header.schema
        return [header.name, self._number(schema), header.value if schema is not None else _untyped(header.value)]

    def _number(self, schema: Schema | None) -> int | None:
        if schema is None:
            return None
        known = self._known.get(id(schema))
        if known is not None:
            return known[1]
        number = self._numbers.get(schema)
        if number is None:
            content = _schema(schema)
            _encoded([content])  # if this fails, only the records with this schema fail
            number = self._numbers[schema] = len(self._numbers)
            self._unsent.append(content)
        if len(self._known) < _MOST_SCHEMAS:
            self._known[id(schema)] = (schema, number)
        return number


def _topics(batch: RecordBatch) -> Sequence[str | None]:
    """Return the topic that records were read from or, for a source, the topics that they go to."""
    return batch.column("topic") if batch.original_topic is None else [batch.original_topic]


def _schema(schema: Schema | None) -> list[Any] | None:
    if schema is None:
        return None
    return [
        schema.type.value,
        schema.optional,
        schema.name,
        schema.version,
        schema.doc,
        None if schema.parameters is None else dict(schema.parameters),
        _schema(schema.items if schema.type is Type.ARRAY else schema.values),
        _schema(schema.keys),
        [[field.name, _schema(field.schema)] for field in schema.fields],
        schema.default,
    ]


def _plain(column: Any) -> list[Any]:
    return [_LIST, column] if isinstance(column, list) else [_CONSTANT, column]


def _column(values: Sequence[Any] | Column, schema: Schema | None) -> list[Any]:
    """Return the values of a group, as columns if all of them are structs with the same fields."""
    if schema is not None and schema.type is Type.STRUCT and not isinstance(values, Same):
        structs = _structs(values, schema)
        if structs is not None:
            return structs
    if isinstance(values, Same):
        return [_CONSTANT, _cells([values.value], schema)[0]]
    return [_LIST, _cells(values.rows() if isinstance(values, Fields) else values, schema)]


def _structs(values: Sequence[Any], schema: Schema) -> list[Any] | None:
    if isinstance(values, Fields):
        return [_STRUCT, None, _fields(values, schema)]
    there = [value for value in values if value is not None]
    fields = Fields.of(there)
    if fields is None:
        return None
    present = None if len(there) == len(values) else [value is not None for value in values]
    return [_STRUCT, present, _fields(fields, schema)]


def _fields(fields: Fields, schema: Schema) -> list[Any]:
    columns = []
    for field in schema.fields:
        column = fields.columns.get(field.name, Same(None))
        if isinstance(column, Same) and isinstance(column.value, _CONTAINERS):  # a task may modify its values
            column = [column.value] * len(fields)
        columns.append(_column(column, field.schema))
    return columns


def _cells(values: Sequence[Any], schema: Schema | None) -> Sequence[Any]:
    if schema is None:
        return values if _are_plain(values) else [_untyped(value) for value in values]
    if schema.name in _MOMENTS and schema.type in (Type.INT32, Type.INT64):
        return [None if value is None else int(value) for value in values]
    return values


def _are_plain(values: Sequence[Any]) -> bool:
    """Return whether all values, or all their fields, have types that MessagePack supports, as most do."""
    if _PLAIN.issuperset(map(type, values)):
        return True
    fields = Fields.of(values)
    return fields is not None and all(_PLAIN.issuperset(fields.types(name)) for name in fields.columns)


def _untyped(value: Any) -> Any:
    """Return a value with its decimals tagged; other types are self-describing."""
    if isinstance(value, Decimal):
        return decimal_of(value)
    if isinstance(value, dict):
        return {name: _untyped(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_untyped(item) for item in value]
    return value


def _encoded(content: list[Any]) -> bytes:
    try:
        return encode(content)
    except UnicodeEncodeError:
        return encode(_written_out(content))


def _written_out(content: Any) -> Any:
    """Return the same content, with strings that UTF-8 cannot encode converted to UTF-16."""
    if type(content) is str:
        try:
            content.encode()
        except UnicodeEncodeError:
            return text_of(content)
    elif isinstance(content, dict):
        return {_name(name): _written_out(item) for name, item in content.items()}
    elif isinstance(content, (list, tuple)):
        return [*map(_written_out, content)]
    return content


def _name(name: Any) -> Any:
    return name.encode("utf-8", "replace").decode() if isinstance(name, str) else name
