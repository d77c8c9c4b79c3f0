"""ValueToKey: make a new key from fields of the value."""

from typing import Any, Final

from penstock import Config, DataError, Fields, Importance, Record, RecordBatch, Same, Schema, Transform, Type, prop
from penstock_plugins.connect.values import common_schema
from penstock_plugins.structs.copy import FieldCopy, StructCopy, replace_null_with_default, require_map, require_struct
from penstock_plugins.structs.field_names import NonEmptyDistinctNames
from penstock_plugins.structs.known_fields import known_fields
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["ValueToKey"]

_PURPOSE: Final = "copying fields from value to key"
_DICT: Final = {dict}


class ValueToKeyConfig(Config):
    fields: NonEmptyDistinctNames = prop(
        "fields", doc="Field names on the record value to extract as the record key.", importance=Importance.HIGH
    )
    replace_null: bool = replace_null_with_default()


class ValueToKey(Transform):
    """Replace the record key with a new key formed from a subset of fields in the record value."""

    Config = ValueToKeyConfig
    java_names = ("org.apache.kafka.connect.transforms.ValueToKey",)

    def configure(self, config: ValueToKeyConfig) -> None:
        self._names = config.fields
        self._replace_null = config.replace_null
        self._copies = SchemaCache(self._copy)

    def apply(self, record: Record) -> Record:
        """Return the record with the new key, a struct or map. The value does not change.

        Raises:
            DataError: the value is null or not a struct or map, its schema lacks a field, or a required field is null.
        """
        schema, key = self._key(record.value_schema, record.value)
        return record.replace(key=key, key_schema=schema)

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Change as `apply` does, from columns if the values have the same fields."""
        schema = batch.value_schema
        values = batch.value if batch.fields is None else batch.fields
        if values is not None and not isinstance(schema, list):
            keys = self._keys(schema, values)
            if keys is not None:
                return batch.replace(key=keys, key_schema=None if schema is None else self._copies[schema].schema)
        pairs = [self._key(s, v) for s, v in zip(batch.column("value_schema"), batch.column("value"), strict=True)]
        return batch.replace(key=[key for _, key in pairs], key_schema=common_schema([s for s, _ in pairs]))

    def _key(self, schema: Schema | None, value: Any) -> tuple[Schema | None, dict[str, Any]]:
        if schema is None:
            fields = require_map(value, _PURPOSE)
            return None, {name: fields.get(name) for name in self._names}
        require_struct(schema, value, _PURPOSE)
        copy = self._copies[schema]
        return copy.schema, copy.row(value)

    def _keys(self, schema: Schema | None, values: list[Any] | Fields) -> list[dict[str, Any]] | None:
        if schema is not None:
            rows = self._copies[schema].rows(values)
            return rows.rows() if isinstance(rows, Fields) else None
        if isinstance(values, Fields):
            return values.having({name: values.columns.get(name, Same(None)) for name in self._names}).rows()
        if set(map(type, values)) != _DICT:
            return None
        return Fields({name: [v.get(name) for v in values] for name in self._names}, len(values)).rows()

    def _copy(self, schema: Schema) -> StructCopy:
        fields = []
        for name in self._names:
            field = schema.field(name)
            if field is None:
                raise DataError(f"Field does not exist: {name}{known_fields(schema)}")
            fields.append(field)
        new_schema = Schema(Type.STRUCT, fields=tuple(fields))
        return StructCopy(new_schema, (FieldCopy(f, f) for f in fields), replace_null=self._replace_null)
