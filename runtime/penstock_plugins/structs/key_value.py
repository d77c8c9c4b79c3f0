"""A record's key or value, and a batch's: whichever of the two a transform is for."""

from typing import Any

from penstock import Fields, Record, RecordBatch, Schema

__all__ = ["Values", "column_of", "side_of", "with_column", "with_side"]

Values = list[Any] | Fields


def side_of(record: Record, side: str) -> tuple[Schema | None, Any]:
    """The schema and value of that side."""
    return (record.key_schema, record.key) if side == "key" else (record.value_schema, record.value)


def with_side(record: Record, side: str, schema: Schema | None, value: Any) -> Record:
    """The record with that side changed."""
    if side == "key":
        return record.replace(key=value, key_schema=schema)
    return record.replace(value=value, value_schema=schema)


def column_of(batch: RecordBatch, side: str) -> tuple[Schema | None | list[Schema | None], Values | None]:
    """The schema, or schemas, and the values of that side, as the batch holds them; None where no record has a value."""
    if side == "key":
        return batch.key_schema, batch.key
    return batch.value_schema, batch.value if batch.fields is None else batch.fields


def with_column(
    batch: RecordBatch, side: str, schema: Schema | None | list[Schema | None], values: Values | None, *, owned: bool
) -> RecordBatch:
    """The batch with that side changed; `owned` tells whether the containers among the values are its own."""
    if side == "key":
        return batch.replace(key=values.rows() if isinstance(values, Fields) else values, key_schema=schema)
    return batch.replace(value=values, value_schema=schema, owned=owned)
