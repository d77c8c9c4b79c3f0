"""Remove the fields that a header of the record lists."""

from typing import Any

from penstock import DataError, Record, Schema, Type
from penstock_plugins.transforms.replace_field import ReplaceField

__all__ = ["ListedFields"]

_MOST_LISTS = 256


class ListedFields:
    """Remover of listed fields.

    Args:
        from_key: whether to remove them from the key, too.
        only_optional: whether to remove only optional fields.
    """

    def __init__(self, *, from_key: bool, only_optional: bool) -> None:
        self._from_key = from_key
        self._only_optional = only_optional
        self._removals: dict[str, ReplaceField] = {}

    def removed(self, record: Record, names: Any) -> Record:
        """Return the record without these fields.

        Raises:
            TypeError: the value of the header is not a list, or a key or value has no schema.
            DataError: the key or value is not a struct.
        """
        if not isinstance(names, list):
            raise TypeError(f"cannot remove the listed fields: the header is a {type(names).__name__}, not a list")
        if not names:
            return record
        if self._from_key and record.key is not None:
            schema, key = self._without(record.key_schema, record.key, names)
            record = record.replace(key=key, key_schema=schema)
        schema, value = self._without(record.value_schema, record.value, names)
        return record.replace(value=value, value_schema=schema)

    def _without(self, schema: Schema | None, value: Any, names: list[Any]) -> tuple[Schema | None, Any]:
        if self._only_optional:
            if schema is None:
                raise TypeError("cannot remove only optional fields: the key or value has no schema")
            if schema.type is not Type.STRUCT:
                raise DataError("Cannot list fields on non-struct type")
            names = [f.name for f in schema.fields if f.schema.optional and f.name in names]
        return self._removal(names).change_value(schema, value) if names else (schema, value)

    def _removal(self, names: list[Any]) -> ReplaceField:
        text = ",".join(dict.fromkeys(map(str, names)))
        found = self._removals.get(text)
        if found is None:
            found = ReplaceField()
            found.configure(ReplaceField.Config.parse({"exclude": text}))
            if len(self._removals) >= _MOST_LISTS:
                self._removals.clear()
            self._removals[text] = found
        return found
