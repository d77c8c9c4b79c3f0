"""Cast: change the type of fields, or of a whole key or value."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from pydantic import field_validator

from penstock import Config, DataError, Field, Fields, Importance, Schema, SchemaBuilderError, Type, prop
from penstock_java_compat.property_text import trimmed
from penstock_plugins.connect.values import LOGICAL
from penstock_plugins.structs.copy import FieldChange, FieldCopy, StructCopy, replace_null_with_default
from penstock_plugins.structs.field_changes import FieldValueTransform
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import TransformedColumn
from penstock_plugins.structs.schema_cache import SchemaCache
from penstock_plugins.transforms._cast_columns import cast_column
from penstock_plugins.transforms._cast_values import CASTABLE, cast

__all__ = ["Cast"]

_TYPES: Final[Mapping[str, Type]] = {t.upper(): t for t in Type}


class CastConfig(Config):
    spec: list[str] = prop(
        "spec",
        doc="List of fields and the type to cast them to of the form field1:type,field2:type to cast fields of Maps or "
        "Structs. A single type to cast the entire value. Valid types are int8, int16, int32, int64, float32, float64, "
        "boolean, and string. Note that binary fields can only be cast to string.",
        importance=Importance.HIGH,
        valid="field:type pairs, or one type",
    )
    replace_null: bool = replace_null_with_default()

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
    """Return the target type of each field; the key None means the whole value.

    Raises:
        ValueError: an item is neither `field:type` nor a type.
    """
    targets: dict[str | None, Type] = {}
    for item in items:
        field, _, text = item.rstrip(":").rpartition(":")
        if ":" in field:
            raise ValueError(f"Invalid cast '{item}': write field:type, or one type for the whole value")
        target = _TYPES.get(trimmed(text).upper())
        if target is None:
            raise ValueError(f"Invalid type found in casting spec: '{text}'. Valid types: {', '.join(CASTABLE)}")
        if target not in CASTABLE:
            raise ValueError(f"Cast transformation does not support casting to {target}. Valid: {', '.join(CASTABLE)}")
        targets[trimmed(field) if ":" in item.rstrip(":") else None] = target
    return targets


class Cast(FieldValueTransform):
    """Cast fields or the entire key or value to a specific type, for example to a smaller width."""

    Config = CastConfig
    java_names = ("org.apache.kafka.connect.transforms.Cast",)
    purpose = "cast types"

    def configure(self, config: CastConfig) -> None:
        targets = _targets(config.spec)
        self._whole = targets.pop(None, None)
        self._targets = {name: target for name, target in targets.items() if name is not None}
        self._whole_schemas = SchemaCache(self._whole_schema)
        changes = {name: _change(None, target) for name, target in self._targets.items()}
        self.change_fields(changes, replace_null=config.replace_null)

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the key or value, cast; a null passes through with its schema.

        Raises:
            DataError: a value cannot be cast, the key or value is not a struct or map, or a required field is null.
            SchemaBuilderError: the default of a whole value does not fit the logical type that its schema names.
            TypeError: the schema names a date or time but the value is not one.
        """
        if value is None:
            return schema, None
        if self._whole is None:
            return super().change_value(schema, value)
        return None if schema is None else self._whole_schemas[schema], cast(schema, self._whole, value)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change as `change_value` does, column by column."""
        if self._whole is None:
            return super().change_values(schema, values)
        kinds = frozenset(map(type, values))
        if isinstance(values, Fields) or (schema is not None and type(None) in kinds):
            return None  # a null keeps its old schema
        new_schema = None if schema is None else self._whole_schemas[schema]
        return new_schema, cast_column(schema, self._whole, values, kinds), False

    def copy_of(self, schema: Schema) -> StructCopy:
        """Return the copier of structs of this schema.

        Raises:
            DataError: the schema has a default, which would have to be cast.
        """
        if schema.default is not None:
            raise DataError("Cast transformation does not support casting from STRUCT: the struct has a default")
        return super().copy_of(schema)

    def move(self, field: Field) -> FieldCopy:
        """Return the field with the target type; its default is cast, too."""
        target = self._targets.get(field.name)
        if target is None:
            return FieldCopy(field, field)
        default = cast(field.schema, target, field.schema.default)
        new_schema = Schema(target, optional=field.schema.optional, default=default)
        return FieldCopy(field, Field(field.name, new_schema), _change(field.schema, target))

    def _whole_schema(self, schema: Schema) -> Schema:
        assert self._whole is not None
        default = cast(schema, self._whole, schema.default)
        if default is not None and schema.name in LOGICAL:
            raise SchemaBuilderError(
                f"Invalid default value: the schema is still named {schema.name}, which a {self._whole} does not fit. "
                "Remove the default from the schema before the cast"
            )
        return Schema(self._whole, schema.optional, schema.name, schema.version, schema.doc, schema.parameters, default)


def _change(schema: Schema | None, target: Type) -> FieldChange:
    return FieldChange(partial(cast, schema, target), partial(cast_column, schema, target))
