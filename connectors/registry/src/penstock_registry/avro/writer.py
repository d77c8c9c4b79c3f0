"""Writer of values of one schema."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastavro import schemaless_writer

from penstock import DataError, Fields, Same, Schema, Type
from penstock_registry.avro import names
from penstock_registry.avro.column_writer import WriteColumns, column_writer
from penstock_registry.avro.encoder import FieldEncoder, encode_anything, encoder, field_encoders
from penstock_registry.avro.physical import physical_schema
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.avro.types import AvroType

__all__ = ["AvroWriter"]

_NULL: Final = type(None)
_MISFITS: Final = (ValueError, TypeError, OverflowError, KeyError, AttributeError, IndexError, struct.error)
"""Errors of values that do not fit the schema."""


class _Chunks(list[bytes]):
    """File-like list to which fastavro writes each record in one piece."""

    write = list.append


class AvroWriter:
    """Writer of values of one schema, without the prefix of a message.

    Args:
        schema: the schema in Connect; None for values without one.
        of: the schema in Avro.
        settings: settings of the mapping.

    Raises:
        DataError: the Avro schema cannot hold such values.
    """

    def __init__(self, schema: Schema | None, of: AvroType, settings: AvroSettings) -> None:
        self._schema = schema
        self._physical = physical_schema(of)
        self._encode = encode_anything if schema is None else encoder(schema, of, settings)
        self._fields: list[FieldEncoder] | None = None
        self._common: dict[str, Any] = {}
        self._write_columns: WriteColumns | None = None
        record = schema is not None and schema.type is Type.STRUCT and schema.fields and not names.is_union(schema)
        if schema is not None and record and of.kind == "record":
            self._fields, self._common = field_encoders(schema, of, settings)
            self._write_columns = column_writer(of)

    def write(self, value: Any) -> bytes | None:
        """Return the data of a value; None for null."""
        if value is None and (self._schema is None or self._schema.optional):
            return None
        try:
            datum = self._encode(value)
        except DataError as e:
            raise DataError(f"cannot write a value as Avro: {e}") from None
        return self._encoded([datum])[0]

    def write_all(self, values: Sequence[Any]) -> Sequence[bytes | None]:
        """Return the data of many values.

        If any value cannot be written, the whole call fails. To find it, call `write` for each value.
        """
        if self._fields is not None:
            fields = values if isinstance(values, Fields) else Fields.of(values)
            if fields is not None:
                return self._written(self._fields, fields)
        return [self.write(value) for value in values]

    def _written(self, encoders: list[FieldEncoder], fields: Fields) -> list[bytes]:
        columns = {each.target: _column(each, fields) for each in encoders}
        columns.update({name: Same(value) for name, value in self._common.items()})
        if self._write_columns is None:
            return self._encoded(_rows(columns, fields))
        try:
            return self._write_columns(columns, len(fields))
        except _MISFITS as e:
            raise _misfit(e) from e

    def _encoded(self, data: Sequence[Any]) -> list[bytes]:
        physical = self._physical
        chunks: Any = _Chunks()  # fastavro uses no other method of a file
        try:
            for datum in data:
                schemaless_writer(chunks, physical, datum)
        except _MISFITS as e:
            raise _misfit(e) from e
        return list(chunks)


def _misfit(error: Exception) -> DataError:
    return DataError(f"cannot write a value as Avro: {type(error).__name__}")


def _rows(columns: Mapping[str, list[Any] | Same], fields: Fields) -> Sequence[Any]:
    """Return the columns as rows. If `fields` has the same columns, return its rows, which may exist already."""
    given = fields.columns
    same = list(columns) == list(given) and all(column is given[name] for name, column in columns.items())
    return fields.rows() if same else Fields(columns, len(fields)).rows()


def _column(of: FieldEncoder, fields: Fields) -> list[Any] | Same:
    """Return the values of a field in the form that fastavro takes."""
    column = fields.columns.get(of.name, Same(None))
    types = fields.types(of.name) if of.name in fields.columns else frozenset((_NULL,))
    if of.plain and types <= of.plain and _is_within(of, column, types):
        return column
    try:
        if isinstance(column, Same):
            return Same(of.encode(column.value))
        return list(map(of.encode, column))
    except DataError as e:
        raise DataError(f"cannot write a value as Avro: field '{of.name}': {e}") from None


def _is_within(of: FieldEncoder, column: list[Any] | Same, types: frozenset[type]) -> bool:
    if of.bounds is None or types == {_NULL}:
        return True
    low, high = of.bounds
    if isinstance(column, Same):
        return bool(low <= column.value <= high)
    numbers = [value for value in column if value is not None] if _NULL in types else column
    return not numbers or bool(low <= min(numbers) and max(numbers) <= high)
