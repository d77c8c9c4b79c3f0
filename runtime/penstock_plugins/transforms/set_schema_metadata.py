"""SetSchemaMetadata: set the name or version of a struct's schema."""

from dataclasses import replace
from typing import Any, Self

from pydantic import model_validator

from penstock import Config, ConfigError, DataError, Importance, Int, Schema, Type, prop
from penstock_plugins.structs.copy import FieldCopy, StructCopy, replace_null_with_default
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import KeyValueTransform, TransformedColumn
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["SetSchemaMetadata"]


class SetSchemaMetadataConfig(Config):
    schema_name: str | None = prop("schema.name", None, doc="Schema name to set.", importance=Importance.HIGH)
    schema_version: Int | None = prop("schema.version", None, doc="Schema version to set.", importance=Importance.HIGH)
    replace_null: bool = replace_null_with_default()

    @model_validator(mode="after")
    def _something_to_set(self) -> Self:
        if self.schema_name is None and self.schema_version is None:
            raise ConfigError("Neither schema name nor version configured: set schema.name, schema.version or both")
        return self


class SetSchemaMetadata(KeyValueTransform):
    """Set the schema name, version or both on the record's key or value schema."""

    Config = SetSchemaMetadataConfig
    java_names = ("org.apache.kafka.connect.transforms.SetSchemaMetadata",)

    def configure(self, config: SetSchemaMetadataConfig) -> None:
        self._name, self._version = config.schema_name, config.schema_version
        self._replace_null = config.replace_null
        self._copies = SchemaCache(self._copy)

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the schema with the new name and version. The struct is copied, so nulls become defaults.

        Raises:
            DataError: a value has no schema, the schema is not that of a struct, or a required field is null.
        """
        if schema is None:
            if value is None:
                return None, None
            raise DataError(
                "Schema required for [updating schema metadata]: these records have none. Use a converter that provides "
                "schemas, or guard this transform with a predicate."
            )
        copy = self._copies[schema]
        return copy.schema, copy.row_with_defaults(value) if isinstance(value, dict) else value

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change as `change_value` does. Return the same values if none of their nulls is replaced."""
        if schema is None:
            return None
        copy = self._copies[schema]
        if copy.keeps_values(values):
            return copy.schema, values, False
        new = copy.rows(values)
        return None if new is None else (copy.schema, new, True)

    def _copy(self, schema: Schema) -> StructCopy:
        if schema.type is not Type.STRUCT:
            raise DataError(
                f"Cannot list fields on non-struct type: only the schema of a struct can be renamed, this is {schema.type}"
            )
        new = replace(
            schema,
            name=schema.name if self._name is None else self._name,
            version=schema.version if self._version is None else self._version,
        )
        return StructCopy(new, (FieldCopy(f, f) for f in schema.fields), replace_null=self._replace_null)
