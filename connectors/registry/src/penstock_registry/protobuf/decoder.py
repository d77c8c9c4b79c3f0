"""Conversion of Protobuf messages to Connect's values."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor

from penstock import DataError, Schema, Type
from penstock_registry.protobuf.logical import MESSAGES, from_message
from penstock_registry.protobuf.settings import ProtobufSettings
from penstock_registry.protobuf.to_schema import (
    is_checked_text,
    is_repeated,
    may_be_unset,
    real_oneof,
    union_field,
    unwrapped,
)

__all__ = ["Column", "Decode", "columns", "message_decoder"]

Decode = Callable[[Any], Any]
"""Function that converts a value other than None."""

Column = Callable[[Any], Any]
"""Function that returns the value of a message's field, in Connect's form."""


def message_decoder(message: Descriptor, schema: Schema, settings: ProtobufSettings) -> Decode:
    """Return the function that converts messages to values of the schema that was made for them."""
    if schema.type is not Type.STRUCT:
        return _wrapper(message)
    return _struct(columns(message, schema, settings))


def columns(message: Descriptor, schema: Schema, settings: ProtobufSettings) -> dict[str, Column]:
    """Return a function for each field that reads its value from a message, in the order of the schema."""
    found: dict[str, Column] = {}
    for oneof in message.oneofs:
        members = [each for each in oneof.fields if real_oneof(each) is not None]
        if settings.flat_unions:
            for each in members:
                found[each.name] = _present(each, _field(each, _of(schema, each.name), settings))
        elif members:
            name = union_field(oneof, settings)
            found[name] = _union(oneof, _of(schema, name), settings)
    for each in message.fields:
        if real_oneof(each) is None:
            decode = _field(each, _of(schema, each.name), settings)
            found[each.name] = _column(each, decode, settings)
    return {each.name: found[each.name] for each in schema.fields}


def _of(schema: Schema, name: str) -> Schema:
    field = schema.field(name)
    if field is None:
        raise DataError(f"cannot read a message as Protobuf: its schema has no field '{name}'")
    return field.schema


def _struct(fields: dict[str, Column]) -> Decode:
    items = list(fields.items())
    return lambda message: {name: get(message) for name, get in items}


def _column(field: FieldDescriptor, decode: Decode | None, settings: ProtobufSettings) -> Column:
    if is_repeated(field):
        return _always(field, decode or list)
    if field.message_type is not None:
        always = settings.null_structs and field.message_type.full_name not in MESSAGES.values()
        return _always(field, decode) if always else _present(field, decode)
    return _present(field, decode) if may_be_unset(field, settings) else _always(field, decode)


def _always(field: FieldDescriptor, decode: Decode | None) -> Column:
    get = attrgetter(field.name)
    return get if decode is None else lambda message: decode(get(message))


def _present(field: FieldDescriptor, decode: Decode | None) -> Column:
    name, get = field.name, attrgetter(field.name)
    if decode is None:
        return lambda message: get(message) if message.HasField(name) else None
    return lambda message: decode(get(message)) if message.HasField(name) else None


def _union(oneof: OneofDescriptor, schema: Schema, settings: ProtobufSettings) -> Column:
    members = {each.name: _always(each, _field(each, _of(schema, each.name), settings)) for each in oneof.fields}
    empty = dict.fromkeys((each.name for each in schema.fields), None)
    name = oneof.name

    def decode_union(message: Any) -> Any:
        which = message.WhichOneof(name)
        return None if which is None else {**empty, which: members[which](message)}

    return decode_union


def _field(field: FieldDescriptor, schema: Schema, settings: ProtobufSettings) -> Decode | None:
    """Return the function that converts all values of a field; None if they need no conversion."""
    if not is_repeated(field):
        return _single(field, schema, settings)
    if schema.type is Type.MAP and schema.keys is not None and schema.values is not None:
        return _map(field, schema.keys, schema.values, settings)
    if schema.items is None:
        raise DataError(
            f"cannot read a message as Protobuf: '{field.name}' is repeated, but its schema is neither an array nor a map"
        )
    decode = _single(field, schema.items, settings)
    if decode is None:
        return list
    return lambda values: [decode(value) for value in values]


def _map(field: FieldDescriptor, keys: Schema, values: Schema, settings: ProtobufSettings) -> Decode:
    key, value = field.message_type.fields
    decode_key = _single(key, keys, settings) or _same
    decode_value = _single(value, values, settings) or _same
    if field.message_type.GetOptions().map_entry:
        return lambda found: {decode_key(each): decode_value(found[each]) for each in found}

    def decode_entries(entries: Sequence[Any]) -> dict[Any, Any]:
        try:
            return {decode_key(entry.key): decode_value(entry.value) for entry in entries}
        except TypeError:
            raise DataError(f"cannot read the map '{field.name}': its keys are structs") from None

    return decode_entries


def _same(value: Any) -> Any:
    return value


def _single(field: FieldDescriptor, schema: Schema, settings: ProtobufSettings) -> Decode | None:
    """Return the function that converts one value of a field."""
    if field.enum_type is not None:
        return _int if schema.type is Type.INT32 else _enum(field.enum_type)
    message = field.message_type
    if message is not None:
        logical = from_message(schema.name or "")
        if logical is not None:
            return logical
        return _wrapper(message) if schema.type is not Type.STRUCT else message_decoder(message, schema, settings)
    match field.type:
        case FieldDescriptor.TYPE_UINT64 | FieldDescriptor.TYPE_FIXED64:
            return _signed
        case FieldDescriptor.TYPE_STRING if not is_checked_text(field):
            return _text
        case _ if schema.type in (Type.INT8, Type.INT16):
            return _small(schema.type)
        case _:
            return None


def _enum(enum: EnumDescriptor) -> Decode:
    symbols = {number: each.name for number, each in enum.values_by_number.items()}
    name = enum.name

    def decode_enum(number: int) -> str:
        return symbols.get(number) or f"UNKNOWN_ENUM_VALUE_{name}_{number}"  # as in Java's library

    return decode_enum


def _int(value: int) -> int:
    return int(value)


def _text(value: str | bytes) -> str:
    """Return a string. Bytes, which are not valid UTF-8, are decoded with the replacements of Java's library."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _signed(value: int) -> int:
    """Return the int64 with the same bits as an unsigned number."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _small(of: Type) -> Decode:
    limit = 1 << (7 if of is Type.INT8 else 15)

    def decode_small(value: int) -> int:
        if not -limit <= value < limit:
            raise DataError(f"a number is too large for {of}, the connect.type of its field")
        return value

    return decode_small


def _wrapper(message: Descriptor) -> Decode:
    if unwrapped(message) is None:
        raise DataError(f"cannot read a message as Protobuf: {message.full_name} is not a wrapper message")
    is_unsigned = message.fields_by_name["value"].type == FieldDescriptor.TYPE_UINT64
    return (lambda wrapper: _signed(wrapper.value)) if is_unsigned else attrgetter("value")
