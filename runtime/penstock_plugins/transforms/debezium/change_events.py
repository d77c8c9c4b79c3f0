"""Change events of Debezium: the schema of their envelope, and the rows that are extracted from it."""

from functools import cached_property
from typing import Any, Final

from penstock import DataError, Field, Fields, Same, Schema, Type
from penstock.schema import OPTIONAL_STRING
from penstock_plugins.connect.values import java_class
from penstock_plugins.structs.copy import FieldCopy, StructCopy, copy_schema_basics
from penstock_plugins.transforms.debezium.field_references import FieldReference, added_fields

__all__ = ["ChangeEvents", "RowPlan", "is_envelope"]

_DELETED: Final = "__deleted"


def is_envelope(schema: Schema | None) -> bool:
    """Return whether values of this schema are change events."""
    return schema is not None and schema.name is not None and schema.name.endswith(".Envelope")


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
        self.added = added_fields(envelope, references, in_headers=False)
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
        fill: whether nulls of such rows are replaced with the defaults of their fields.

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
        self.headers = added_fields(schema, headers, in_headers=True)
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
