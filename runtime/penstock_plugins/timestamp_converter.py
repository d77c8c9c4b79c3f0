"""TimestampConverter: convert timestamps between text, Unix time and Connect's Date, Time and Timestamp."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from penstock import (
    ConfigError,
    DataError,
    Field,
    Fields,
    Problem,
    Record,
    RecordBatch,
    Same,
    Schema,
    Transform,
    Type,
)
from penstock_plugins.connect_values import java_class, null_of
from penstock_plugins.simple_date_format import rules_are_there
from penstock_plugins.timestamp_converter_config import TimestampConverterConfig
from penstock_plugins.timestamps import SCHEMAS, Timestamps, form_of_schema

__all__ = ["TimestampConverter"]


_NULL: Final = type(None)


class _Shape(NamedTuple):
    """What is known once per old schema: the new one, and the fields whose values are not just handed on."""

    schema: Schema
    converted: Field | None
    touched: tuple[Field, ...]
    """The one converted, and those where a null is filled or refused; in their order."""


class TimestampConverter(Transform):
    """Convert timestamps between different formats such as Unix epoch, strings, and Connect Date/Timestamp types.

    Applies to individual fields or to the entire value. One `format` serves texts that are read and texts that are written.
    """

    Config = TimestampConverterConfig
    java_names = ("org.apache.kafka.connect.transforms.TimestampConverter",)
    variants = ("Key", "Value")

    def configure(self, config: TimestampConverterConfig) -> None:
        """Take the parsed `Config`.

        Raises:
            ConfigError: the format reads names of time zones, and this machine does not know their rules.
        """
        self._field = config.field
        self._replace_null = config.replace_null
        self._target = SCHEMAS[config.target_type]
        pattern = config.format if config.format.strip() else None
        self._timestamps = Timestamps(config.target_type, config.unix_precision, pattern)
        self._shapes: dict[Schema, _Shape] = {}
        self._latest: tuple[Schema, _Shape] | None = None
        dates = self._timestamps.format
        self._reads_zones = dates is not None and dates.reads_zone_names
        if self._reads_zones and not rules_are_there():
            raise ConfigError(
                Problem(
                    "format",
                    "The letters z and Z read names of time zones, and this machine has no time zone database. Install "
                    "its package tzdata, or use X, which takes offsets such as Z and +02.",
                )
            )

    def apply(self, record: Record) -> Record:
        """The record with its timestamp converted; null stays null.

        Raises:
            DataError: the timestamp is of a class that has no such form, its text does not fit `format`, the side is no
                struct or map, or a required field is null.
            ConnectError: the timestamp's schema has no such form.
            TypeError: the timestamp is a text, and there is no `format`.
        """
        if self.side == "key":
            schema, key = self._side(record.key_schema, record.key)
            return record.replace(key=key, key_schema=schema)
        schema, value = self._side(record.value_schema, record.value)
        return record.replace(value=value, value_schema=schema)

    def _side(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if not self._field:
            form = None if schema is None else form_of_schema(schema)
            return self._whole(schema), self._timestamps.converted(value, form)
        if schema is None:
            if value is None:
                return None, None
            if not isinstance(value, dict):
                raise DataError(
                    "Only Map objects supported in absence of schema for [converting timestamp formats], found: "
                    f"{java_class(None, value)}"
                )
            return None, value | {self._field: self._timestamps.converted(value.get(self._field), None)}
        if schema.type is not Type.STRUCT or not isinstance(value, dict | None):
            raise DataError(
                f"Only Struct objects supported for [converting timestamp formats], found: {java_class(schema, value)}"
            )
        shape = self._shape(schema)
        return shape.schema, None if value is None else self._struct(shape, value)

    def _struct(self, shape: _Shape, value: Mapping[str, Any]) -> dict[str, Any]:
        new = dict(value)
        for field in shape.touched:
            item = new.get(field.name)
            if item is None and self._replace_null:
                item = field.schema.default
            if field is shape.converted:
                item = self._timestamps.converted(item, form_of_schema(field.schema))
            if item is None and not field.schema.optional:
                raise null_of(field.name, field.schema)
            new[field.name] = item
        return new

    def _whole(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        return self._target.as_optional() if schema.optional else self._target

    def _shape(self, schema: Schema) -> _Shape:
        if self._latest is None or self._latest[0] is not schema:  # a look-up hashes the whole schema
            self._latest = (schema, self._shape_of(schema))
        return self._latest[1]

    def _shape_of(self, schema: Schema) -> _Shape:
        found = self._shapes.get(schema)
        if found is None:
            fields = tuple(
                Field(f.name, self._target.as_optional() if f.schema.optional else self._target)
                if f.name == self._field
                else f
                for f in schema.fields
            )
            converted = schema.field(self._field)
            touched = tuple(
                f
                for f in schema.fields
                if f is converted or not f.schema.optional or (self._replace_null and f.schema.default is not None)
            )
            found = _Shape(replace(schema, fields=fields, default=None), converted, touched)
            if schema.default is not None:
                new_default = self._struct(found, schema.default)
                found = found._replace(schema=replace(found.schema, default=new_default))
            self._shapes[schema] = found
        return found

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """As `apply`, for whole columns."""
        dates = self._timestamps.format
        if dates is None or not self._reads_zones:
            return self._batch(batch)
        zone = dates.zone
        try:
            return self._batch(batch)
        except Exception:
            dates.zone = zone  # `apply` reads the same texts again, and starts where this began
            raise

    def _batch(self, batch: RecordBatch) -> RecordBatch:
        is_key = self.side == "key"
        schema = batch.key_schema if is_key else batch.value_schema
        fields = None if is_key else batch.fields
        column = None if fields is not None else batch.key if is_key else batch.value
        if isinstance(schema, list):
            return self._one_by_one(batch)
        new: list[Any] | Fields | None
        if column is None and fields is None:
            new_schema, new = self._side(schema, None)
        elif not self._field:
            if column is None:
                return self._one_by_one(batch)
            new = self._timestamps.column(column, None if schema is None else form_of_schema(schema))
            new_schema = self._whole(schema)
        else:
            shape = None
            if schema is not None:
                if schema.type is not Type.STRUCT:
                    return self._one_by_one(batch)
                shape = self._shape(schema)
            new = self._columns(shape, fields) if column is None else self._rows(shape, column)  # type: ignore[arg-type]
            if new is None:
                return self._one_by_one(batch)
            new_schema = None if shape is None else shape.schema
        if is_key:
            return batch.replace(key=new, key_schema=new_schema)
        return batch.replace(value=new, value_schema=new_schema, owned=True)

    def _columns(self, shape: _Shape | None, fields: Fields) -> Fields | None:
        """These values with the one column converted; None where each needs a look."""
        name, form = self._field, None
        if shape is not None:
            for field in shape.touched:
                if field.name not in fields.columns or (
                    field is not shape.converted and _NULL in fields.types(field.name)
                ):
                    return None
            if shape.converted is None:
                return fields
            if _null_counts(shape.converted) and _NULL in fields.types(name):
                return None
            form = form_of_schema(shape.converted.schema)
        old = fields.columns.get(name, Same(None))
        new: list[Any] | Same
        if isinstance(old, list):
            new = self._timestamps.column(old, form)
        elif self._reads_zones:  # a text may mean another moment when it is read again
            new = self._timestamps.column([old.value] * len(fields), form)
        else:
            new = Same(self._timestamps.converted(old.value, form))
        return fields.having({**fields.columns, name: new})

    def _rows(self, shape: _Shape | None, rows: list[Any]) -> list[Any] | None:
        """As `_columns`, for values that are held as dicts."""
        name, form = self._field, None
        if set(map(type, rows)) != {dict}:
            return None
        if shape is not None:
            for field in shape.touched:
                if (field is not shape.converted or _null_counts(field)) and None in [r.get(field.name) for r in rows]:
                    return None
            if shape.converted is None:
                return list(map(dict.copy, rows))
            form = form_of_schema(shape.converted.schema)
        made = self._timestamps.column([row.get(name) for row in rows], form)
        new = list(map(dict.copy, rows))
        for row, item in zip(new, made, strict=True):
            row[name] = item
        return new

    def _one_by_one(self, batch: RecordBatch) -> RecordBatch:
        return RecordBatch.of(map(self.apply, batch.records()), like=batch, positions=batch.positions)


def _null_counts(field: Field) -> bool:
    """Whether a null there is filled, or refused."""
    return not field.schema.optional or field.schema.default is not None
