"""Copies of structs as in Kafka Connect: each field is read from the old struct (`get`) and put into the new one (`put`).

Reading replaces a null with the field's default if `replace.null.with.default` is true. Putting validates: a required field
rejects a null even if the field has a default, and a value must be of the class that its new schema accepts.

A default that is a struct can be read but not put: the default's schema is the field's schema without the default, and
Connect requires equal schemas. Such a record fails, as in Kafka Connect.

A transform may change a value between reading and putting. Values that keep their schema are not validated again, since
they were validated when the old struct was made.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from penstock import DataError, Field, Fields, Importance, Same, Schema, Type, prop
from penstock.fields import Column
from penstock_plugins.connect.values import LOGICAL, java_class, null_error

__all__ = [
    "FieldChange",
    "FieldCopy",
    "StructCopy",
    "copy_schema_basics",
    "replace_null_with_default",
    "require_map",
    "require_struct",
    "with_columns",
]

_NULL: Final = type(None)
_DICT: Final = {dict}


def replace_null_with_default() -> Any:
    """Return the configuration property `replace.null.with.default`."""
    return prop(
        "replace.null.with.default",
        True,
        doc="Whether to replace fields that have a default value and that are null to the default value. "
        "When set to true, the default value is used, otherwise null is used.",
        importance=Importance.MEDIUM,
    )


def require_map(value: Any, purpose: str) -> dict[Any, Any]:
    """Return the value as a map without a schema.

    Raises:
        DataError: the value is null or not a map.
    """
    if not isinstance(value, dict):
        raise DataError(
            f"Only Map objects supported in absence of schema for [{purpose}], found: {_class_of(None, value)}"
        )
    return value


def require_struct(schema: Schema, value: Any, purpose: str) -> dict[str, Any]:
    """Return the value as a struct.

    Raises:
        DataError: the value is null, or the schema or the value is not a struct.
    """
    if schema.type is not Type.STRUCT or not isinstance(value, dict):
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {_class_of(schema, value)}")
    return value


def _class_of(schema: Schema | None, value: Any) -> str:
    return "null" if value is None else java_class(schema, value)


def copy_schema_basics(schema: Schema, fields: Iterable[Field]) -> Schema:
    """Return a struct schema with these fields, and with the name, version, doc and parameters of `schema`.

    The new schema is required and has no default, even if `schema` is optional or has one (`SchemaUtil.copySchemaBasics`).

    Raises:
        SchemaBuilderError: a field name is empty or occurs twice.
    """
    return Schema(
        Type.STRUCT,
        name=schema.name,
        version=schema.version,
        doc=schema.doc,
        parameters=schema.parameters or None,
        fields=tuple(fields),
    )


class FieldChange(NamedTuple):
    """Change of the values of a field by a transform: one by one, or as a column."""

    value: Callable[[Any], Any]
    column: Callable[[list[Any], frozenset[type]], Column]
    """Changes many values as `value` does; the second argument is the set of their Python types."""

    def apply(self, column: Column, types: frozenset[type] | None = None) -> Column:
        """Return the changed column. `types` are the Python types of its values, if they are known."""
        if isinstance(column, Same):
            return Same(self.value(column.value))
        return self.column(column, frozenset(map(type, column)) if types is None else types)


class FieldCopy(NamedTuple):
    """Field of the new struct: the field to read, the field to put, and the change between the two."""

    source: Field
    target: Field
    change: FieldChange | None = None


class _Put(NamedTuple):
    """Put operation for a field whose values may have to be replaced, changed or validated."""

    source: Field
    target: Field
    change: FieldChange | None
    fill: Any
    """Default that replaces a null."""
    new_schema: bool
    """Whether the schemas of target and source differ, so that values are validated."""
    every_value: bool
    """Whether every value must be checked, not only nulls."""

    def value(self, value: Any) -> Any:
        """Return the value to put for a value that was read."""
        if value is None:
            value = self.fill
            if value is not None and self.change is None and self.source.schema.type is Type.STRUCT:
                raise DataError(
                    f'Struct schemas do not match for field: "{self.source.name}". It is null, and Kafka Connect cannot '
                    "put a default that is a struct. Set replace.null.with.default to false, or drop the default from the "
                    "schema."
                )
        if self.change is not None:
            value = self.change.value(value)
        if value is None:
            if not self.target.schema.optional:
                raise null_error(self.target.name, self.target.schema)
        elif self.new_schema:
            _validate_class(self.target.name, self.source.schema, self.target.schema, value)
        return value

    def column(self, column: Column, types: frozenset[type]) -> Column:
        """Return the result of `value`, for a column whose values have these Python types."""
        if isinstance(column, Same):
            return Same(self.value(column.value)) if self.every_value or _NULL in types else column
        if self.change is not None:
            if _NULL in types:
                if self.fill is not None:
                    types = types - {_NULL} | {type(self.fill)}
                    column = [self.fill if v is None else v for v in column]
                elif not self.target.schema.optional:
                    raise null_error(self.target.name, self.target.schema)
            return self.change.column(column, types)
        if self.new_schema:
            return [self.value(v) for v in column]
        if _NULL not in types:
            return column
        fill = self.value(None)
        return [fill if v is None else v for v in column]


class StructCopy:
    """Copier of structs of one schema into structs of another.

    Args:
        schema: schema of the new struct.
        fields: its fields, in their order.
        replace_null: read a null as the default of its field.

    Attributes:
        schema: schema of the new struct.
    """

    def __init__(self, schema: Schema, fields: Iterable[FieldCopy], *, replace_null: bool) -> None:
        self.schema = schema
        copies = tuple(fields)
        self._names = [(c.target.name, c.source.name) for c in copies]
        kept = [new for new, old in self._names if new == old]
        self._kept = kept if len(kept) == len(copies) else None
        self._puts = tuple(
            put
            for put in (_put_of(c, replace_null=replace_null) for c in copies)
            if put.every_value or put.fill is not None or not put.target.schema.optional
        )
        self._every_value = tuple(put for put in self._puts if put.every_value)

    def row(self, struct: Mapping[str, Any]) -> dict[str, Any]:
        """Return the new struct.

        Raises:
            DataError: a value is invalid for its field.
        """
        keeps_names = list(struct) == self._kept
        new = dict(struct) if keeps_names else {name: struct.get(old) for name, old in self._names}
        for put in self._puts if None in new.values() else self._every_value:
            name = put.target.name
            item = new.get(name)
            if item is None or put.every_value:
                new[name] = put.value(item)
        return new

    def row_with_defaults(self, struct: dict[str, Any]) -> dict[str, Any]:
        """Copy as `row` does, for a copy that keeps all names. Return the same object if it has no nulls to replace."""
        for put in self._puts:
            if struct.get(put.source.name) is None:
                return self.row(struct)
        return struct

    def rows(self, structs: Sequence[Any]) -> list[dict[str, Any]] | Fields | None:
        """Copy as `row` does, for many structs. Return None if some are not structs or lack a field.

        Raises:
            DataError: a value of one of them is invalid for its field.
        """
        fields = structs if isinstance(structs, Fields) else self._read(structs)
        if fields is None or not all(old in fields.columns for _, old in self._names):
            return None
        columns = {name: fields.columns[old] for name, old in self._names}
        for put in self._puts:
            columns[put.target.name] = put.column(columns[put.target.name], fields.types(put.source.name))
        return with_columns(fields, columns)

    def keeps_values(self, structs: Sequence[Any]) -> bool:
        """Return whether all items are structs without nulls to replace or reject.

        False may also mean that this is unknown.
        """
        if isinstance(structs, Fields):
            columns = structs.columns
            return all(p.source.name in columns and _NULL not in structs.types(p.source.name) for p in self._puts)
        if set(map(type, structs)) != _DICT:
            return False
        try:
            return all(None not in map(itemgetter(p.source.name), structs) for p in self._puts)
        except KeyError:
            return False

    def _read(self, structs: Sequence[Any]) -> Fields | None:
        if not self._names:
            return Fields.of(structs)
        if set(map(type, structs)) != _DICT:
            return None
        try:
            return Fields({old: list(map(itemgetter(old), structs)) for _, old in self._names}, len(structs))
        except KeyError:
            return None


def with_columns(fields: Fields, columns: Mapping[str, Column]) -> list[dict[str, Any]] | Fields:
    """Return as many rows as `fields` has, but with these columns."""
    return fields.having(columns) if columns else [{} for _ in range(len(fields))]


def _put_of(copy: FieldCopy, *, replace_null: bool) -> _Put:
    source, target, change = copy
    fill = source.schema.default if replace_null else None
    new_schema = change is None and source.schema is not target.schema and source.schema != target.schema
    return _Put(source, target, change, fill, new_schema, every_value=new_schema or change is not None)


def _validate_class(name: str, source: Schema, target: Schema, value: Any) -> None:
    """Validate a value that moves from one schema to another, like `ConnectSchema.validateValue`.

    The old schema determines its Java class. A plain `int` fits any width, but Java's boxed numbers do not.
    """
    if value is None:
        if not target.optional:
            raise null_error(name, target)
        return
    if _accepted_class(target) != _accepted_class(source):
        description = f'"{target.name}" with type ' if target.name is not None else "with type "
        raise DataError(
            f"Invalid Java object for schema {description}{target.type.upper()}: class {java_class(source, value)} "
            f'for field: "{name}"'
        )
    if target.name in LOGICAL:
        return
    if target.type is Type.STRUCT and source != target:
        raise DataError(f'Struct schemas do not match for field: "{name}"')
    if target.type is Type.ARRAY and source.items is not None and target.items is not None:
        for item in value:
            _validate_class(name, source.items, target.items, item)
    elif target.type is Type.MAP and None not in (source.keys, source.values, target.keys, target.values):
        for key, item in value.items():
            _validate_class(name, source.keys, target.keys, key)  # type: ignore[arg-type]
            _validate_class(name, source.values, target.values, item)  # type: ignore[arg-type]


def _accepted_class(schema: Schema) -> type | Type:
    """Return the class that a value must have: that of the logical type, or else that of the schema type."""
    logical = LOGICAL.get(schema.name) if schema.name is not None else None
    return schema.type if logical is None else logical
