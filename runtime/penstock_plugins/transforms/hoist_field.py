"""HoistField: wrap a key or value into a struct or map of one field."""

from typing import Any

from penstock import Config, Fields, Importance, Schema, prop
from penstock.schema import struct
from penstock_plugins.connect.values import all_valid, validate_value
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import KeyValueTransform, TransformedColumn
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["HoistField"]


class HoistFieldConfig(Config):
    field: str = prop(
        "field",
        doc="Field name for the single field that will be created in the resulting Struct or Map.",
        importance=Importance.MEDIUM,
    )


class HoistField(KeyValueTransform):
    """Wrap data in a Struct when a schema is present, in a Map when there is none."""

    Config = HoistFieldConfig
    java_names = ("org.apache.kafka.connect.transforms.HoistField",)

    def configure(self, config: HoistFieldConfig) -> None:
        self._field = config.field
        self._schemas = SchemaCache(lambda schema: struct({config.field: schema}))

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the key or value, wrapped.

        Raises:
            DataError: the key or value does not fit its schema, or is null although required.
            SchemaBuilderError: the name of the field is empty, and there is a schema.
        """
        if schema is None:
            return None, {self._field: value}
        new_schema = self._schemas[schema]
        validate_value(self._field, schema, value)
        return new_schema, {self._field: value}

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change as `change_value` does; the values become the only column of the batch."""
        column = values.rows() if isinstance(values, Fields) else values
        new = Fields({self._field: column}, len(column))
        if schema is None:
            return None, new, True
        new_schema = self._schemas[schema]
        if not all_valid(schema, values):
            for value in column:
                validate_value(self._field, schema, value)
        return new_schema, new, True
