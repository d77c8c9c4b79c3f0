"""Conversion of Connect's values to arguments of the constructor of a Protobuf message."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from penstock import DataError, Schema, Type
from penstock_registry.protobuf import names
from penstock_registry.protobuf.logical import MESSAGES, to_message
from penstock_registry.protobuf.paths import inside
from penstock_registry.protobuf.settings import ProtobufSettings
from penstock_registry.protobuf.to_schema import is_map, is_repeated, unwrapped
from penstock_registry.values import BOUNDS, CLASSES, described

__all__ = ["Encode", "FieldEncoder", "field_encoders", "struct_encoder", "wrapped_encoder"]

Encode = Callable[[Any], Any]
"""Function that converts a value other than None, or raises a `DataError`."""

_SIGNED: Final = (
    FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32, FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64,
)  # fmt: skip
_UNSIGNED: Final = (
    FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64,
)  # fmt: skip
_WIDE: Final = (
    FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64, FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_FIXED64,
)  # fmt: skip
_BITS_OF_64: Final = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_NUMBERS: Final = (*_SIGNED, *_UNSIGNED)
_ACCEPTED: Final[Mapping[Type, tuple[int, ...]]] = {
    Type.INT8: _NUMBERS,
    Type.INT16: _NUMBERS,
    Type.INT32: _NUMBERS,
    Type.INT64: (*_WIDE, FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32),
    Type.FLOAT32: (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE),
    Type.FLOAT64: (FieldDescriptor.TYPE_DOUBLE,),
    Type.BOOLEAN: (FieldDescriptor.TYPE_BOOL,),
    Type.STRING: (FieldDescriptor.TYPE_STRING,),
    Type.BYTES: (FieldDescriptor.TYPE_BYTES,),
}
"""Protobuf types that can hold the values of each type of Connect."""


@dataclass(frozen=True, slots=True)
class FieldEncoder:
    """Conversion of a field of a struct.

    Attributes:
        name: name of the field in Connect.
        target: its name in Protobuf; None for a oneof, whose field depends on the value.
        encode: function that converts a value, which may be None, for the constructor, or raises a `DataError`. For a
            oneof, it returns the name of the field and its value, or None.
        plain: classes of values that need no conversion.
        bounds: minimum and maximum of such values, if they are integers.
    """

    name: str
    target: str | None
    encode: Encode
    plain: frozenset[type]
    bounds: tuple[int, int] | None


def field_encoders(schema: Schema, message: Descriptor, settings: ProtobufSettings) -> list[FieldEncoder]:
    """Return the conversions of a struct's fields to those of a message.

    Raises:
        DataError: the message cannot hold such structs.
    """
    found = []
    written: set[str] = set()
    for field in schema.fields:
        try:
            if names.is_union(field.schema):
                members = _members(field.schema, message, settings)
                written.update(members)
                found.append(FieldEncoder(field.name, None, _union(field.schema, members), frozenset(), None))
                continue
            target = message.fields_by_name.get(_name(field.name, settings))
            if target is None:
                continue  # only if a registered schema is used (`use.latest.version`), which does not have it
            written.add(target.name)
            encode = _nullable(field.schema, _field(field.schema, target, settings), settings)
        except DataError as e:
            raise inside(field.name, e) from None
        plain, bounds = _plain(field.schema, target)
        found.append(FieldEncoder(field.name, target.name, encode, plain, bounds))
    for each in message.fields:
        if each.is_required and each.name not in written:
            raise DataError(
                f"the registered schema {message.full_name} requires the field '{each.name}', which the record's "
                "schema does not have"
            )
    return found


def wrapped_encoder(schema: Schema, wrapper: Descriptor) -> Encode:
    """Return the function that converts a primitive to the only field of a wrapper message."""
    encode = _scalar(schema, wrapper.fields_by_name["value"])
    return lambda value: {"value": encode(value)}


def _name(name: str, settings: ProtobufSettings) -> str:
    return names.checked(name, scrub=True) if settings.scrub else name


def _plain(schema: Schema, field: FieldDescriptor) -> tuple[frozenset[type], tuple[int, int] | None]:
    """Return the classes of values that need no conversion, and the bounds of numbers. Strings may be invalid in UTF-8."""
    is_scalar = field.enum_type is None and field.message_type is None and not is_repeated(field)
    if not is_scalar or schema.type is Type.STRING or field.type in _UNSIGNED:
        return frozenset(), None
    classes: set[type] = set(CLASSES[schema.type])
    if schema.optional and schema.default is None:
        classes.add(type(None))
    return frozenset(classes), BOUNDS.get(schema.type)


def _nullable(schema: Schema, encode: Encode, settings: ProtobufSettings) -> Encode:
    """Return the function for values that may be null: a null is written as the default if there is one, or not at all."""
    default = None if schema.optional and settings.null_stays else schema.default

    def encode_nullable(value: Any) -> Any:
        if value is None:
            if default is not None:
                return encode(default)
            if not schema.optional:
                raise DataError("null is not allowed")
            return None
        return encode(value)

    return encode_nullable


def _members(union: Schema, message: Descriptor, settings: ProtobufSettings) -> dict[str, tuple[str, Encode]]:
    found = {}
    for field in union.fields:
        target = message.fields_by_name.get(_name(field.name, settings))
        if target is not None:
            try:
                found[field.name] = (target.name, _field(field.schema, target, settings))
            except DataError as e:
                raise inside(field.name, e) from None
    return found


def _union(union: Schema, members: Mapping[str, tuple[str, Encode]]) -> Encode:
    def encode_union(value: Any) -> tuple[str, Any] | None:
        if value is None:
            if not union.optional:
                raise DataError("null is not allowed")
            return None
        _expect(value, dict, "a struct")
        for name, content in value.items():
            if content is not None:
                if name not in members:
                    raise DataError(f"the oneof has no field '{name}'")
                target, encode = members[name]
                try:
                    return target, encode(content)
                except DataError as e:
                    raise inside(name, e) from None
        raise DataError("no field of the oneof is set")

    return encode_union


def _field(schema: Schema, field: FieldDescriptor, settings: ProtobufSettings) -> Encode:
    """Return the function that converts all values of a field."""
    if schema.type is Type.MAP and schema.keys is not None and schema.values is not None:
        if not (is_map(field) or _is_entries(field)):
            raise _no_place(schema, field)
        return _map(schema.keys, schema.values, field.message_type, settings)
    if schema.type is Type.ARRAY and schema.items is not None:
        if not is_repeated(field) or _is_real_map(field):
            raise _no_place(schema, field)
        return _array(_single(schema.items, field, settings))
    if is_repeated(field):
        raise _no_place(schema, field)
    return _single(schema, field, settings)


def _is_entries(field: FieldDescriptor) -> bool:
    """Return whether a field has map entries, possibly with arrays or maps as values."""
    message = field.message_type
    return message is not None and is_repeated(field) and [each.name for each in message.fields] == ["key", "value"]


def _is_real_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _array(encode: Encode) -> Encode:
    def encode_array(value: Any) -> Any:
        _expect(value, list, "an array")
        if None in value:
            raise DataError("Protobuf cannot encode an array that contains null")
        return [encode(each) for each in value]

    return encode_array


def _map(keys: Schema, values: Schema, entry: Descriptor, settings: ProtobufSettings) -> Encode:
    of_key, of_value = entry.fields_by_name["key"], entry.fields_by_name["value"]
    encode_key, encode_value = _field(keys, of_key, settings), _field(values, of_value, settings)
    if entry.GetOptions().map_entry:

        def encode_map(value: Any) -> Any:
            _expect(value, dict, "a map")
            if None in value or None in value.values():
                raise DataError("Protobuf cannot encode a map that contains null")
            return {encode_key(key): encode_value(each) for key, each in value.items()}

        return encode_map
    key_or_null, value_or_null = _nullable(keys, encode_key, settings), _nullable(values, encode_value, settings)

    def encode_entries(value: Any) -> Any:
        _expect(value, dict, "a map")
        return [{"key": key_or_null(key), "value": value_or_null(each)} for key, each in value.items()]

    return encode_entries


def _single(schema: Schema, field: FieldDescriptor, settings: ProtobufSettings) -> Encode:
    """Return the function that converts one value of a field."""
    logical = to_message(schema.name or "")
    if logical is not None:
        if field.message_type is None or field.message_type.full_name != MESSAGES[schema.name or ""]:
            raise _no_place(schema, field)
        return logical
    message = field.message_type
    if message is None:
        return _scalar(schema, field)
    if schema.type is Type.STRUCT:
        return struct_encoder(field_encoders(schema, message, settings))
    if unwrapped(message) is None or schema.type not in _ACCEPTED:
        raise _no_place(schema, field)
    return wrapped_encoder(schema, message)


def struct_encoder(encoders: list[FieldEncoder]) -> Encode:
    """Return the function that converts structs with these fields."""
    fields = [(each.name, each.target, each.encode) for each in encoders]

    def encode_struct(value: Any) -> Any:
        _expect(value, dict, "a struct")
        made = {}
        for name, target, encode in fields:
            try:
                content = encode(value.get(name))
            except DataError as e:
                raise inside(name, e) from None
            if content is not None:
                if target is None:
                    target, content = content
                made[target] = content
        return made

    return encode_struct


def _scalar(schema: Schema, field: FieldDescriptor) -> Encode:
    if field.enum_type is not None:
        return _enum(schema, field)
    if field.message_type is not None or field.type not in _ACCEPTED.get(schema.type, ()):
        raise _no_place(schema, field)
    check = _checked(schema)
    match field.type:
        case _ if field.type in _BITS_OF_64:
            return lambda value: check(value) & 0xFFFF_FFFF_FFFF_FFFF  # Java has no unsigned type: the bits are kept
        case FieldDescriptor.TYPE_UINT32 | FieldDescriptor.TYPE_FIXED32:
            return _unsigned(check)
        case _:
            return check


def _checked(schema: Schema) -> Encode:
    classes, bounds, is_text = frozenset(CLASSES[schema.type]), BOUNDS.get(schema.type), schema.type is Type.STRING

    def check(value: Any) -> Any:
        if type(value) not in classes:
            raise DataError(f"{described(schema)} is expected, not {type(value).__name__}")
        if bounds is not None and not bounds[0] <= value <= bounds[1]:
            raise DataError(f"the number is too large for {described(schema)}")
        if is_text and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise DataError("the string cannot be encoded in UTF-8: it has a lone surrogate") from None
        return value

    return check


def _unsigned(check: Encode) -> Encode:
    def encode(value: Any) -> Any:
        if not 0 <= check(value) < 1 << 32:
            raise DataError("the number does not fit an unsigned 32-bit integer")
        return value

    return encode


def _enum(schema: Schema, field: FieldDescriptor) -> Encode:
    enum: EnumDescriptor = field.enum_type
    if schema.type is Type.STRING:
        numbers = {name: each.number for name, each in enum.values_by_name.items()}

        def encode_symbol(value: Any) -> int:
            _expect(value, str, "a string")
            if value not in numbers:
                raise DataError(f"the string is not a symbol of the enum {enum.name}")
            return int(numbers[value])

        return encode_symbol
    if schema.type not in (Type.INT8, Type.INT16, Type.INT32):
        raise _no_place(schema, field)
    check, known = _checked(schema), frozenset(enum.values_by_number)

    def encode_number(value: Any) -> int:
        if check(value) not in known:
            raise DataError(f"the number is not a value of the enum {enum.name}")
        return int(value)

    return encode_number


def _no_place(schema: Schema, field: FieldDescriptor) -> DataError:
    return DataError(f"the registered schema has {_kind(field)} where the record has {described(schema)}")


def _kind(field: FieldDescriptor) -> str:
    of = field.message_type or field.enum_type
    kind = str(of.full_name) if of is not None else _TYPES[field.type]
    return f"repeated {kind}" if is_repeated(field) else kind


_TYPES: Final = {
    value: name.removeprefix("TYPE_").lower()
    for name, value in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}


def _expect(value: Any, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise DataError(f"{what} is expected, not {type(value).__name__}")
