"""Writer of values of one schema."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from penstock import DataError, Fields, Same, Schema, Type
from penstock_registry.json_schema import names
from penstock_registry.json_schema.encoder import Encode, encoder, field_encoders
from penstock_registry.json_schema.misfit import Misfit
from penstock_registry.json_schema.settings import JsonSettings
from penstock_registry.json_schema.validation import RecordValidator

__all__ = ["JsonWriter"]

_CANNOT = "cannot write a value as JSON"


class JsonWriter:
    """Writer of values of one schema, without the prefix of a message.

    Args:
        schema: the schema in Connect.
        settings: settings of the mapping.
        validator: validator for the JSON Schema; None if records are not validated.
    """

    def __init__(self, schema: Schema, settings: JsonSettings, validator: RecordValidator | None) -> None:
        self._encode = encoder(schema, settings)
        self._validator = validator
        self._fields: list[tuple[str, str, Encode]] = []
        if schema.type is Type.STRUCT and not names.is_union(schema):
            self._fields = field_encoders(schema, settings)

    def write(self, value: Any) -> bytes | None:
        """Return the data of a value."""
        try:
            text = self._encode(value)
        except Misfit as e:
            raise e.as_error(_CANNOT) from None
        (data,) = self._encoded((text,))
        return data

    def write_all(self, values: Sequence[Any]) -> Sequence[bytes | None]:
        """Return the data of many values.

        If any value cannot be written, the whole call fails. To find it, call `write` for each value.
        """
        fields = Fields.of(values) if self._fields else None
        if fields is None:
            return [self.write(value) for value in values]
        columns = [_column(name, start, encode, fields) for name, start, encode in self._fields]
        return self._encoded(f"{{{','.join(parts)}}}" for parts in zip(*columns, strict=True))

    def _encoded(self, texts: Iterable[str]) -> list[bytes]:
        try:
            data = [text.encode() for text in texts]
        except UnicodeEncodeError:
            raise DataError(f"{_CANNOT}: a string has a lone surrogate, which UTF-8 cannot encode") from None
        if self._validator is not None:
            for each in data:
                self._validator.check(json.loads(each))
        return data


def _column(name: str, start: str, encode: Encode, fields: Fields) -> list[str]:
    """Return the JSON text of a field in each row."""
    column = fields.columns.get(name, Same(None))
    try:
        if isinstance(column, Same):
            return [start + encode(column.value)] * len(fields)
        return [start + encode(value) for value in column]
    except Misfit as e:
        raise e.within(f".{name}").as_error(_CANNOT) from None
