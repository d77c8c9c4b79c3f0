"""HeaderFrom: copy or move fields of a key or value into headers."""

from dataclasses import dataclass
from itertools import repeat
from typing import Annotated, Any, Self

from pydantic import model_validator

from penstock import (
    Config,
    ConfigError,
    Field,
    Fields,
    Header,
    Importance,
    Record,
    RecordBatch,
    Same,
    Schema,
    Transform,
    prop,
)
from penstock.config_rules import words
from penstock.fields import Column
from penstock_plugins.connect_values import null_of
from penstock_plugins.field_columns import (
    OncePerSchema,
    copied,
    copied_columns,
    fields_of,
    guarded,
    replaced,
    replaced_batch,
    required_map,
    required_struct,
    side_of,
)
from penstock_plugins.name_lists import not_empty

__all__ = ["HeaderFrom"]


class HeaderFromConfig(Config):
    """The properties of HeaderFrom."""

    fields: Annotated[list[str], not_empty] = prop(
        "fields",
        doc="Field names in the record whose values are to be copied or moved to headers.",
        importance=Importance.HIGH,
    )
    headers: Annotated[list[str], not_empty] = prop(
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
    replace_null: bool = prop(
        "replace.null.with.default",
        True,
        doc="Whether to replace fields that have a default value and that are null to the default value. "
        "When set to true, the default value is used, otherwise null is used.",
        importance=Importance.MEDIUM,
    )

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if len(self.fields) != len(self.headers):
            raise ConfigError("'fields' config must have the same number of elements as 'headers' config.")
        return self


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is known once per old schema: what moving leaves, and the fields of the headers."""

    schema: Schema
    guards: tuple[Field, ...]
    taken: tuple[tuple[str, Field | None], ...]


class HeaderFrom(Transform):
    """Copy or move fields into headers, after those that are there."""

    Config = HeaderFromConfig
    java_names = ("org.apache.kafka.connect.transforms.HeaderFrom",)
    variants = ("Key", "Value")

    def configure(self, config: HeaderFromConfig) -> None:
        """Take the parsed `Config`."""
        self._pairs = tuple(zip(config.headers, config.fields, strict=True))
        self._moved = frozenset(config.fields if config.operation == "move" else ())
        self._purpose = f"header {config.operation}"
        self._replace_null = config.replace_null
        self._shape = OncePerSchema(self._new_shape)

    def apply(self, record: Record) -> Record:
        """The record with a header for each pair.

        Raises:
            DataError: the side is null or no struct or map, or null stands in a required field.
            TypeError: the struct has no such field (NullPointerException).
        """
        schema, value = side_of(record, self.side)
        if schema is None:
            plain = required_map(value, self._purpose)
            added = tuple(Header(name, plain.get(field)) for name, field in self._pairs)
            new_schema, new = None, {n: v for n, v in plain.items() if n not in self._moved} if self._moved else plain
        else:
            struct = required_struct(schema, value, self._purpose)
            shape = self._shape(schema)
            new_schema, new = schema, struct
            if self._moved:
                left = {n: v for n, v in struct.items() if n not in self._moved}
                new_schema, new = shape.schema, copied(left, shape.guards, replace_null=self._replace_null)
            there = ((n, _required(f, schema)) for n, f in shape.taken)
            added = tuple(Header(n, self._filled(f, struct.get(f.name)), f.schema) for n, f in there)
        record = record.replace(headers=record.headers + added)
        return replaced(record, self.side, new_schema, new) if self._moved else record

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """As `apply`: the columns of the fields become the column of headers."""
        found = fields_of(batch, self.side)
        if found is None:
            in_maps = self._from_maps(batch)
            if in_maps is not None:
                return in_maps
            return RecordBatch.of(map(self.apply, batch.records()), like=batch, positions=batch.positions)
        schema, fields = found
        columns, new_schema = fields.columns, None
        taken: list[tuple[str, Schema | None, Column]]
        if schema is None:
            taken = [(name, None, columns.get(field, Same(None))) for name, field in self._pairs]
        else:
            shape = self._shape(schema)
            new_schema = shape.schema
            there = ((n, _required(f, schema)) for n, f in shape.taken)
            taken = [(n, f.schema, self._filled_column(f, fields)) for n, f in there]
        batch = batch.replace(headers=_joined(batch, [_headers(batch.length, *part) for part in taken]))
        if not self._moved:
            return batch
        left = fields.having({n: c for n, c in columns.items() if n not in self._moved})
        if schema is not None:
            left = left.having(copied_columns(left, shape.guards, replace_null=self._replace_null))
        if not left.columns:  # rows without fields cannot be told by columns
            rows: list[Any] = [{} for _ in range(batch.length)]
            changes = {self.side: rows, f"{self.side}_schema": new_schema}
            return batch.replace(**changes, owned=batch.owned if self.side == "key" else True)
        return replaced_batch(batch, self.side, new_schema, left)

    def _from_maps(self, batch: RecordBatch) -> RecordBatch | None:
        """As `apply_batch` for maps without a schema, of any fields; None where the side is not those."""
        schema, column = (batch.key_schema, batch.key) if self.side == "key" else (batch.value_schema, batch.value)
        if schema is not None or column is None or set(map(type, column)) != {dict}:
            return None
        added = [_headers(batch.length, name, None, [row.get(field) for row in column]) for name, field in self._pairs]
        batch = batch.replace(headers=_joined(batch, added))
        if not self._moved:
            return batch
        rows = [{n: v for n, v in row.items() if n not in self._moved} for row in column]
        return batch.replace(key=rows) if self.side == "key" else batch.replace(value=rows, owned=True)

    def _filled(self, field: Field, value: Any) -> Any:
        """What the header gets; unlike a struct, headers take no null that their schema does not."""
        if value is not None:
            return value
        default = field.schema.default if self._replace_null else None
        if default is None and not field.schema.optional:
            raise null_of(field.name, field.schema)
        return default

    def _filled_column(self, field: Field, fields: Fields) -> Column:
        column = fields.columns.get(field.name, Same(None))
        if isinstance(column, Same):
            return Same(self._filled(field, column.value))
        if type(None) not in fields.types(field.name):
            return column
        default = self._filled(field, None)
        return [default if v is None else v for v in column]

    def _new_shape(self, schema: Schema) -> _Shape:
        by_name = {f.name: f for f in schema.fields}
        left = tuple(f for f in schema.fields if f.name not in self._moved)
        new = Schema(
            schema.type,
            name=schema.name,
            version=schema.version,
            doc=schema.doc,
            parameters=schema.parameters,
            fields=left,
        )
        taken = tuple((name, by_name.get(field)) for name, field in self._pairs)
        return _Shape(new, guarded(left, replace_null=self._replace_null), taken)


def _required(field: Field | None, schema: Schema) -> Field:
    if field is None:
        raise TypeError(
            "HeaderFrom: 'fields' names one that the struct does not have. It has: "
            f"{', '.join(f.name for f in schema.fields)}"
        )
    return field


def _headers(length: int, name: str, schema: Schema | None, column: Column) -> list[Header]:
    if isinstance(column, Same):
        return [Header(name, column.value, schema)] * length
    # As `Header(...)` does, without its Python code for each.
    return list(map(tuple.__new__, repeat(Header), zip(repeat(name), column, repeat(schema), strict=False)))


def _joined(batch: RecordBatch, added: list[list[Header]]) -> list[tuple[Header, ...]]:
    rows = zip(*added, strict=True)
    if not batch.headers:
        return list(rows)
    return [old + new for old, new in zip(batch.headers, rows, strict=True)]
