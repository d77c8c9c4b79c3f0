"""Writer of values of one schema."""

from collections.abc import Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import EncodeError
from google.protobuf.message_factory import GetMessageClass

from penstock import DataError, Fields, Same, Schema, Type
from penstock_registry.protobuf.encoder import Encode, FieldEncoder, field_encoders, struct_encoder, wrapped_encoder
from penstock_registry.protobuf.messages import indexes_of, write_indexes
from penstock_registry.protobuf.settings import ProtobufSettings
from penstock_registry.protobuf.to_schema import unwrapped

__all__ = ["ProtobufWriter"]

_NULL = type(None)


class ProtobufWriter:
    """Writer of values of one schema: the indexes of a message in its file, and its bytes.

    Args:
        schema: the schema in Connect.
        message: the message.
        settings: settings of the mapping.

    Raises:
        DataError: the message cannot hold such values.
    """

    def __init__(self, schema: Schema, message: Descriptor, settings: ProtobufSettings) -> None:
        self._new = GetMessageClass(message)
        self._prefix = write_indexes(indexes_of(message))
        self._fields: list[FieldEncoder] = []
        try:
            if schema.type is Type.STRUCT:
                self._fields = field_encoders(schema, message, settings)
                self._encode: Encode = struct_encoder(self._fields)
            elif unwrapped(message) is None:
                raise DataError(
                    f"the registered schema has the message {message.full_name} where the record has {schema.type}"
                )
            else:
                self._encode = wrapped_encoder(schema, message)
        except DataError as e:
            raise _failed(e) from None

    def write(self, value: Any) -> bytes | None:
        """Return the data of a value; None for null."""
        if value is None:
            return None
        try:
            content = self._encode(value)
        except DataError as e:
            raise _failed(e) from None
        return self._written([content])[0]

    def write_all(self, values: Sequence[Any]) -> list[bytes | None]:
        """Return the data of many values.

        If any value cannot be written, the whole call fails. To find it, call `write` for each value.
        """
        if self._fields and all(each.target is not None for each in self._fields):
            fields = values if isinstance(values, Fields) else Fields.of(values)
            if fields is not None:
                columns = {str(each.target): _column(each, fields) for each in self._fields}
                return list(self._written(Fields(columns, len(fields)).rows()))
        return [self.write(value) for value in values]

    def _written(self, contents: Sequence[dict[str, Any]]) -> list[bytes]:
        new, prefix = self._new, self._prefix
        try:
            return [prefix + new(**content).SerializeToString() for content in contents]
        except (TypeError, ValueError, EncodeError) as e:
            raise DataError(f"cannot write a value as Protobuf: {type(e).__name__}") from None


def _column(of: FieldEncoder, fields: Fields) -> list[Any] | Same:
    """Return the values of a field in the form that the constructor takes."""
    column = fields.columns.get(of.name, Same(None))
    types = fields.types(of.name) if of.name in fields.columns else frozenset((_NULL,))
    if of.plain and types <= of.plain and _is_within(of, column, types):
        return column
    if isinstance(column, Same):
        return Same(of.encode(column.value))
    return list(map(of.encode, column))


def _is_within(of: FieldEncoder, column: list[Any] | Same, types: frozenset[type]) -> bool:
    if of.bounds is None or types == {_NULL}:
        return True
    low, high = of.bounds
    if isinstance(column, Same):
        return bool(low <= column.value <= high)
    numbers = [value for value in column if value is not None] if _NULL in types else column
    return not numbers or bool(low <= min(numbers) and max(numbers) <= high)


def _failed(error: DataError) -> DataError:
    return DataError(f"cannot write a value as Protobuf: {error}")
