"""Base class of transforms of a key or value (`$Key`, `$Value`) that depend on no other part of the record."""

from abc import abstractmethod
from typing import Any

from penstock import Record, RecordBatch, Schema, Transform
from penstock_plugins.connect.values import common_schema
from penstock_plugins.structs.key_value import Values, column_of, with_column

__all__ = ["KeyValueTransform", "TransformedColumn"]

TransformedColumn = tuple[Schema | None, Values, bool]
"""Schema, its values, and whether their containers are new, so that the batch owns them and may change them."""


class KeyValueTransform(Transform):
    """Transform of the key or the value; a batch falls back to single values if columns are not possible."""

    variants = ("Key", "Value")

    @abstractmethod
    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the new schema and value. Do not change the old value.

        Raises:
            Exception: as for `apply`.
        """

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change many values of one schema, as `change_value` but faster. Return None if each must be changed separately.

        Raises:
            Exception: `change_value` fails for one of the values, or may fail.
        """

    def apply(self, record: Record) -> Record:
        """Return the record with its key or value changed.

        Raises:
            DataError: the key or value has a type that the transform does not support.
        """
        if self.side == "key":
            schema, value = self.change_value(record.key_schema, record.key)
            return record.replace(key=value, key_schema=schema)
        schema, value = self.change_value(record.value_schema, record.value)
        return record.replace(value=value, value_schema=schema)

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Change as `apply` does, by columns if possible."""
        schema, values = column_of(batch, self.side)
        if isinstance(schema, list):
            return self._one_by_one(batch)
        if values is None:
            new_schema, value = self.change_value(schema, None)
            return self._with(batch, new_schema, None if value is None else [value] * batch.length)
        transformed = self.change_values(schema, values)
        if transformed is None:
            return self._one_by_one(batch)
        new_schema, new_values, new_containers = transformed
        return self._with(batch, new_schema, new_values, owned=new_containers or (batch.owned and new_values is values))

    def _one_by_one(self, batch: RecordBatch) -> RecordBatch:
        pairs = [
            self.change_value(schema, value)
            for schema, value in zip(batch.column(f"{self.side}_schema"), batch.column(self.side), strict=True)
        ]
        return self._with(batch, common_schema([schema for schema, _ in pairs]), [value for _, value in pairs])

    def _with(
        self,
        batch: RecordBatch,
        schema: Schema | None | list[Schema | None],
        values: Values | None,
        *,
        owned: bool = False,
    ) -> RecordBatch:
        if isinstance(values, list) and values and values[0] is None and all(v is None for v in values):
            values = None
        return with_column(batch, self.side, schema, values, owned=owned)
