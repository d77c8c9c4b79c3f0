"""Files that schemas import without a reference: Google's well-known types and Confluent's."""

from functools import cache
from importlib import import_module
from typing import Final

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet

__all__ = ["is_known_file", "known_files"]

_MODULES: Final = (
    *(
        f"google.protobuf.{name}_pb2"
        for name in (
            "any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct", "timestamp", "type",
            "wrappers",
        )
    ),
    *(
        f"google.type.{name}_pb2"
        for name in (
            "calendar_period", "color", "date", "datetime", "dayofweek", "decimal", "expr", "fraction", "interval", "latlng",
            "money", "month", "phone_number", "postal_address", "quaternion", "timeofday",
        )
    ),
    *(f"confluent_kafka.schema_registry.confluent.{name}_pb2" for name in ("meta", "type.decimal", "type.variant")),
)  # fmt: skip


@cache
def _files() -> dict[str, FileDescriptor]:
    """Return these files by path, each after its imports."""
    found: dict[str, FileDescriptor] = {}

    def add(file: FileDescriptor) -> None:
        if file.name not in found:
            for imported in file.dependencies:
                add(imported)
            found[file.name] = file

    for module in _MODULES:
        add(import_module(module).DESCRIPTOR)
    return found


def is_known_file(path: str) -> bool:
    """Return whether a file is one of these."""
    return path in _files()


@cache
def known_files() -> bytes:
    """Return these files as a serialized FileDescriptorSet, each after its imports."""
    files = FileDescriptorSet()
    for file in _files().values():
        files.file.add().ParseFromString(file.serialized_pb)
    return bytes(files.SerializeToString())
