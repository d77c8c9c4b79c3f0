"""The schemas of many records as `RecordBatch` holds them."""

from penstock.schema import Schema

__all__ = ["common_schema"]


def common_schema(schemas: list[Schema | None]) -> Schema | None | list[Schema | None]:
    """One schema if all are the same object, else the list. None for an empty list."""
    first = schemas[0] if schemas else None
    return first if all(s is first for s in schemas) else schemas
