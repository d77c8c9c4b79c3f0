"""Access to the side of a record or batch, key or value, that a transform changes."""

from typing import Any

from penstock import Fields, Record, RecordBatch, Schema

__all__ = ["Values", "column_of", "side_of", "with_column", "with_side"]

Values = list[Any] | Fields


def side_of(record: Record, side: str) -> tuple[Schema | None, Any]:
    """Return the schema and value of the side."""
    return (record.key_schema, record.key) if side == "key" else (record.value_schema, record.value)


def with_side(record: Record, side: str, schema: Schema | None, value: Any) -> Record:
    """Return the record with this key or value (`side`), and this schema of it."""
    if side == "key":
        return record.replace(key=value, key_schema=schema)
    return record.replace(value=value, value_schema=schema)


def column_of(batch: RecordBatch, side: str) -> tuple[Schema | None | list[Schema | None], Values | None]:
    """Return the schema (one for all, or a list) and the values of the side; values None means that all are null."""
    if side == "key":
        return batch.key_schema, batch.key
    return batch.value_schema, batch.value if batch.fields is None else batch.fields


def with_column(
    batch: RecordBatch, side: str, schema: Schema | None | list[Schema | None], values: Values | None, *, owned: bool
) -> RecordBatch:
    """Return the batch with these keys or values (`side`), and these schemas of them.

    `owned`: transforms may change the containers of the new values in place. It has no effect on keys.
    """
    if side == "key":
        return batch.replace(key=values.rows() if isinstance(values, Fields) else values, key_schema=schema)
    return batch.replace(value=values, value_schema=schema, owned=owned)
