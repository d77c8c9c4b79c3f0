"""Prepares rows that are held as columns for msgspec. A value that is the same in all rows is written once."""

from collections.abc import Sequence
from itertools import repeat
from typing import Any, Final

import msgspec

from penstock import Fields, Same, Schema, Type
from penstock_plugins.connect.values import LOGICAL
from penstock_plugins.converters.json.batch_writer import writes_alike
from penstock_plugins.converters.json.schema_check import SchemaShape, shape_of
from penstock_plugins.converters.json.writer import JsonWriter

__all__ = ["ColumnWriter"]

_SAME_TYPES: Final = {str, bool, type(None)}


class ColumnWriter:
    """Makes objects that msgspec encodes as the JSON of rows, in the order of their fields.

    Args:
        writer: writes single values the exact way.
        replace_null: a null under a schema with a default is written as the default.
        cache_size: the maximum number of cached row types and schema shapes.
    """

    def __init__(self, writer: JsonWriter, *, replace_null: bool, cache_size: int) -> None:
        self._writer = writer
        self._replace_null = replace_null
        self._cache_size = cache_size
        self._rows: dict[tuple[str, ...], type[msgspec.Struct] | None] = {}
        self._shapes: dict[Schema, SchemaShape | None] = {}

    def objects(self, schema: Schema | None, fields: Fields) -> list[Any] | None:
        """An object for each row; None if msgspec would write a value differently from Jackson, or a value does not fit.

        Raises:
            DataError: a value that is the same in all rows does not fit its schema.
        """
        schemas: Sequence[Schema | None] = [None] * len(fields.columns)
        if schema is not None:
            if (
                schema.type is not Type.STRUCT
                or schema.name in LOGICAL
                or tuple(fields.columns) != tuple(f.name for f in schema.fields)
            ):
                return None
            schemas = [f.schema for f in schema.fields]
        row = self._row(tuple(fields.columns))
        if row is None:
            return None
        columns: list[Any] = []
        for (name, column), field_schema in zip(fields.columns.items(), schemas, strict=True):
            if isinstance(column, Same):
                columns.append(
                    repeat(msgspec.Raw(self._writer.write(field_schema, column.value).encode()), len(fields))
                )
                continue
            encodable = self._column(field_schema, column, fields.types(name))
            if encodable is None:
                return None
            columns.append(encodable)
        return list(map(row, *columns))

    def shape(self, schema: Schema) -> SchemaShape | None:
        """As `shape_of`, cached."""
        try:
            return self._shapes[schema]
        except KeyError:
            if len(self._shapes) >= self._cache_size:
                self._shapes.clear()
            shape = self._shapes[schema] = shape_of(schema, replace_null=self._replace_null)
            return shape

    def _column(self, schema: Schema | None, column: list[Any], types: frozenset[type]) -> Sequence[Any] | None:
        if schema is None:
            return column if types <= _SAME_TYPES or writes_alike(column) else None
        shape = self.shape(schema)
        converted = None if shape is None else shape.convert(column)
        if converted is not None:
            return converted
        write = self._writer.write
        return [msgspec.Raw(write(schema, value).encode()) for value in column]

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
        self._rows[names] = row_type
        return row_type
