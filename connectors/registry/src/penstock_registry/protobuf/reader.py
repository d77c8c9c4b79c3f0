"""Reader of messages with one schema."""

from collections.abc import Sequence
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from penstock import DataError, Fields, Schema, Type
from penstock_registry.protobuf.decoder import columns, message_decoder
from penstock_registry.protobuf.messages import message_at, read_indexes
from penstock_registry.protobuf.settings import ProtobufSettings
from penstock_registry.protobuf.to_schema import connect_schema

__all__ = ["ProtobufReader"]


class _MessageReader:
    """Reader of the bytes of one message of a file."""

    def __init__(
        self, file: FileDescriptor, indexes: Sequence[int], settings: ProtobufSettings, version: int | None
    ) -> None:
        message = message_at(file, indexes)
        self.schema: Schema = connect_schema(message, settings, version)
        self._parse = GetMessageClass(message).FromString
        self._decode = message_decoder(message, self.schema, settings)
        self._columns = columns(message, self.schema, settings) if self.schema.type is Type.STRUCT else {}

    def read(self, data: bytes) -> Any:
        return self._decode(self._parsed(data))

    def read_all(self, data: Sequence[bytes]) -> Sequence[Any]:
        messages = list(map(self._parsed, data))
        if not self._columns or not messages:
            return list(map(self._decode, messages))
        return Fields({name: list(map(get, messages)) for name, get in self._columns.items()}, len(messages))

    def _parsed(self, data: bytes) -> Any:
        try:
            return self._parse(data)
        except DecodeError as e:
            raise DataError(
                f"cannot read a message as Protobuf: its bytes do not fit its schema ({e}); the message is damaged, or its "
                "schema id belongs to another registry"
            ) from e


class ProtobufReader:
    """Reader of data with one schema.

    Args:
        file: the schema; the indexes in each message identify its type in the file.
        settings: settings of the mapping.
        version: version of the schema in the registry.
    """

    def __init__(self, file: FileDescriptor, settings: ProtobufSettings, version: int | None) -> None:
        self._file = file
        self._settings = settings
        self._version = version
        self._readers: dict[tuple[int, ...], _MessageReader] = {}

    def read(self, data: bytes) -> tuple[Schema | None, Any]:
        """Return the schema and the value of a message."""
        indexes, start = read_indexes(data)
        reader = self._reader(indexes)
        return reader.schema, reader.read(data[start:])

    def read_all(
        self, data: Sequence[bytes], start: int = 0
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Return the schema, or one schema for each message, and the values of many messages.

        If any message cannot be read, the whole call fails. To find it, call `read` for each message.
        """
        indexes, length = read_indexes(data[0][start:])
        end = start + length
        prefix = data[0][:end]
        if not all(each.startswith(prefix) for each in data):
            pairs = [self.read(each[start:]) for each in data]
            return [schema for schema, _ in pairs], [value for _, value in pairs]
        reader = self._reader(indexes)
        return reader.schema, reader.read_all([each[end:] for each in data])

    def _reader(self, indexes: tuple[int, ...]) -> _MessageReader:
        found = self._readers.get(indexes)
        if found is None:
            try:
                found = _MessageReader(self._file, indexes, self._settings, self._version)
            except RecursionError:
                raise DataError("cannot read a Protobuf schema: it is nested too deeply") from None
            self._readers[indexes] = found
        return found
