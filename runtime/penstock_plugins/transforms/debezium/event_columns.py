"""Columns of the change events of a batch, and of the rows that are extracted from them."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from penstock import Fields, RecordBatch, Same, Schema
from penstock.fields import Column
from penstock_plugins.transforms.debezium.change_events import RowPlan

__all__ = ["event_columns", "listed", "rows_of", "with_rows"]


class _Columns(dict[str, Column]):
    """Columns of structs, each read on first use."""

    def __init__(self, structs: list[dict[str, Any]]) -> None:
        super().__init__()
        self._structs = structs

    def __missing__(self, name: str) -> Column:
        column = self[name] = list(map(itemgetter(name), self._structs))
        return column


def event_columns(batch: RecordBatch) -> Mapping[str, Column]:
    """Return the fields of the change events of a batch, which has no other records."""
    return _Columns(batch.column("value")) if batch.fields is None else batch.fields.columns


def with_rows(batch: RecordBatch, plan: RowPlan, fields: Fields) -> RecordBatch:
    """Return the batch with these rows and the added fields as its values."""
    if plan.added:
        events = event_columns(batch)
        columns = dict(fields.columns)
        for added in plan.added:
            columns[added.name] = added.column(events, len(batch))
        fields = fields.having(columns)
    return batch.replace(value=fields, value_schema=plan.schema, owned=True)


def rows_of(column: Column, schema: Schema, length: int) -> list[Any]:
    """Return the rows in a field of the envelope; the default of its schema replaces a null."""
    rows = listed(column, length)
    return rows if schema.default is None else [schema.default if row is None else row for row in rows]


def listed(column: Column, length: int) -> list[Any]:
    """Return the values of a column as a list."""
    return [column.value] * length if isinstance(column, Same) else column
