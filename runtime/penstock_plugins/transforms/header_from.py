"""HeaderFrom: copy or move fields of a key or value into headers."""

from typing import Annotated, Any, NamedTuple, Self

from pydantic import model_validator

from penstock import Config, ConfigError, Fields, Header, Importance, Record, RecordBatch, Same, Schema, prop
from penstock.fields import Column
from penstock.rules import words
from penstock_plugins.connect.values import null_error
from penstock_plugins.structs.copy import (
    FieldCopy,
    StructCopy,
    copy_schema_basics,
    replace_null_with_default,
    require_map,
    require_struct,
    with_columns,
)
from penstock_plugins.structs.field_names import NonEmptyNames
from penstock_plugins.structs.header_columns import appended_headers, header_column
from penstock_plugins.structs.key_value import Values, column_of, side_of
from penstock_plugins.structs.key_value_transform import KeyValueTransform, TransformedColumn
from penstock_plugins.structs.known_fields import known_fields
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["HeaderFrom"]


class HeaderFromConfig(Config):
    fields: NonEmptyNames = prop(
        "fields",
        doc="Field names in the record whose values are to be copied or moved to headers.",
        importance=Importance.HIGH,
    )
    headers: NonEmptyNames = prop(
        "headers",
        doc="Header names, in the same order as the field names listed in the fields configuration property.",
        importance=Importance.HIGH,
    )
    operation: Annotated[str, words("move", "copy")] = prop(
        "operation",
        doc="Either move if the fields are to be moved to the headers (removed from the key/value), or copy if the "
        "fields are to be copied to the headers (retained in the key/value).",
        importance=Importance.HIGH,
    )
    replace_null: bool = replace_null_with_default()

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if len(self.fields) != len(self.headers):
            raise ConfigError("'fields' config must have the same number of elements as 'headers' config.")
        return self


class _Source(NamedTuple):
    """Field from which a header is made: a field of a struct, or of maps without a schema."""

    header: str
    name: str
    schema: Schema | None
    fill: Any
    """Default that replaces a null."""

    def value(self, value: Any) -> Any:
        """Return the header's value. Unlike a field of a struct, a header may get a default that is a struct."""
        if value is None:
            value = self.fill
            if value is None and self.schema is not None and not self.schema.optional:
                raise null_error(self.name, self.schema)
        return value

    def column(self, values: Values) -> Column:
        """Return the headers' values for this field of many structs or maps."""
        if isinstance(values, Fields):
            column = values.columns.get(self.name, Same(None))
            if isinstance(column, Same):
                return Same(self.value(column.value))
            nulls = type(None) in values.types(self.name)
        else:
            column = [row.get(self.name) for row in values]
            nulls = None in column
        if not nulls or self.schema is None:
            return column
        fill = self.value(None)
        return [fill if v is None else v for v in column]


class _MissingField(_Source):
    """Field that the struct does not have. The error is raised in the order of the fields, as in Kafka Connect.

    `schema` is the struct's.
    """

    def value(self, value: Any) -> Any:
        """Raise TypeError."""
        raise TypeError(f"HeaderFrom: 'fields' names an unknown field{known_fields(self.schema)}")

    def column(self, values: Values) -> Column:
        """Raise TypeError."""
        return Same(self.value(None))


class HeaderFrom(KeyValueTransform):
    """Copy or move fields into headers, after the existing ones."""

    Config = HeaderFromConfig
    java_names = ("org.apache.kafka.connect.transforms.HeaderFrom",)

    def configure(self, config: HeaderFromConfig) -> None:
        self._pairs = tuple(zip(config.headers, config.fields, strict=True))
        self._moved = frozenset(config.fields if config.operation == "move" else ())
        self._purpose = f"header {config.operation}"
        self._replace_null = config.replace_null
        self._schemaless = tuple(_Source(header, name, None, None) for header, name in self._pairs)
        self._sources = SchemaCache(self._sources_of)
        self._remaining = SchemaCache(self._remaining_copy)

    def apply(self, record: Record) -> Record:
        """Return the record with a header for each pair.

        Raises:
            DataError: the key or value is null or not a struct or map, or a required field is null.
            TypeError: the struct has no such field (NullPointerException in Java).
        """
        schema, value = side_of(record, self.side)
        fields = self._require_container(schema, value)
        sources = self._schemaless if schema is None else self._sources[schema]
        added = tuple([Header(s.header, s.value(fields.get(s.name)), s.schema) for s in sources])
        remaining = super().apply(record) if self._moved else record
        return remaining.replace(headers=record.headers + added)

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Change as `apply` does; columns of fields become the column of headers."""
        schema, values = column_of(batch, self.side)
        if (
            values is None
            or isinstance(schema, list)
            or not (isinstance(values, Fields) or set(map(type, values)) == {dict})
        ):
            return RecordBatch.of(map(self.apply, batch.records()), like=batch, positions=batch.positions)
        self._require_container(schema, {})
        sources = self._schemaless if schema is None else self._sources[schema]
        added = [header_column(batch.length, s.header, s.schema, s.column(values)) for s in sources]
        batch = batch.replace(headers=appended_headers(batch, added))
        return super().apply_batch(batch) if self._moved else batch

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the struct or map without the fields that were moved."""
        fields = self._require_container(schema, value)
        if schema is None:
            return None, {n: v for n, v in fields.items() if n not in self._moved}
        copy = self._remaining[schema]
        return copy.schema, copy.row(fields)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change as `change_value` does, for many values."""
        if schema is not None:
            copy = self._remaining[schema]
            rows = copy.rows(values)
            return None if rows is None else (copy.schema, rows, True)
        if isinstance(values, Fields):
            kept = {n: c for n, c in values.columns.items() if n not in self._moved}
            return None, with_columns(values, kept), True
        return None, [{n: v for n, v in row.items() if n not in self._moved} for row in values], True

    def _require_container(self, schema: Schema | None, value: Any) -> dict[Any, Any]:
        if schema is None:
            return require_map(value, self._purpose)
        return require_struct(schema, value, self._purpose)

    def _remaining_copy(self, schema: Schema) -> StructCopy:
        fields = [f for f in schema.fields if f.name not in self._moved]
        return StructCopy(
            copy_schema_basics(schema, fields), (FieldCopy(f, f) for f in fields), replace_null=self._replace_null
        )

    def _sources_of(self, schema: Schema) -> tuple[_Source, ...]:
        fields = [(header, name, schema.field(name)) for header, name in self._pairs]
        return tuple(
            _MissingField(header, name, schema, None)
            if field is None
            else _Source(header, name, field.schema, field.schema.default if self._replace_null else None)
            for header, name, field in fields
        )
