"""Transforms that make one side of a record, its key or its value, of what it was and of nothing else."""

from abc import abstractmethod
from typing import Any

from penstock import Record, RecordBatch, Schema, Transform
from penstock_plugins.structs.key_value import Values, column_of, with_column

__all__ = ["KeyValueTransform", "TransformedColumn"]

TransformedColumn = tuple[Schema | None, Values, bool]
"""A schema, values of it, and whether the containers among them are new, so that the batch owns them."""


class KeyValueTransform(Transform):
    """The common part: which side it is, and how a batch falls back to single values."""

    variants = ("Key", "Value")

    @abstractmethod
    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """The side's next schema and value. Leaves the value as it is.

        Raises:
            Exception: as `apply`.
        """

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """The same for many values of one schema, for speed; None where `change_value` has to tell for each.

        Raises:
            Exception: `change_value` fails for one of them, or may do so.
        """

    def apply(self, record: Record) -> Record:
        """The record with its side changed.

        Raises:
            DataError: the side is of another kind.
        """
        if self.side == "key":
            schema, value = self.change_value(record.key_schema, record.key)
            return record.replace(key=value, key_schema=schema)
        schema, value = self.change_value(record.value_schema, record.value)
        return record.replace(value=value, value_schema=schema)

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """As `apply`, by columns where that is sure."""
        schema, values = column_of(batch, self.side)
        if isinstance(schema, list):
            return self._one_by_one(batch)
        if values is None:
            new_schema, value = self.change_value(schema, None)
            return self._with(batch, new_schema, None if value is None else [value] * batch.length)
        made = self.change_values(schema, values)
        if made is None:
            return self._one_by_one(batch)
        new_schema, new_values, new = made
        return self._with(batch, new_schema, new_values, owned=new or (batch.owned and new_values is values))

    def _one_by_one(self, batch: RecordBatch) -> RecordBatch:
        pairs = [
            self.change_value(schema, value)
            for schema, value in zip(batch.column(f"{self.side}_schema"), batch.column(self.side), strict=True)
        ]
        schemas = [schema for schema, _ in pairs]
        first = schemas[0] if schemas else None
        return self._with(batch, first if all(s is first for s in schemas) else schemas, [value for _, value in pairs])

    def _with(
        self, batch: RecordBatch, schema: Schema | None | list[Schema | None], values: Values | None,
        *, owned: bool = False,
    ) -> RecordBatch:  # fmt: skip
        if isinstance(values, list) and values and values[0] is None and all(v is None for v in values):
            values = None
        return with_column(batch, self.side, schema, values, owned=owned)
