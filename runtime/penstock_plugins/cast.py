"""Cast: change the type of fields, or of a whole key or value."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from pydantic import field_validator

from penstock import (
    Config,
    DataError,
    Field,
    Importance,
    Record,
    RecordBatch,
    Same,
    Schema,
    SchemaBuilderError,
    Transform,
    Type,
    prop,
)
from penstock_plugins.cast_columns import cast_column
from penstock_plugins.cast_values import CASTABLE, cast
from penstock_plugins.connect_values import LOGICAL
from penstock_plugins.field_columns import (
    OncePerSchema,
    copied,
    copied_columns,
    fields_of,
    guarded,
    replaced,
    replaced_batch,
    replaced_in_maps,
    required_map,
    required_struct,
    side_of,
)
from penstock_plugins.java_numbers import JAVA_BLANKS

__all__ = ["Cast"]

_PURPOSE: Final = "cast types"
_NULL: Final = type(None)
_Casts = tuple[tuple[str, Schema | None, Type], ...]
_TYPES: Final[Mapping[str, Type]] = {t.upper(): t for t in Type}


class CastConfig(Config):
    """The properties of Cast."""

    spec: list[str] = prop(
        "spec",
        doc="List of fields and the type to cast them to of the form field1:type,field2:type to cast fields of Maps or "
        "Structs. A single type to cast the entire value. Valid types are int8, int16, int32, int64, float32, float64, "
        "boolean, and string. Note that binary fields can only be cast to string.",
        importance=Importance.HIGH,
        valid="field:type pairs, or one type",
    )
    replace_null: bool = prop(
        "replace.null.with.default",
        True,
        doc="Whether to replace fields that have a default value and that are null to the default value. "
        "When set to true, the default value is used, otherwise null is used.",
        importance=Importance.MEDIUM,
    )

    @field_validator("spec")
    @classmethod
    def _can_be_read(cls, items: list[str]) -> list[str]:
        if not items:
            raise ValueError("Must specify at least one field to cast.")
        if None in _targets(items) and len(items) > 1:
            raise ValueError(
                "Cast transformations that specify a type to cast the entire value to may only specify a single cast "
                "in their spec"
            )
        return items


def _targets(items: Sequence[str]) -> dict[str | None, Type]:
    """The type for each field; the one of the whole value is under None.

    Raises:
        ValueError: an item is no `field:type` and no type.
    """
    found: dict[str | None, Type] = {}
    for item in items:
        field, _, text = item.rstrip(":").rpartition(":")
        if ":" in field:
            raise ValueError(f"Invalid cast '{item}': write field:type, or one type for the whole value")
        target = _TYPES.get(text.strip(JAVA_BLANKS).upper())
        if target is None:
            raise ValueError(f"Invalid type found in casting spec: '{text}'. Valid types: {', '.join(CASTABLE)}")
        if target not in CASTABLE:
            raise ValueError(f"Cast transformation does not support casting to {target}. Valid: {', '.join(CASTABLE)}")
        found[field.strip(JAVA_BLANKS) if ":" in item.rstrip(":") else None] = target
    return found


class _Shape(NamedTuple):
    """What is known once per old schema."""

    schema: Schema
    guards: tuple[Field, ...]
    casts: _Casts


class Cast(Transform):
    """Cast fields or the entire key or value to a specific type, for example to a smaller width."""

    Config = CastConfig
    java_names = ("org.apache.kafka.connect.transforms.Cast",)
    variants = ("Key", "Value")

    def configure(self, config: CastConfig) -> None:
        """Take the parsed `Config`."""
        targets = _targets(config.spec)
        self._whole = targets.pop(None, None)
        self._casts: _Casts = tuple((name, None, target) for name, target in targets.items() if name is not None)
        self._replace_null = config.replace_null
        self._shape = OncePerSchema(self._new_shape)
        self._whole_schema = OncePerSchema(self._new_whole)

    def apply(self, record: Record) -> Record:
        """The record with its side cast; one whose side is null passes.

        Raises:
            DataError: a value cannot be cast, the side is no struct or map, or null stands in a required field.
            SchemaBuilderError: a whole value's default does not fit the logical type that its schema names.
            TypeError: a date or time that is none.
        """
        schema, value = side_of(record, self.side)
        if value is None:
            return record
        if self._whole is not None:
            new_schema = None if schema is None else self._whole_schema(schema)
            return replaced(record, self.side, new_schema, cast(schema, self._whole, value))
        if schema is None:
            new, casts, new_schema = dict(required_map(value, _PURPOSE)), self._casts, None
        else:
            struct = required_struct(schema, value, _PURPOSE)
            new_schema, guards, casts = self._shape(schema)
            new = copied(struct, guards, replace_null=self._replace_null)
        for name, old, target in casts:
            new[name] = cast(old, target, new.get(name))
        return replaced(record, self.side, new_schema, new)

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """As `apply`, one column after the other."""
        if self._whole is not None:
            return self._whole_batch(batch, self._whole)
        found = fields_of(batch, self.side)
        if found is None:
            in_maps = replaced_in_maps(batch, self.side, ((n, partial(_cast_of_maps, t)) for n, _, t in self._casts))
            return self._one_by_one(batch) if in_maps is None else in_maps
        schema, fields = found
        if schema is None:
            columns, casts, new_schema = dict(fields.columns), self._casts, None
        else:
            new_schema, guards, casts = self._shape(schema)
            columns = copied_columns(fields, guards, replace_null=self._replace_null)
        for name, old, target in casts:
            column = columns.get(name)
            if column is None:
                columns[name] = Same(None)
            elif isinstance(column, Same):
                columns[name] = Same(cast(old, target, column.value))
            else:
                same = column is fields.columns.get(name)
                kinds = fields.types(name) if same else frozenset(map(type, column))
                columns[name] = cast_column(old, target, column, kinds)
        return replaced_batch(batch, self.side, new_schema, fields.having(columns))

    def _whole_batch(self, batch: RecordBatch, target: Type) -> RecordBatch:
        column = batch.key if self.side == "key" else batch.value
        schema = batch.key_schema if self.side == "key" else batch.value_schema
        if column is None:
            return batch
        kinds = frozenset(map(type, column))
        if isinstance(schema, list) or (schema is not None and _NULL in kinds):
            return self._one_by_one(batch)  # a null keeps its old schema
        new_schema = None if schema is None else self._whole_schema(schema)
        made = cast_column(schema, target, column, kinds)
        if self.side == "key":
            return batch.replace(key=made, key_schema=new_schema)
        return batch.replace(value=made, value_schema=new_schema)

    def _one_by_one(self, batch: RecordBatch) -> RecordBatch:
        return RecordBatch.of(map(self.apply, batch.records()), like=batch, positions=batch.positions)

    def _new_whole(self, schema: Schema) -> Schema:
        assert self._whole is not None
        default = cast(schema, self._whole, schema.default)
        if default is not None and schema.name in LOGICAL:
            raise SchemaBuilderError(
                f"Invalid default value: the schema is still named {schema.name}, which a {self._whole} is not. Cast "
                "without a default, or remove the name with SetSchemaMetadata before"
            )
        return Schema(self._whole, schema.optional, schema.name, schema.version, schema.doc, schema.parameters, default)

    def _new_shape(self, schema: Schema) -> _Shape:
        if schema.default is not None:
            raise DataError("Cast transformation does not support casting from STRUCT: the struct has a default")
        targets = {name: target for name, _, target in self._casts}
        fields = tuple(_cast_field(f, targets[f.name]) if f.name in targets else f for f in schema.fields)
        casts = tuple((f.name, f.schema, targets[f.name]) for f in schema.fields if f.name in targets)
        guards = guarded(schema.fields, replace_null=self._replace_null)
        return _Shape(replace(schema, fields=fields), guards, casts)


def _cast_of_maps(target: Type, column: list[Any]) -> list[Any]:
    return cast_column(None, target, column, frozenset(map(type, column)))


def _cast_field(field: Field, target: Type) -> Field:
    default = cast(field.schema, target, field.schema.default)
    return Field(field.name, Schema(target, optional=field.schema.optional, default=default))
