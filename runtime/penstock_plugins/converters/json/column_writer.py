"""Prepare values for msgspec, column by column. A value that is the same in all rows is written once.

Structs, arrays and maps that do not fit their schema's shape as a whole are split into columns, at any depth: often only a
single field does not fit, such as a decimal, or a null that is written as a default. Only columns that msgspec would write
differently from Jackson are written exactly.
"""

from collections.abc import Sequence
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any, Final

import msgspec

from penstock import Fields, Same, Schema, Type
from penstock_plugins.connect.values import LOGICAL
from penstock_plugins.converters.json.batch_writer import writes_alike
from penstock_plugins.converters.json.schema_check import SchemaShape, shape_of
from penstock_plugins.converters.json.writer import JsonWriter

__all__ = ["ColumnWriter"]

_SAME_TYPES: Final = {str, bool, type(None)}
_ABSENT: Final = Same(None)


class ColumnWriter:
    """Builder of objects that msgspec encodes as the JSON of values, with fields in schema order.

    Args:
        writer: writes single values exactly.
        replace_null: a null under a schema with a default is written as the default.
        cache_size: maximum number of cached row types and schema shapes.
    """

    def __init__(self, writer: JsonWriter, *, replace_null: bool, cache_size: int) -> None:
        self._writer = writer
        self._replace_null = replace_null
        self._cache_size = cache_size
        self._rows: dict[tuple[str, ...], type[msgspec.Struct] | None] = {}
        self._shapes: dict[Schema, SchemaShape | None] = {}

    def objects(self, schema: Schema | None, values: Sequence[Any]) -> Sequence[Any]:
        """Return an object for each value.

        Raises:
            DataError: a value does not fit its schema, or its class cannot be written as JSON.
        """
        if not isinstance(values, Fields):
            return self._column(schema, values)
        if schema is not None and not _is_struct(schema):
            return self._column(schema, values.rows())
        rows = self._structs(schema, values)
        return self._exact(schema, values) if rows is None else rows

    def _column(self, schema: Schema | None, column: Sequence[Any]) -> Sequence[Any]:
        if schema is None:
            return column if writes_alike(column) else self._exact(None, column)
        shape = self._shape(schema)
        made: Sequence[Any] | None = None if shape is None else shape.convert(column)
        if made is None:
            made = self._between_nulls(schema, column) if None in column else self._taken_apart(schema, column)
        return self._exact(schema, column) if made is None else made

    def _between_nulls(self, schema: Schema, column: Sequence[Any]) -> list[Any] | None:
        null: Any = None
        if self._replace_null and schema.default is not None:
            null = msgspec.Raw(self._writer.default(schema).encode())
        elif not schema.optional:
            return None
        present = iter(self._column(schema, [v for v in column if v is not None]))
        return [null if v is None else next(present) for v in column]

    def _taken_apart(self, schema: Schema, column: Sequence[Any]) -> list[Any] | None:
        if schema.name in LOGICAL:
            return None
        if schema.type is Type.STRUCT:
            rows = _split(schema, column)
            return None if rows is None else self._structs(schema, rows)
        if schema.type is Type.ARRAY:
            return self._arrays(schema, column)
        return self._maps(schema, column) if schema.type is Type.MAP else None

    def _structs(self, schema: Schema | None, fields: Fields) -> list[Any] | None:
        if schema is None:
            schemas: dict[str, Schema | None] = dict.fromkeys(fields.columns)
        else:
            schemas = {f.name: f.schema for f in schema.fields}
        row = self._row(tuple(schemas))
        if row is None or not fields.columns.keys() <= schemas.keys():
            return None
        columns: list[Any] = []
        for name, field_schema in schemas.items():
            column = fields.columns.get(name, _ABSENT)
            if isinstance(column, Same):
                columns.append(repeat(self._exact(field_schema, column)[0], len(fields)))
            elif field_schema is None and fields.types(name) <= _SAME_TYPES:
                columns.append(column)
            else:
                columns.append(self._column(field_schema, column))
        return list(map(row, *columns))

    def _arrays(self, schema: Schema, column: Sequence[Any]) -> list[Any] | None:
        if not set(map(type, column)) <= {list}:
            return None
        items = iter(self._column(schema.items, list(chain.from_iterable(column))))
        return [list(islice(items, len(array))) for array in column]

    def _maps(self, schema: Schema, column: Sequence[Any]) -> list[Any] | None:
        keys = schema.keys
        if (
            (keys is not None and (keys.type is not Type.STRING or keys.name in LOGICAL))
            or not set(map(type, column)) <= {dict}
            or not set(map(type, chain.from_iterable(column))) <= {str}
        ):
            return None
        items = iter(self._column(schema.values, list(chain.from_iterable(map(dict.values, column)))))
        return [dict(zip(entries, items, strict=False)) for entries in column]

    def _exact(self, schema: Schema | None, column: Sequence[Any]) -> list[msgspec.Raw]:
        write = self._writer.write
        return [msgspec.Raw(write(schema, value).encode()) for value in column]

    def _shape(self, schema: Schema) -> SchemaShape | None:
        """Return the result of `shape_of`, cached."""
        try:
            return self._shapes[schema]
        except KeyError:
            if len(self._shapes) >= self._cache_size:
                self._shapes.clear()
            shape = self._shapes[schema] = shape_of(schema, replace_null=self._replace_null)
            return shape

    def _row(self, names: tuple[str, ...]) -> type[msgspec.Struct] | None:
        if names in self._rows:
            return self._rows[names]
        if len(self._rows) >= self._cache_size:
            self._rows.clear()
        fields = {f"f{i}": name for i, name in enumerate(names)}
        try:
            row_type: type[msgspec.Struct] | None = msgspec.defstruct("Row", list(fields), rename=fields, gc=False)
        except ValueError:
            row_type = None  # a name that needs escapes in JSON
        self._rows[names] = row_type if names else None  # there are no rows without columns
        return self._rows[names]


def _is_struct(schema: Schema) -> bool:
    return schema.type is Type.STRUCT and schema.name not in LOGICAL


def _split(schema: Schema, rows: Sequence[Any]) -> Fields | None:
    """Return the columns of the schema's fields; None if a row is not a dict, or has an unknown key."""
    names = [f.name for f in schema.fields]
    if not set(map(type, rows)) <= {dict}:
        return None
    if set(map(len, rows)) <= {len(names)}:
        try:
            return Fields({name: list(map(itemgetter(name), rows)) for name in names}, len(rows))
        except KeyError:
            return None  # as many keys, but not the same
    if not set(chain.from_iterable(rows)) <= set(names):
        return None
    return Fields({name: [row.get(name) for row in rows] for name in names}, len(rows))
