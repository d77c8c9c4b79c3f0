"""TimestampConverter: convert timestamps between strings, Unix time and Connect's Date, Time and Timestamp."""

from dataclasses import replace
from functools import partial
from typing import Any

from penstock import ConfigError, Field, Fields, Problem, RecordBatch, Same, Schema, Type
from penstock_java_compat.date_format import rules_are_there
from penstock_java_compat.property_text import trimmed
from penstock_plugins.structs.copy import FieldChange, FieldCopy, StructCopy
from penstock_plugins.structs.field_changes import FieldValueTransform
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import TransformedColumn
from penstock_plugins.transforms._timestamp_converter_config import TimestampConverterConfig
from penstock_plugins.transforms._timestamp_forms import SCHEMAS, TimestampFormat, form_of_schema

__all__ = ["TimestampConverter"]


class TimestampConverter(FieldValueTransform):
    """Convert timestamps between different formats such as Unix epoch, strings, and Connect Date/Timestamp types.

    Applies to individual fields or to the entire value. The same `format` is used to parse and to format strings.
    """

    Config = TimestampConverterConfig
    java_names = ("org.apache.kafka.connect.transforms.TimestampConverter",)
    purpose = "converting timestamp formats"

    def configure(self, config: TimestampConverterConfig) -> None:
        """Configure the transform.

        Raises:
            ConfigError: the format contains names of time zones, and this machine has no time zone database.
        """
        self._field = config.field
        self._target = SCHEMAS[config.target_type]
        pattern = config.format if trimmed(config.format) else None
        self._timestamps = TimestampFormat(config.target_type, config.unix_precision, pattern)
        self.change_fields({self._field: self._change(None)}, replace_null=config.replace_null)
        dates = self._timestamps.format
        self._reads_zones = dates is not None and dates.reads_zone_names
        if self._reads_zones and not rules_are_there():
            raise ConfigError(
                Problem(
                    "format",
                    "The letters z and Z parse names of time zones, and this machine has no time zone database. Install "
                    "its package tzdata, or use X, which accepts offsets such as Z and +02.",
                )
            )

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the key or value with its timestamp converted; null stays null.

        Raises:
            DataError: the class of the timestamp is not supported, it does not match `format`, the key or value is not
                a struct or map, or a required field is null.
            ConnectError: the schema of the timestamp is not supported.
            TypeError: the timestamp is a string, and no `format` is configured.
        """
        if not self._field:
            return self._whole(schema), self._converted(schema, value)
        if value is None and (schema is None or schema.type is Type.STRUCT):
            return None if schema is None else self.copies[schema].schema, None
        return super().change_value(schema, value)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change as `change_value` does, for whole columns."""
        if not self._field:
            if isinstance(values, Fields):
                return None
            return self._whole(schema), self._column(schema, values), True
        if self._reads_zones and isinstance(values, Fields):
            same = values.columns.get(self._field)
            if isinstance(same, Same):
                # A string may be a different time when it is parsed again: see `SimpleDateFormat.zone`.
                values = values.having({**values.columns, self._field: [same.value] * len(values)})
        return super().change_values(schema, values)

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Change as `apply` does, for whole columns."""
        dates = self._timestamps.format
        if dates is None or not self._reads_zones:
            return super().apply_batch(batch)
        zone = dates.zone
        try:
            return super().apply_batch(batch)
        except Exception:
            dates.zone = zone  # `apply` parses the same strings again, and must start with the same zone
            raise

    def copy_of(self, schema: Schema) -> StructCopy:
        """Return the copier of structs of this schema; the default of the struct is converted, too."""
        copy = super().copy_of(replace(schema, default=None) if schema.default is not None else schema)
        if schema.default is not None:
            copy.schema = replace(copy.schema, default=copy.row(schema.default))
        return copy

    def move(self, field: Field) -> FieldCopy:
        """Return the field with the target's schema; its default is dropped, as in Kafka Connect."""
        if field.name != self._field:
            return FieldCopy(field, field)
        new = self._target.as_optional() if field.schema.optional else self._target
        return FieldCopy(field, Field(field.name, new), self._change(field.schema))

    def _whole(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        return self._target.as_optional() if schema.optional else self._target

    def _change(self, schema: Schema | None) -> FieldChange:
        return FieldChange(partial(self._converted, schema), lambda column, _: self._column(schema, column))

    def _converted(self, schema: Schema | None, value: Any) -> Any:
        return self._timestamps.convert(value, None if schema is None else form_of_schema(schema))

    def _column(self, schema: Schema | None, column: list[Any]) -> list[Any]:
        return self._timestamps.convert_column(column, None if schema is None else form_of_schema(schema))
