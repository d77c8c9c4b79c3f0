"""Schemas of many records in the form of `RecordBatch`."""

from penstock.schema import Schema

__all__ = ["common_schema"]


def common_schema(schemas: list[Schema | None]) -> Schema | None | list[Schema | None]:
    """Return one schema if all are the same object, else the list. Return None for an empty list."""
    first = schemas[0] if schemas else None
    return first if all(s is first for s in schemas) else schemas
