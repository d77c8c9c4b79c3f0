"""Reader of messages with one schema."""

from collections.abc import Sequence
from io import BytesIO
from operator import itemgetter
from typing import Any, Final

from fastavro import schemaless_reader

from penstock import DataError, Fields, Schema
from penstock_registry.avro.column_reader import ReadColumns, column_reader
from penstock_registry.avro.decoder import Decode, decode_anything, decoder
from penstock_registry.avro.physical import physical_schema
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.avro.to_schema import connect_schema, is_anything
from penstock_registry.avro.types import AvroType

__all__ = ["AvroReader"]

_PYTHON_TYPES: Final = {
    "boolean": bool,
    "bytes": bytes,
    "double": float,
    "fixed": bytes,
    "float": float,
    "int": int,
    "long": int,
    "string": str,
}


class AvroReader:
    """Reader of data with one schema, without the prefix of a message.

    Args:
        of: the schema in Avro.
        settings: settings of the mapping.
        version: its version in the registry.

    Attributes:
        schema: the schema in Connect; None if the values have none.

    Raises:
        DataError: Connect cannot represent the schema.
    """

    def __init__(self, of: AvroType, settings: AvroSettings, version: int | None) -> None:
        self._physical = physical_schema(of)
        self.schema: Schema | None = None
        if is_anything(of):
            self._decode: Decode | None = decode_anything
            self._names: list[str] = []
            self._read_columns: ReadColumns | None = None
        else:
            self.schema = connect_schema(of, settings, version)
            self._decode = decoder(of, self.schema)
            self._names = [f.name for f in of.fields] if of.kind == "record" else []
            self._read_columns = column_reader(of)
            if self._read_columns is not None:
                decoders = (decoder(f.type, own.schema) for f, own in zip(of.fields, self.schema.fields, strict=True))
                self._decoders = [
                    (n, decode) for n, decode in zip(self._names, decoders, strict=True) if decode is not None
                ]
                decoded = {name for name, _ in self._decoders}
                self._types = {
                    f.name: frozenset((_PYTHON_TYPES[f.type.kind],))
                    for f in of.fields
                    if f.type.kind in _PYTHON_TYPES and f.name not in decoded
                }

    def read(self, data: bytes) -> tuple[Schema | None, Any]:
        """Return the schema and the value of a message."""
        try:
            value: Any = schemaless_reader(BytesIO(data), self._physical, None)
        except Exception as e:
            raise DataError(
                f"cannot read a message as Avro: its bytes do not fit its schema ({type(e).__name__}); the message is "
                "damaged, or its schema id belongs to another registry"
            ) from e
        if value is None:
            return None, None
        return self.schema, value if self._decode is None else self._decode(value)

    def read_all(
        self, data: Sequence[bytes], start: int = 0
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Return the schema, or one schema for each message, and the values of many messages.

        If any message cannot be read, the whole call fails. To find it, call `read` for each message.
        """
        physical = self._physical
        try:
            if self._read_columns is not None and data:
                return self.schema, self._fields(self._read_columns(data, start), len(data))
            values: list[Any] = [schemaless_reader(BytesIO(each[start:]), physical, None) for each in data]
        except Exception as e:
            raise DataError("cannot read messages as Avro") from e
        decode = self._decode
        if decode is not None:
            values = [None if value is None else decode(value) for value in values]
        if None in values:
            return [None if value is None else self.schema for value in values], values
        if not self._names or not values:
            return self.schema, values
        columns = {name: list(map(itemgetter(name), values)) for name in self._names}
        return self.schema, Fields(columns, len(values), rows=values)

    def _fields(self, columns: Sequence[list[Any]], length: int) -> Fields:
        named = dict(zip(self._names, columns, strict=True))
        for name, decode in self._decoders:
            named[name] = [None if value is None else decode(value) for value in named[name]]
        return Fields(named, length, types=self._types)
