"""Fields of change events that are added to rows or headers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from penstock import DataError, Same, Schema, Type
from penstock.fields import Column

__all__ = ["AddedField", "FieldReference", "added_fields", "read_references"]

_TRANSACTION: Final = ("id", "data_collection_order", "total_order")
_OF_THE_ENVELOPE: Final = ("op", "ts_ms", "ts_us", "ts_ns")
_DESCRIPTION: Final = "updateDescription"


class FieldReference(NamedTuple):
    """Field of change events, as named in `add.fields` or `add.headers`."""

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
    """Split like Java's `String.split`: trailing empty parts are dropped."""
    return text.rstrip(separator).split(separator) if text.strip(separator) else [] if text else [text]


def _struct_of(field: str) -> str | None:
    if field in _TRANSACTION:
        return "transaction"
    if field in _OF_THE_ENVELOPE:
        return None
    return _DESCRIPTION if field == _DESCRIPTION else "source"


class AddedField(NamedTuple):
    """Field or header to add to rows, with its location in the envelope."""

    name: str
    schema: Schema
    struct: str | None
    field: str
    in_struct: bool
    """Whether `struct` has the field. If not, the envelope itself has it, but a null `struct` still makes the value null."""
    refuses_values: bool
    """Whether the field's schema accepts only null: the schema of a struct or map is copied without its inner schemas."""

    def value(self, event: dict[str, Any]) -> Any:
        """Return the value of a change event.

        Raises:
            DataError: the schema rejects the value.
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
                f"cannot add field '{self.name}': it is a {self.schema.type}; add its fields, or add it as a header"
            )
        return value


def added_fields(
    envelope: Schema, references: tuple[FieldReference, ...], *, in_headers: bool
) -> tuple[AddedField, ...]:
    """Return the referenced fields that the envelope has.

    Raises:
        TypeError: the envelope does not have the struct of a reference (NullPointerException in Java).
        DataError: the struct of a reference is not a struct.
    """
    return tuple(added for r in references if (added := _found(envelope, r, in_headers=in_headers)) is not None)


def _found(envelope: Schema, reference: FieldReference, *, in_headers: bool) -> AddedField | None:
    struct, name, added = reference
    schema = envelope
    if struct is not None:
        holder = envelope.field(struct)
        if holder is None:
            raise TypeError(f"cannot add '{added}': the envelope has no field '{struct}'")
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
