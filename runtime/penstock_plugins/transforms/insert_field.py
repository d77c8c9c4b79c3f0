"""InsertField: add the record's topic, partition, offset or timestamp, or a fixed string, as fields."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Self

from pydantic import model_validator

from penstock import (
    Config,
    ConfigError,
    DataError,
    Field,
    Fields,
    Importance,
    Instant,
    Int32,
    Problem,
    Record,
    RecordBatch,
    Same,
    Schema,
    Transform,
    Type,
    prop,
)
from penstock.schema import INT32, INT64, STRING, TIMESTAMP
from penstock_plugins.connect.values import null_error
from penstock_plugins.structs.copy import (
    FieldCopy,
    StructCopy,
    copy_schema_basics,
    replace_null_with_default,
    require_map,
    require_struct,
)
from penstock_plugins.structs.key_value import column_of, side_of, with_column, with_side
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["InsertField"]

_SUFFIX = "Suffix with ! to make this a required field, or ? to keep it optional (the default)."


def _field(name: str, doc: str) -> Any:
    return prop(name, None, doc=f"{doc} {_SUFFIX}", importance=Importance.MEDIUM)


class InsertFieldConfig(Config):
    topic_field: str | None = _field("topic.field", "Field name for Kafka topic.")
    partition_field: str | None = _field("partition.field", "Field name for Kafka partition.")
    offset_field: str | None = _field(
        "offset.field", "Field name for Kafka offset - only applicable to sink connectors."
    )
    timestamp_field: str | None = _field("timestamp.field", "Field name for record timestamp.")
    static_field: str | None = _field("static.field", "Field name for static data field.")
    static_value: str | None = prop(
        "static.value", None, doc="Static field value, if field name configured.", importance=Importance.MEDIUM
    )
    replace_null: bool = replace_null_with_default()

    @model_validator(mode="after")
    def _something_to_insert(self) -> Self:
        names = (self.topic_field, self.partition_field, self.offset_field, self.timestamp_field, self.static_field)
        if all(n is None for n in names):
            raise ConfigError("No field insertion configured")
        if self.static_field is not None and self.static_value is None:
            raise ConfigError(
                Problem(
                    "static.value",
                    f"Invalid value null for configuration static.value: No value specified for static field: "
                    f"{self.static_field}",
                )
            )
        return self


_PURPOSE: Final = "field insertion"


class _Insertion(NamedTuple):
    source: str  # an attribute of the record, or "static"
    name: str
    optional: bool
    schema: Schema


class InsertField(Transform):
    """Insert fields using attributes from the record metadata or a configured static value."""

    Config = InsertFieldConfig
    java_names = ("org.apache.kafka.connect.transforms.InsertField",)
    variants = ("Key", "Value")

    def configure(self, config: InsertFieldConfig) -> None:
        kinds = (
            ("topic", config.topic_field, STRING),
            ("partition", config.partition_field, INT32),
            ("offset", config.offset_field, INT64),
            ("timestamp", config.timestamp_field, TIMESTAMP),
            ("static", config.static_field, STRING),
        )
        self._insertions = [_insertion(source, text, schema) for source, text, schema in kinds if text is not None]
        self._static = config.static_value
        self._replace_null = config.replace_null
        self._copies = SchemaCache(self._copy)

    def apply(self, record: Record) -> Record:
        """Return the record with the fields added to its key or value. A null key or value passes through.

        Raises:
            DataError: the key or value is not a struct or map, a required field is null, or the record has no offset.
            SchemaBuilderError: the struct has a field with the same name.
        """
        schema, value = side_of(record, self.side)
        if value is None:
            return record
        new_schema = None
        if schema is None:
            new = dict(require_map(value, _PURPOSE))
        else:
            old = require_struct(schema, value, _PURPOSE)
            copy = self._copies[schema]
            new_schema = copy.schema
            new = dict(copy.row_with_defaults(old))
        for insertion in self._insertions:
            item = self._item(insertion, record)
            if item is not None or insertion.source == "topic":
                if item is None and schema is not None and not insertion.optional:
                    raise null_error(insertion.name, insertion.schema)
                new[insertion.name] = _typed(insertion, item, schema)
            elif schema is not None:
                new[insertion.name] = None
        return with_side(record, self.side, new_schema, new)

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Change as `apply` does, in one pass over the dicts for each field. Dicts of the batch are changed in place."""
        schema, column = column_of(batch, self.side)
        if column is None:
            return batch
        if isinstance(column, Fields):
            return self._on_columns(batch, column)
        if isinstance(schema, list) or set(map(type, column)) != {dict}:
            return self._one_by_one(batch)
        new_schema = None
        if schema is not None:
            if schema.type is not Type.STRUCT:
                return self._one_by_one(batch)
            copy = self._copies[schema]
            new_schema = copy.schema
            if not copy.keeps_values(column):
                copied = copy.rows(column) if self.side == "value" else None
                return self._on_columns(batch, copied) if isinstance(copied, Fields) else self._one_by_one(batch)
        additions = [(i, self._column(i, batch)) for i in self._insertions]
        for insertion, items in additions:
            if insertion.source == "topic" and schema is not None and not insertion.optional:
                if items is None or (isinstance(items, list) and None in items):
                    raise null_error(insertion.name, insertion.schema)
            elif schema is None and insertion.source != "topic" and isinstance(items, list) and None in items:
                return self._one_by_one(batch)  # some maps get the field, others do not
        rows = column if batch.owned and self.side == "value" else list(map(dict.copy, column))
        for insertion, items in additions:
            if items is None and schema is None and insertion.source != "topic":
                continue
            _insert(rows, insertion, items, schema)
        return with_column(batch, self.side, new_schema, rows, owned=True)

    def _on_columns(self, batch: RecordBatch, fields: Fields) -> RecordBatch:
        """Change as `apply_batch` does, for values that are held as columns: add a column for each field."""
        schema, new_schema = batch.value_schema, None
        if schema is not None:
            if isinstance(schema, list) or schema.type is not Type.STRUCT:
                return self._one_by_one(batch)
            copy = self._copies[schema]
            new_schema = copy.schema
            if not copy.keeps_values(fields):
                copied = copy.rows(fields)
                if not isinstance(copied, Fields):
                    return self._one_by_one(batch)
                fields = copied
        columns = dict(fields.columns)
        for insertion in self._insertions:
            items = self._column(insertion, batch)
            if isinstance(items, list):
                if None in items and (schema is None or not insertion.optional):
                    return self._one_by_one(batch)
                columns[insertion.name] = [_typed(insertion, item, schema) for item in items]
            elif items is not None or (schema is not None and insertion.optional):
                columns[insertion.name] = Same(_typed(insertion, items, schema))
            elif schema is not None or insertion.source == "topic":
                return self._one_by_one(batch)
        return batch.replace(value=fields.having(columns), value_schema=new_schema)

    def _one_by_one(self, batch: RecordBatch) -> RecordBatch:
        return RecordBatch.of(map(self.apply, batch.records()), like=batch, positions=batch.positions)

    def _copy(self, schema: Schema) -> StructCopy:
        """Return the copier of the old fields. The new schema contains the inserted fields, too."""
        added = [Field(i.name, i.schema.as_optional() if i.optional else i.schema) for i in self._insertions]
        new = copy_schema_basics(schema, (*schema.fields, *added))
        return StructCopy(new, (FieldCopy(f, f) for f in schema.fields), replace_null=self._replace_null)

    def _item(self, insertion: _Insertion, record: Record) -> Any:
        if insertion.source == "static":
            return self._static
        item = getattr(record, insertion.source)
        if insertion.source == "offset" and item is None:
            raise _no_offset()
        return item

    def _column(self, insertion: _Insertion, batch: RecordBatch) -> Any:
        """Return one value for all rows, or a list with one for each row."""
        if insertion.source == "static":
            return self._static
        column = getattr(batch, insertion.source)
        if insertion.source == "offset":
            if column is None:
                raise _no_offset()
            return list(column)
        return column


def _insertion(source: str, text: str, schema: Schema) -> _Insertion:
    if text.endswith(("!", "?")):
        return _Insertion(source, text[:-1], text.endswith("?"), schema)
    return _Insertion(source, text, True, schema)


def _no_offset() -> DataError:
    return DataError(
        "Only SinkRecord supported for [field insertion], found: org.apache.kafka.connect.source.SourceRecord"
    )


def _typed(insertion: _Insertion, item: Any, schema: Schema | None) -> Any:
    """Return the value in Connect's class: the partition is an int32, the timestamp a Timestamp only with a schema."""
    if item is None:
        return None
    if insertion.source == "partition":
        return item if schema is not None else Int32(item)
    return Instant(item) if insertion.source == "timestamp" and schema is not None else item


def _insert(rows: Sequence[dict[Any, Any]], insertion: _Insertion, items: Any, schema: Schema | None) -> None:
    name = insertion.name
    if isinstance(items, list):
        for row, item in zip(rows, items, strict=True):
            row[name] = _typed(insertion, item, schema)
        return
    item = _typed(insertion, items, schema)
    for row in rows:
        row[name] = item
