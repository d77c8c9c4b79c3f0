"""Structs and maps that are copied field by field: the nulls that a copy fills or refuses, for records and for columns.

Kafka Connect builds a new struct and puts every field of the old one, so that a null stands only where the schema lets it,
and reads as the field's default where it has one.
"""

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, Final, Generic, TypeVar

from penstock import DataError, Field, Fields, Record, RecordBatch, Schema, Type
from penstock.fields import Column, Same
from penstock_plugins.connect_values import java_class, null_of

__all__ = [
    "OncePerSchema",
    "copied",
    "copied_columns",
    "fields_of",
    "guarded",
    "replaced",
    "replaced_batch",
    "replaced_in_maps",
    "required_map",
    "required_struct",
    "side_of",
]

_NULL: Final = type(None)
T = TypeVar("T")


class OncePerSchema(Generic[T]):
    """What follows from a schema, made when it is first met. Records of one shape share the schema object."""

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._made: dict[Schema, T] = {}
        self._last: tuple[Schema, T] | None = None

    def __call__(self, schema: Schema) -> T:
        """What was made for the schema; what `make` raises is raised each time."""
        last = self._last
        if last is not None and last[0] is schema:  # to hash a schema is to hash all its fields
            return last[1]
        found = self._made.get(schema)
        if found is None:
            found = self._made[schema] = self._make(schema)
        self._last = (schema, found)
        return found


def side_of(record: Record, side: str) -> tuple[Schema | None, Any]:
    """The schema and value of the record's key or value."""
    return (record.key_schema, record.key) if side == "key" else (record.value_schema, record.value)


def replaced(record: Record, side: str, schema: Schema | None, value: Any) -> Record:
    """The record with that side changed."""
    if side == "key":
        return record.replace(key=value, key_schema=schema)
    return record.replace(value=value, value_schema=schema)


def required_struct(schema: Schema, value: Any, purpose: str) -> dict[str, Any]:
    """The value, which must be a struct.

    Raises:
        DataError: it is none.
    """
    if schema.type is not Type.STRUCT or not isinstance(value, dict):
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {_found(schema, value)}")
    return value


def required_map(value: Any, purpose: str) -> dict[Any, Any]:
    """The value without a schema, which must be a map.

    Raises:
        DataError: it is none.
    """
    if not isinstance(value, dict):
        raise DataError(
            f"Only Map objects supported in absence of schema for [{purpose}], found: {_found(None, value)}"
        )
    return value


def _found(schema: Schema | None, value: Any) -> str:
    return "null" if value is None else java_class(schema, value)


def guarded(fields: Iterable[Field], *, replace_null: bool) -> tuple[Field, ...]:
    """The fields where a copy does more to a null than hand it on."""
    return tuple(f for f in fields if not f.schema.optional or (replace_null and f.schema.default is not None))


def copied(value: dict[str, Any], fields: tuple[Field, ...], *, replace_null: bool) -> dict[str, Any]:
    """A copy of a struct; `fields` are those of `guarded`.

    Raises:
        DataError: null in a required field.
    """
    new = dict(value)
    for field in fields:
        if new.get(field.name) is None:
            new[field.name] = _instead_of_null(field, replace_null=replace_null)
    return new


def _instead_of_null(field: Field, *, replace_null: bool) -> Any:
    if replace_null and field.schema.default is not None:
        return field.schema.default
    raise null_of(field.name, field.schema)


def fields_of(batch: RecordBatch, side: str) -> tuple[Schema | None, Fields] | None:
    """That side of a batch as columns and its one schema; None where the records have to be looked at one by one."""
    schema = batch.key_schema if side == "key" else batch.value_schema
    if isinstance(schema, list) or (schema is not None and schema.type is not Type.STRUCT):
        return None
    fields = batch.fields if side == "value" else None
    if fields is None:
        fields = Fields.of((batch.key if side == "key" else batch.value) or ())
    return None if fields is None else (schema, fields)


def copied_columns(fields: Fields, guards: tuple[Field, ...], *, replace_null: bool) -> dict[str, Column]:
    """`copied` for all rows; a field may be missing only where `copied` lets it.

    Raises:
        DataError: null in a required field.
    """
    columns = dict(fields.columns)
    for field in guards:
        column = columns.get(field.name)
        if column is None:
            columns[field.name] = Same(_instead_of_null(field, replace_null=replace_null))
        elif _NULL in fields.types(field.name):
            default = _instead_of_null(field, replace_null=replace_null)
            columns[field.name] = (
                Same(default) if isinstance(column, Same) else [default if v is None else v for v in column]
            )
    return columns


def replaced_in_maps(
    batch: RecordBatch, side: str, work: Iterable[tuple[str, Callable[[list[Any]], Column]]]
) -> RecordBatch | None:
    """The batch with fields replaced where its side is maps without a schema, of any fields; None where it is not.

    Args:
        batch: the records; their maps are not changed.
        side: `key` or `value`.
        work: for each field what becomes of its column, in which an absent field is a null.
    """
    schema, column = (batch.key_schema, batch.key) if side == "key" else (batch.value_schema, batch.value)
    if schema is not None or column is None or set(map(type, column)) != {dict}:
        return None
    rows = list(map(dict.copy, column))
    for name, made in work:
        new = made([row.get(name) for row in rows])
        for row, item in zip(rows, repeat(new.value) if isinstance(new, Same) else new, strict=False):
            row[name] = item
    if side == "key":
        return batch.replace(key=rows)
    return batch.replace(value=rows, owned=True)


def replaced_batch(batch: RecordBatch, side: str, schema: Schema | None, fields: Fields) -> RecordBatch:
    """The batch with that side changed."""
    if side == "key":
        return batch.replace(key=fields.rows(), key_schema=schema)
    return batch.replace(value=fields, value_schema=schema, owned=True)
