"""Connect's schemas for Protobuf messages, as Confluent's ProtobufData makes them."""

from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from confluent_kafka.schema_registry.confluent import meta_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor, OneofDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from penstock import DataError, Field, Schema, Type
from penstock.schema import DATE, TIME, TIMESTAMP, decimal
from penstock_registry.protobuf import names
from penstock_registry.protobuf.settings import ProtobufSettings

__all__ = [
    "connect_schema",
    "is_checked_text",
    "is_map",
    "is_optional",
    "is_repeated",
    "may_be_unset",
    "real_oneof",
    "union_field",
    "unwrapped",
]

_FIELD_META: Final = meta_pb2.DESCRIPTOR.extensions_by_name["field_meta"]
_PROTO: Final = {
    FieldDescriptor.TYPE_INT32: ("int32", Type.INT32),
    FieldDescriptor.TYPE_SINT32: ("sint32", Type.INT32),
    FieldDescriptor.TYPE_SFIXED32: ("sfixed32", Type.INT32),
    FieldDescriptor.TYPE_UINT32: ("uint32", Type.INT64),
    FieldDescriptor.TYPE_FIXED32: ("fixed32", Type.INT64),
    FieldDescriptor.TYPE_INT64: ("int64", Type.INT64),
    FieldDescriptor.TYPE_SINT64: ("sint64", Type.INT64),
    FieldDescriptor.TYPE_SFIXED64: ("sfixed64", Type.INT64),
    FieldDescriptor.TYPE_UINT64: ("uint64", Type.INT64),
    FieldDescriptor.TYPE_FIXED64: ("fixed64", Type.INT64),
    FieldDescriptor.TYPE_FLOAT: ("float", Type.FLOAT32),
    FieldDescriptor.TYPE_DOUBLE: ("double", Type.FLOAT64),
    FieldDescriptor.TYPE_BOOL: ("bool", Type.BOOLEAN),
    FieldDescriptor.TYPE_STRING: ("string", Type.STRING),
    FieldDescriptor.TYPE_BYTES: ("bytes", Type.BYTES),
}
"""Name of each scalar type, and its type in Connect."""
_MOST_FIELDS: Final = 100_000
_SMALL: Final = {"int8": Type.INT8, "int16": Type.INT16}
_LOGICAL: Final = {names.DATE: DATE, names.TIME: TIME, names.TIMESTAMP: TIMESTAMP}
_UNWRAPPED: Final = {
    names.WRAPPERS["double"]: Type.FLOAT64,
    names.WRAPPERS["float"]: Type.FLOAT32,
    names.WRAPPERS["int64"]: Type.INT64,
    names.WRAPPERS["uint64"]: Type.INT64,
    names.WRAPPERS["int32"]: Type.INT32,
    names.WRAPPERS["uint32"]: Type.INT64,
    names.WRAPPERS["bool"]: Type.BOOLEAN,
    names.WRAPPERS["string"]: Type.STRING,
    names.WRAPPERS["bytes"]: Type.BYTES,
}


def connect_schema(message: Descriptor, settings: ProtobufSettings, version: int | None = None) -> Schema:
    """Return the schema for a message.

    Args:
        message: the message.
        settings: settings of the mapping.
        version: its version in the registry.

    Raises:
        DataError: Connect cannot represent the message.
    """
    if _size(message, {}) > _MOST_FIELDS:
        raise DataError(
            f"cannot read a Protobuf schema: {message.full_name} has more than {_MOST_FIELDS} fields, "
            "including those of the messages inside it"
        )
    plain = unwrapped(message) if settings.raw_primitives else None
    schema = _Maker(settings).struct(message) if plain is None else Schema(plain)
    return schema if version is None else replace(schema, version=version)


def unwrapped(message: Descriptor | None) -> Type | None:
    """Return the type of the value in a wrapper message; None for any other message."""
    return None if message is None else _UNWRAPPED.get(message.full_name)


def is_repeated(field: FieldDescriptor) -> bool:
    """Return whether a field is repeated."""
    return bool(field.is_repeated)


def is_map(field: FieldDescriptor) -> bool:
    """Return whether a field is a map: a repeated field of messages with a key, a value and the name that protoc gives."""
    message = field.message_type
    if message is None or not is_repeated(field) or not message.name.endswith("Entry"):
        return False
    return [each.name for each in message.fields] == ["key", "value"] and not any(map(is_repeated, message.fields))


def real_oneof(field: FieldDescriptor) -> OneofDescriptor | None:
    """Return the oneof of a field; None if it has none, or only the oneof that protoc adds to an `optional` field."""
    oneof = field.containing_oneof
    return None if oneof is None or _is_proto3_optional(field) else oneof


def is_optional(field: FieldDescriptor) -> bool:
    """Return whether a field is declared `optional`, so that it may be unset."""
    if _is_proto3_optional(field):
        return True
    if field.containing_oneof is not None or is_repeated(field) or field.is_required:
        return False
    return _syntax(field.file) == "proto2"


def may_be_unset(field: FieldDescriptor, settings: ProtobufSettings) -> bool:
    """Return whether a field that is not a message is read as null if it is unset."""
    return _is_proto3_optional(field) or (settings.proto2_optional and is_optional(field))


def is_checked_text(field: FieldDescriptor) -> bool:
    """Return whether a string that is not valid UTF-8 makes its message fail."""
    return _syntax(field.file) == "proto3"


def union_field(oneof: OneofDescriptor, settings: ProtobufSettings) -> str:
    """Return the name of the field that holds a oneof."""
    return f"{oneof.name}_{oneof.index}" if settings.indexed_unions else str(oneof.name)


def _is_proto3_optional(field: FieldDescriptor) -> bool:
    """Return whether a field is declared `optional` in proto3."""
    oneof = field.containing_oneof
    return oneof is not None and len(oneof.fields) == 1 and field.name in _proto3_optional(field.containing_type)


@lru_cache(maxsize=64)
def _proto3_optional(message: Descriptor) -> frozenset[str]:
    copy = DescriptorProto()
    message.CopyToProto(copy)
    return frozenset(each.name for each in copy.field if each.proto3_optional)


@lru_cache(maxsize=64)
def _syntax(file: FileDescriptor) -> str:
    """Return `proto2`, `proto3` or `editions`."""
    copy = FileDescriptorProto()
    file.CopyToProto(copy)
    return copy.syntax or "proto2"


def _size(message: Descriptor, known: dict[str, int]) -> int:
    """Return the number of fields of a message and its inner messages, which can grow exponentially with the text."""
    name = message.full_name
    if name not in known:
        known[name] = 0  # a message that contains itself is rejected later
        inner = (each.message_type for each in message.fields)
        known[name] = len(message.fields) + sum(_size(each, known) for each in inner if each is not None)
    return known[name]


class _Maker:
    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        self._known: dict[str, Schema | None] = {}

    def struct(self, message: Descriptor) -> Schema:
        name: str = message.full_name
        if name in self._known:
            known = self._known[name]
            if known is None:
                raise DataError(
                    f"cannot read a Protobuf schema: message {name} contains itself, but schemas of Kafka Connect "
                    "cannot be recursive; read the records as bytes (ByteArrayConverter), or change the schema"
                )
            return known
        self._known[name] = None
        fields: list[Field] = []
        for oneof in message.oneofs:
            if all(real_oneof(each) is None for each in oneof.fields):
                continue
            if self._settings.flat_unions:
                fields += [Field(each.name, self._field(each, in_oneof=True)) for each in oneof.fields]
            else:
                fields.append(Field(union_field(oneof, self._settings), self._union(oneof)))
        fields += [Field(each.name, self._field(each)) for each in message.fields if real_oneof(each) is None]
        made = Schema(Type.STRUCT, name=self._name(message), fields=tuple(fields))
        self._known[name] = made
        return made

    def _name(self, of: Any) -> str:
        return str(of.full_name if self._settings.full_names else of.name)

    def _union(self, oneof: OneofDescriptor) -> Schema:
        fields = tuple(Field(each.name, self._field(each, in_oneof=True)) for each in oneof.fields)
        return Schema(Type.STRUCT, optional=True, name=f"{names.UNION}.{self._name(oneof)}", fields=fields)

    def _field(self, field: FieldDescriptor, *, in_oneof: bool = False) -> Schema:
        schema = self._single(field)
        if is_repeated(field) and schema.type is not Type.MAP:
            schema = Schema(Type.ARRAY, optional=True, items=schema.as_optional())
        parameters = dict(schema.parameters or {})
        optional = schema.optional
        if in_oneof:
            optional = True
            if self._settings.wrapper_fields and unwrapped(field.message_type) is not None:
                parameters[names.WRAPPER] = "true"
        elif self._settings.optional_fields:
            optional = optional or is_optional(field)
        else:  # unlike in Java, where a null can be in a required field
            optional = optional or not self._settings.wrapper_fields or may_be_unset(field, self._settings)
        parameters[names.TAG] = str(field.number)
        return replace(schema, optional=optional, parameters=parameters)

    def _single(self, field: FieldDescriptor) -> Schema:
        if field.enum_type is not None:
            return self._enum(field)
        if field.message_type is not None:
            return replace(self._message(field), optional=True)
        kind, of = _PROTO[field.type]
        if of is Type.INT32:
            of = _SMALL.get(_meta(field).get(names.CONNECT_TYPE, ""), of)
        is_usual = kind in ("int32", "int64") or of not in (Type.INT32, Type.INT64)
        return Schema(of, parameters=None if is_usual else {names.TYPE: kind})

    def _enum(self, field: FieldDescriptor) -> Schema:
        enum = field.enum_type
        symbols = {f"{names.ENUM}.{each.name}": str(each.number) for each in enum.values}
        return Schema(
            Type.INT32 if self._settings.int_enums else Type.STRING,
            optional=True,
            name=self._name(enum),
            parameters={names.ENUM: enum.name, **symbols},
        )

    def _message(self, field: FieldDescriptor) -> Schema:
        message = field.message_type
        if message.full_name == names.DECIMAL:
            meta = _meta(field)
            schema = decimal(_int(meta.get(names.SCALE)) or 0)
            precision = _int(meta.get(names.PRECISION))
            if precision is None:
                return schema
            return replace(schema, parameters={**(schema.parameters or {}), names.CONNECT_PRECISION: str(precision)})
        if (logical := _LOGICAL.get(message.full_name)) is not None:
            return logical
        plain = unwrapped(message) if self._settings.wrapper_fields else None
        if plain is not None:
            return Schema(plain)
        if is_map(field):
            key, value = message.fields
            name = names.map_field(self._name(message))
            return Schema(Type.MAP, name=name, keys=self._field(key), values=self._field(value))
        return self.struct(message)


def _meta(field: FieldDescriptor) -> dict[str, str]:
    return dict(field.GetOptions().Extensions[_FIELD_META].params)


def _int(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
