"""Change events of Debezium: the schema of their envelope, and the rows that are extracted from it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from penstock import DataError, Field, Fields, Same, Schema, Type
from penstock.fields import Column
from penstock.schema import OPTIONAL_STRING
from penstock_plugins.connect.values import java_class
from penstock_plugins.structs.copy import FieldCopy, StructCopy, copy_schema_basics

__all__ = ["AddedField", "ChangeEvents", "FieldReference", "RowPlan", "is_envelope", "read_references"]

_DELETED: Final = "__deleted"
_TRANSACTION: Final = ("id", "data_collection_order", "total_order")
_OF_THE_ENVELOPE: Final = ("op", "ts_ms", "ts_us", "ts_ns")
_DESCRIPTION: Final = "updateDescription"


def is_envelope(schema: Schema | None) -> bool:
    """Return whether values of this schema are change events."""
    return schema is not None and schema.name is not None and schema.name.endswith(".Envelope")


class FieldReference(NamedTuple):
    """Field of change events that `add.fields` or `add.headers` names."""

    struct: str | None
    """Field of the envelope that contains the field; None for the envelope itself."""
    field: str
    name: str
    """Name of the added field or header."""


def read_references(texts: tuple[str, ...], prefix: str) -> tuple[FieldReference, ...]:
    """Return the references of a list such as `op,source.ts_ms:changed`.

    Raises:
        ValueError: an entry has no name, or more than one new name.
    """
    while texts and not texts[-1]:
        texts = texts[:-1]
    return tuple(_reference(text, prefix) for text in texts)


def _reference(text: str, prefix: str) -> FieldReference:
    parts = _split(text, ":")
    path = _split(parts[0], ".") if parts else []
    if not path or len(parts) > 2:
        raise ValueError(f"Unexpected field name: {text}. Write FIELD or STRUCT.FIELD, and :NEW_NAME for another name.")
    if len(path) == 1:
        struct, field, name = _struct_of(path[0]), path[0], path[0]
    else:
        struct, field = path[0], path[1]
        name = f"{struct}_{field}"
    return FieldReference(struct, field, prefix + (parts[1] if len(parts) == 2 else name))


def _split(text: str, separator: str) -> list[str]:
    """Split as Java's `String.split`: empty parts at the end do not count."""
    return text.rstrip(separator).split(separator) if text.strip(separator) else [] if text else [text]


def _struct_of(field: str) -> str | None:
    if field in _TRANSACTION:
        return "transaction"
    if field in _OF_THE_ENVELOPE:
        return None
    return _DESCRIPTION if field == _DESCRIPTION else "source"


class AddedField(NamedTuple):
    """Field or header that is added to rows, with its place in the envelope."""

    name: str
    schema: Schema
    struct: str | None
    field: str
    in_struct: bool
    """False if the envelope itself has the field; a null struct still makes it null."""
    refuses_values: bool
    """Whether the field's schema accepts only null: that of a struct or map is copied without the schemas in it."""

    def value(self, event: dict[str, Any]) -> Any:
        """Return the value of a change event.

        Raises:
            DataError: the schema refuses the value.
        """
        if self.struct is not None:
            struct = event.get(self.struct)
            if struct is None:
                return None
            if self.in_struct:
                return self._checked(struct.get(self.field))
        return self._checked(event.get(self.field))

    def column(self, events: Mapping[str, Column], length: int) -> Column:
        """Return the values of many change events."""
        if self.struct is None:
            return self._checked_column(events[self.field])
        structs = events[self.struct]
        name = self.field
        if isinstance(structs, Same):
            if structs.value is None:
                return Same(None)
            return self._checked_column(Same(structs.value.get(name)) if self.in_struct else events[name])
        if self.in_struct:
            return self._checked_column([None if s is None else s.get(name) for s in structs])
        column = events[name]
        values = [column.value] * length if isinstance(column, Same) else column
        return self._checked_column([None if s is None else v for s, v in zip(structs, values, strict=True)])

    def _checked_column(self, column: Column) -> Column:
        if self.refuses_values:
            for value in (column.value,) if isinstance(column, Same) else column:
                self._checked(value)
        return column

    def _checked(self, value: Any) -> Any:
        if self.refuses_values and value is not None:
            raise DataError(
                f"Added field '{self.name}' is a {self.schema.type}; add fields of it, or add it as a header"
            )
        return value


class RowPlan:
    """Extraction of the rows in one field of the envelope, `after` or `before`.

    Attributes:
        deleted: text of the field `__deleted`; None to add no such field.
        base: copy of the row's fields.
        base_schema: schema of the row with `__deleted`.
        schema: schema of the row with `__deleted` and the added fields.
        added: the added fields.
    """

    def __init__(
        self, envelope: Schema, row: Schema, deleted: str | None, references: tuple[FieldReference, ...], *, fill: bool
    ) -> None:
        if row.type is not Type.STRUCT:
            raise DataError(f"Only Struct objects supported for [source field insertion], found: {row.type}")
        self.deleted = deleted
        self.base = StructCopy(
            copy_schema_basics(row, row.fields), (FieldCopy(f, f) for f in row.fields), replace_null=fill
        )
        flag = () if deleted is None else (Field(_DELETED, OPTIONAL_STRING),)
        self.base_schema = copy_schema_basics(row, (*row.fields, *flag))
        operation = envelope.field("op")
        if operation is None or operation.schema.type is not Type.STRING:
            raise DataError("op is not a valid field name" if operation is None else "Field 'op' is not of type STRING")
        self.added = _added(envelope, references, in_headers=False)
        self.schema = self.with_added(self.base_schema)

    def with_added(self, schema: Schema) -> Schema:
        """Return the schema with the added fields."""
        return copy_schema_basics(schema, (*schema.fields, *(Field(a.name, a.schema) for a in self.added)))

    def row(self, row: Any) -> dict[str, Any]:
        """Return a row with `__deleted`, without the added fields.

        Raises:
            DataError: a required field is null.
        """
        if not isinstance(row, dict):
            raise DataError(
                f"Only Struct objects supported for [source field insertion], found: {java_class(None, row)}"
            )
        made = self.base.row(row)
        if self.deleted is not None:
            made[_DELETED] = self.deleted
        return made

    def rows(self, rows: list[Any]) -> Fields:
        """Return many rows as `row` does, as columns.

        Raises:
            DataError: a required field is null.
            KeyError: the rows cannot be held as columns.
        """
        fields = self.base.rows(rows)
        if not isinstance(fields, Fields):
            raise KeyError
        return fields if self.deleted is None else fields.having({**fields.columns, _DELETED: Same(self.deleted)})


class ChangeEvents:
    """Change events with one schema.

    Args:
        schema: schema of the envelope.
        fields: the fields to add to rows.
        headers: the headers to add.
        rewrites: whether rows get the field `__deleted`.
        fill: whether nulls of such rows are replaced by the defaults of their fields.

    Attributes:
        after: field of the row after the change.
        headers: the headers to add.

    Raises:
        TypeError: the envelope lacks the struct of a header.
        ValueError: the envelope has no field `after`.
        DataError: the envelope is not a struct.
    """

    def __init__(
        self,
        schema: Schema,
        fields: tuple[FieldReference, ...],
        headers: tuple[FieldReference, ...],
        *,
        rewrites: bool,
        fill: bool,
    ) -> None:
        self._schema = schema
        self._fields = fields
        self._rewrites, self._fill = rewrites, rewrites and fill
        if schema.type is not Type.STRUCT:
            error = TypeError if headers else DataError
            raise error(f"Only Struct objects supported for [field extraction], found: {schema.type}")
        self.headers = _added(schema, headers, in_headers=True)
        self.after = self._row_field("after")

    @cached_property
    def before(self) -> Field:
        """Field of the row before the change.

        Raises:
            ValueError: the envelope has no field `before`.
        """
        return self._row_field("before")

    @cached_property
    def live(self) -> RowPlan:
        """Extraction of rows that were created, updated or read."""
        return self._plan(self.after, "false")

    @cached_property
    def gone(self) -> RowPlan:
        """Extraction of rows that were deleted."""
        return self._plan(self.before, "true")

    def _plan(self, field: Field, deleted: str) -> RowPlan:
        text = deleted if self._rewrites else None
        return RowPlan(self._schema, field.schema, text, self._fields, fill=self._fill)

    def _row_field(self, name: str) -> Field:
        field = self._schema.field(name)
        if field is None:
            raise ValueError(f"Unknown field: {name}")
        return field


def _added(envelope: Schema, references: tuple[FieldReference, ...], *, in_headers: bool) -> tuple[AddedField, ...]:
    return tuple(added for r in references if (added := _found(envelope, r, in_headers=in_headers)) is not None)


def _found(envelope: Schema, reference: FieldReference, *, in_headers: bool) -> AddedField | None:
    """Return the field of a reference; None if the envelope does not have it.

    Raises:
        TypeError: the envelope does not have the struct (NullPointerException in Java).
        DataError: the struct is not one.
    """
    struct, name, added = reference
    schema = envelope
    if struct is not None:
        holder = envelope.field(struct)
        if holder is None:
            raise TypeError(f"The envelope has no field '{struct}', from which '{added}' would be read")
        schema = holder.schema
    if schema.type is not Type.STRUCT:
        raise DataError(f"Cannot look up fields on non-struct type: field '{name}' of '{struct}'")
    found = schema.field(name)
    in_struct = found is not None
    if found is None:
        found = envelope.field(name)
        if found is None:
            return None
    schema = replace(found.schema, optional=True, default=None)
    if in_headers:
        return AddedField(added, schema, struct, name, in_struct, refuses_values=False)
    # As `SchemaUtil.copySchemaBasics`, which copies no schemas of fields, keys and values.
    copied = replace(schema, fields=(), keys=None, values=None, parameters=schema.parameters or None)
    incomplete = schema.type in (Type.STRUCT, Type.MAP) and copied != replace(found.schema, default=None)
    return AddedField(added, copied, struct, name, in_struct, incomplete)
