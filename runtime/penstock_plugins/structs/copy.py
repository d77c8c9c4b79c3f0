"""How Kafka Connect copies a struct: each field is read from the old one, and put into the new one.

Reading a null gives the default of the field, where `replace.null.with.default` says so. Putting checks: a null in a
required field is refused although the field may have a default. A field that is put where another stood must be of a class
that its new schema takes.

A default that is a struct can be read but not put: its own schema is that of the field without the default, and Connect
asks for equal schemas. Such a record fails there, and here.

A transform may change a field on the way: what it gets is what was read, and what it gives is put.

Values that are put back under the schema they had are not looked at again: whoever made the struct put them there.
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
    """The property of that name."""
    return prop(
        "replace.null.with.default",
        True,
        doc="Whether to replace fields that have a default value and that are null to the default value. "
        "When set to true, the default value is used, otherwise null is used.",
        importance=Importance.MEDIUM,
    )


def require_map(value: Any, purpose: str) -> dict[Any, Any]:
    """The value, a map without a schema.

    Raises:
        DataError: it is something else, or null.
    """
    if not isinstance(value, dict):
        raise DataError(
            f"Only Map objects supported in absence of schema for [{purpose}], found: {_class_of(None, value)}"
        )
    return value


def require_struct(schema: Schema, value: Any, purpose: str) -> dict[str, Any]:
    """The value, a struct under its schema.

    Raises:
        DataError: it is something else, or null.
    """
    if schema.type is not Type.STRUCT or not isinstance(value, dict):
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {_class_of(schema, value)}")
    return value


def _class_of(schema: Schema | None, value: Any) -> str:
    return "null" if value is None else java_class(schema, value)


def copy_schema_basics(schema: Schema, fields: Iterable[Field]) -> Schema:
    """A struct schema with these fields and the name, version, doc and parameters of another.

    It is required and has no default, whatever the other was (`SchemaUtil.copySchemaBasics`).

    Raises:
        SchemaBuilderError: a field name stands twice, or is empty.
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
    """What a transform does to the values of a field."""

    value: Callable[[Any], Any]
    column: Callable[[list[Any], frozenset[type]], Column]
    """The same for many values, of these types."""

    def apply(self, column: Column, types: frozenset[type] | None = None) -> Column:
        """What becomes of a column; the types of its values where they are known."""
        if isinstance(column, Same):
            return Same(self.value(column.value))
        return self.column(column, frozenset(map(type, column)) if types is None else types)


class FieldCopy(NamedTuple):
    """One field of the new struct: where it is read, where it is put, and what is done to it in between."""

    source: Field
    target: Field
    change: FieldChange | None = None


class _Put(NamedTuple):
    """A field whose values are not just handed on."""

    source: Field
    target: Field
    change: FieldChange | None
    fill: Any
    foreign: bool
    busy: bool
    """Whether it looks at more than nulls."""

    def value(self, value: Any) -> Any:
        """What is put for a value that was read."""
        if value is None:
            value = self.fill
            if value is not None and self.change is None and self.source.schema.type is Type.STRUCT:
                raise DataError(
                    f'Struct schemas do not match for field: "{self.source.name}". It is null, and Kafka Connect can put no '
                    "default that is a struct. Set replace.null.with.default to false, or drop the default from the schema."
                )
        if self.change is not None:
            value = self.change.value(value)
        if value is None:
            if not self.target.schema.optional:
                raise null_error(self.target.name, self.target.schema)
        elif self.foreign:
            _validate_class(self.target.name, self.source.schema, self.target.schema, value)
        return value

    def column(self, column: Column, types: frozenset[type]) -> Column:
        """The same for a column of values of these types."""
        if isinstance(column, Same):
            return Same(self.value(column.value)) if self.busy or _NULL in types else column
        if self.change is not None:
            if _NULL in types:
                if self.fill is not None:
                    types = types - {_NULL} | {type(self.fill)}
                    column = [self.fill if v is None else v for v in column]
                elif not self.target.schema.optional:
                    raise null_error(self.target.name, self.target.schema)
            return self.change.column(column, types)
        if self.foreign:
            return [self.value(v) for v in column]
        if _NULL not in types:
            return column
        fill = self.value(None)
        return [fill if v is None else v for v in column]


class StructCopy:
    """The way from the structs of one schema to those of another, worked out once.

    Args:
        schema: that of the new struct.
        moves: its fields, in their order.
        replace_null: whether a null is read as the default of its field.

    Attributes:
        schema: that of the new struct.
    """

    def __init__(self, schema: Schema, moves: Iterable[FieldCopy], *, replace_null: bool) -> None:
        self.schema = schema
        there = tuple(moves)
        self._names = [(m.target.name, m.source.name) for m in there]
        kept = [new for new, old in self._names if new == old]
        self._kept = kept if len(kept) == len(there) else None
        self._puts = tuple(
            put for put in (_put_of(m, replace_null=replace_null) for m in there)
            if put.busy or put.fill is not None or not put.target.schema.optional
        )  # fmt: skip
        self._busy = tuple(put for put in self._puts if put.busy)

    def row(self, struct: Mapping[str, Any]) -> dict[str, Any]:
        """The new struct.

        Raises:
            DataError: a field may not hold what it gets.
        """
        same = list(struct) == self._kept
        new = dict(struct) if same else {name: struct.get(old) for name, old in self._names}
        for put in self._puts if None in new.values() else self._busy:
            name = put.target.name
            item = new.get(name)
            if item is None or put.busy:
                new[name] = put.value(item)
        return new

    def row_with_defaults(self, struct: dict[str, Any]) -> dict[str, Any]:
        """As `row`, for a copy that keeps all names: the same object where no null is replaced."""
        for put in self._puts:
            if struct.get(put.source.name) is None:
                return self.row(struct)
        return struct

    def rows(self, structs: Sequence[Any]) -> list[dict[str, Any]] | Fields | None:
        """As `row`, for many; None where they are not all structs that have all the fields.

        Raises:
            DataError: as `row`, for one of them.
        """
        fields = structs if isinstance(structs, Fields) else self._read(structs)
        if fields is None or not all(old in fields.columns for _, old in self._names):
            return None
        columns = {name: fields.columns[old] for name, old in self._names}
        for put in self._puts:
            columns[put.target.name] = put.column(columns[put.target.name], fields.types(put.source.name))
        return with_columns(fields, columns)

    def keeps_values(self, structs: Sequence[Any]) -> bool:
        """Whether it is sure that each of these is a struct in which no null is replaced or refused."""
        if isinstance(structs, Fields):
            there = structs.columns
            return all(p.source.name in there and _NULL not in structs.types(p.source.name) for p in self._puts)
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
    """As many rows as there are in `fields`, with these columns, if any."""
    return fields.having(columns) if columns else [{} for _ in range(len(fields))]


def _put_of(move: FieldCopy, *, replace_null: bool) -> _Put:
    source, target, change = move
    fill = source.schema.default if replace_null else None
    foreign = change is None and source.schema is not target.schema and source.schema != target.schema
    return _Put(source, target, change, fill, foreign, busy=foreign or change is not None)


def _validate_class(name: str, source: Schema, target: Schema, value: Any) -> None:
    """`ConnectSchema.validateValue` for a value whose class its old schema tells.

    A plain `int` would fit any width, but Java's boxed numbers do not.
    """
    if value is None:
        if not target.optional:
            raise null_error(name, target)
        return
    if _accepted_class(target) != _accepted_class(source):
        shown = f'"{target.name}" with type ' if target.name is not None else "with type "
        raise DataError(
            f"Invalid Java object for schema {shown}{target.type.upper()}: class {java_class(source, value)} "
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
    """What decides about the class of a value: the logical type's class, else the schema type."""
    logical = LOGICAL.get(schema.name) if schema.name is not None else None
    return schema.type if logical is None else logical
