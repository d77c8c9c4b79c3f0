"""HoistField: wrap a key or value into a struct or map of one field."""

from typing import Any

from penstock import Config, Fields, Importance, Record, RecordBatch, Schema, Transform, prop
from penstock.schema import struct
from penstock_plugins.connect_values import check, surely_under

__all__ = ["HoistField"]


class HoistFieldConfig(Config):
    """The properties of HoistField."""

    field: str = prop(
        "field",
        doc="Field name for the single field that will be created in the resulting Struct or Map.",
        importance=Importance.MEDIUM,
    )


class HoistField(Transform):
    """Wrap data in a Struct when a schema is present, in a Map when there is none."""

    Config = HoistFieldConfig
    java_names = ("org.apache.kafka.connect.transforms.HoistField",)
    variants = ("Key", "Value")

    def configure(self, config: HoistFieldConfig) -> None:
        """Take the parsed `Config`."""
        self._field = config.field
        self._schemas: dict[Schema, Schema] = {}

    def apply(self, record: Record) -> Record:
        """The record with its side wrapped.

        Raises:
            DataError: the side is null, or of another kind, under its schema.
        """
        name = self._field
        if self.side == "key":
            if record.key_schema is not None:
                check(name, record.key_schema, record.key)
            return record.replace(key={name: record.key}, key_schema=self._wrapped(record.key_schema))
        if record.value_schema is not None:
            check(name, record.value_schema, record.value)
        return record.replace(value={name: record.value}, value_schema=self._wrapped(record.value_schema))

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """As `apply`; the values become the one column of the batch."""
        name = self._field
        column: list[Any] = batch.column("key") if self.side == "key" else batch.column("value")
        schemas = batch.key_schema if self.side == "key" else batch.value_schema
        new_schemas: Schema | None | list[Schema | None]
        if isinstance(schemas, list):
            for schema, value in zip(schemas, column, strict=True):
                if schema is not None:
                    check(name, schema, value)
            new_schemas = [self._wrapped(s) for s in schemas]
        else:
            if schemas is not None and not surely_under(schemas, column):
                for value in column:
                    check(name, schemas, value)
            new_schemas = self._wrapped(schemas)
        if self.side == "key":
            return batch.replace(key=[{name: value} for value in column], key_schema=new_schemas)
        return batch.replace(value=Fields({name: column}, batch.length), value_schema=new_schemas, owned=True)

    def _wrapped(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        found = self._schemas.get(schema)
        if found is None:
            found = self._schemas[schema] = struct({self._field: schema})
        return found
