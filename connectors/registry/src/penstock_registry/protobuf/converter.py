"""ProtobufConverter: Protobuf with schemas in a registry."""

from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FileDescriptor

from penstock import DataError, Schema
from penstock_registry.protobuf.compiler import compile_proto
from penstock_registry.protobuf.config import ProtobufConverterConfig
from penstock_registry.protobuf.from_schema import message_name, proto_text
from penstock_registry.protobuf.messages import find_message, message_at, read_indexes
from penstock_registry.protobuf.reader import ProtobufReader
from penstock_registry.protobuf.writer import ProtobufWriter
from penstock_registry.registry import Found
from penstock_registry.registry_converter import RegistryConverter

__all__ = ["ProtobufConverter"]

_NO_SCHEMA: Final = (
    "cannot write a value without a schema as Protobuf: let its source or a transform add one, or use a converter that "
    "needs none, such as JsonConverter"
)


class ProtobufConverter(RegistryConverter[Descriptor]):
    """Protobuf with schemas in a registry, in Confluent's format.

    A parsed schema is a message of a compiled file: the first one of a registered schema, or else that of the values.
    """

    Config = ProtobufConverterConfig
    java_names = ("io.confluent.connect.protobuf.ProtobufConverter",)
    kind = "PROTOBUF"

    def configure(self, config: Any, *, is_key: bool) -> None:
        super().configure(config, is_key=is_key)
        self._settings = config.settings

    def schema_text(self, schema: Schema | None) -> str:
        if schema is None:
            raise DataError(_NO_SCHEMA)
        return proto_text(schema, self._settings)

    def parse(self, text: str, found: Found | None) -> Descriptor:
        references = {} if found is None else {each.name: each.text for each in found.references}
        return message_at(compile_proto(text, references), (0,))

    def record_name(self, parsed: Descriptor) -> str | None:
        return str(parsed.full_name)

    def has_version(self, parsed: Descriptor) -> bool:
        return False

    def new_writer(self, schema: Schema | None, parsed: Descriptor) -> ProtobufWriter:
        if schema is None:
            raise DataError(_NO_SCHEMA)
        return ProtobufWriter(schema, self._message(schema, parsed.file), self._settings)

    def new_reader(self, parsed: Descriptor, version: int | None) -> ProtobufReader:
        return ProtobufReader(parsed.file, self._settings, version)

    def prefix_length(self, message: bytes) -> int:
        length = super().prefix_length(message)
        return length + read_indexes(message[length:])[1]

    def _parsed(self, schema: Schema | None) -> tuple[str, Descriptor]:
        text, first = super()._parsed(schema)
        return text, first if schema is None else self._message(schema, first.file)

    def _message(self, schema: Schema, file: FileDescriptor) -> Descriptor:
        """Return the message for a schema: the one with its name, with or without the package, or the only one."""
        name = message_name(schema, self._settings)
        messages = file.message_types_by_name
        found = find_message(file, name) or messages.get(name.rpartition(".")[2])
        if found is None and (len(messages) == 1 or not schema.name):
            return message_at(file, (0,))
        if found is None:
            raise DataError(
                f"cannot write a value as Protobuf: the registered schema has several messages, and none is named {name}; "
                "give the record's schema the name of one of them, for example with the transform SetSchemaMetadata"
            )
        return found
