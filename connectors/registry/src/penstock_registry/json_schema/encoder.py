"""Conversion of Connect's values to JSON text, as in Confluent's JsonSchemaData."""

from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, Final

from penstock import DataError, Schema, Type
from penstock.schema import DECIMAL_NAME
from penstock_registry.json_schema import names
from penstock_registry.json_schema.java_text import single_text
from penstock_registry.json_schema.misfit import Misfit
from penstock_registry.json_schema.settings import JsonSettings
from penstock_registry.logical import to_stored
from penstock_registry.values import BOUNDS, CLASSES, described

__all__ = ["Encode", "encoder", "field_encoders"]

Encode = Callable[[Any], str]
"""Function that converts a value, which may be None, or raises a `Misfit`."""

_NULL: Final = "null"


def encoder(schema: Schema, settings: JsonSettings) -> Encode:
    """Return the function that converts values of this schema."""
    encode = _present(schema, settings)
    default = schema.default
    if default is not None and not (schema.optional and settings.null_stays):
        text = None

        def encode_or_default(value: Any) -> str:
            nonlocal text
            if value is not None:
                return encode(value)
            if text is None:
                text = encode(default)
            return text

        return encode_or_default
    if schema.optional:
        return lambda value: _NULL if value is None else encode(value)

    def encode_required(value: Any) -> str:
        if value is None:
            raise Misfit("null is not allowed")
        return encode(value)

    return encode_required


def field_encoders(schema: Schema, settings: JsonSettings) -> list[tuple[str, str, Encode]]:
    """Return for each field of a struct its name, the text before its value, and the function for its values."""
    return [(f.name, f"{encode_basestring(f.name)}:", encoder(f.schema, settings)) for f in schema.fields]


def _present(schema: Schema, settings: JsonSettings) -> Encode:
    """Return the function for values other than null."""
    logical = _logical(schema, settings)
    if logical is not None:
        return logical
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            return _array(encoder(schema.items, settings))
        case Type.MAP if schema.keys is not None and schema.values is not None:
            if names.is_object_map(schema):
                return _object_map(encoder(schema.keys, settings), encoder(schema.values, settings))
            return _entries(encoder(schema.keys, settings), encoder(schema.values, settings))
        case Type.STRUCT if names.is_union(schema):
            return _union(schema, settings)
        case Type.STRUCT:
            return _struct(schema, settings)
        case _:
            return _primitive(schema)


def _logical(schema: Schema, settings: JsonSettings) -> Encode | None:
    if schema.name == DECIMAL_NAME and settings.numeric:
        return _numeric
    convert = to_stored(schema)
    if convert is None:
        return None

    def encode(value: Any) -> str:
        try:
            stored = convert(value)
        except DataError as e:
            raise Misfit(str(e)) from None
        return _base64(stored) if isinstance(stored, bytes) else str(int(stored))

    return encode


def _numeric(value: Any) -> str:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise Misfit(f"a Decimal is expected, not {type(value).__name__}")
    return str(value)


def _base64(value: bytes) -> str:
    return f'"{b64encode(value).decode("ascii")}"'


_TEXTS: Final[dict[Type, Encode]] = {
    Type.BOOLEAN: lambda value: "true" if value else "false",
    Type.STRING: encode_basestring,
    Type.BYTES: _base64,
    Type.FLOAT32: lambda value: _float(value, single_text),
    Type.FLOAT64: lambda value: _float(value, float.__repr__),
}


def _float(value: float, text: Callable[[float], str]) -> str:
    if isfinite(value):
        return text(value)
    return '"NaN"' if value != value else '"Infinity"' if value > 0 else '"-Infinity"'


def _primitive(schema: Schema) -> Encode:
    classes, bounds = frozenset(CLASSES[schema.type]), BOUNDS.get(schema.type)
    write: Encode = _TEXTS.get(schema.type, int.__repr__)

    def encode(value: Any) -> str:
        if type(value) not in classes:
            raise Misfit(f"{described(schema)} is expected, not {type(value).__name__}")
        if bounds is not None and not bounds[0] <= value <= bounds[1]:
            raise Misfit(f"the number is too large for {described(schema)}")
        return write(value)

    return encode


def _array(encode: Encode) -> Encode:
    def encode_array(value: Any) -> str:
        _expect(value, list, "an array")
        texts = []
        for index, each in enumerate(value):
            try:
                texts.append(encode(each))
            except Misfit as e:
                raise e.within(f"[{index}]") from None
        return f"[{','.join(texts)}]"

    return encode_array


def _object_map(encode_key: Encode, encode_value: Encode) -> Encode:
    def encode_map(value: Any) -> str:
        _expect(value, dict, "a map")
        texts = []
        for key, each in value.items():
            try:
                texts.append(f"{encode_key(key)}:{encode_value(each)}")
            except Misfit as e:
                raise e.within("{}") from None
        return f"{{{','.join(texts)}}}"

    return encode_map


def _entries(encode_key: Encode, encode_value: Encode) -> Encode:
    def encode_entries(value: Any) -> str:
        _expect(value, dict, "a map")
        texts = []
        for key, each in value.items():
            try:
                texts.append(f'{{"{names.KEY}":{encode_key(key)},"{names.VALUE}":{encode_value(each)}}}')
            except Misfit as e:
                raise e.within("{}") from None
        return f"[{','.join(texts)}]"

    return encode_entries


def _struct(schema: Schema, settings: JsonSettings) -> Encode:
    fields = field_encoders(schema, settings)

    def encode_struct(value: Any) -> str:
        _expect(value, dict, "a struct")
        texts = []
        for name, start, encode in fields:
            try:
                texts.append(start + encode(value.get(name)))
            except Misfit as e:
                raise e.within(f".{name}") from None
        return f"{{{','.join(texts)}}}"

    return encode_struct


def _union(schema: Schema, settings: JsonSettings) -> Encode:
    """Return the function that writes the first field that is set."""
    fields = [(f.name, encoder(f.schema, settings)) for f in schema.fields]

    def encode_union(value: Any) -> str:
        _expect(value, dict, "a struct")
        for name, encode in fields:
            content = value.get(name)
            if content is not None:
                try:
                    return encode(content)
                except Misfit as e:
                    raise e.within(f".{name}") from None
        if schema.optional:
            return _NULL
        raise Misfit("no field of the union is set")

    return encode_union


def _expect(value: Any, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise Misfit(f"{what} is expected, not {type(value).__name__}")
