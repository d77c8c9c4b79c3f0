"""Writer of JSON as Kafka Connect's JsonConverter writes it, byte for byte, one value at a time."""

import base64
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from penstock import DataError, Float32, Instant, Schema, Type
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock_java_compat.floats import double_text, float_text
from penstock_plugins.connect.logical import encode_instant
from penstock_plugins.connect.text import decimal_text
from penstock_plugins.connect.values import BOUNDS, is_of_type, java_class, type_of

__all__ = ["JsonWriter", "quote", "unscaled_bytes"]

_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    short = _SHORT.get(char)
    if short is not None:
        return short
    code = ord(char)
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"
    return f"\\u{code:04X}"


def quote(text: str) -> str:
    """Return a string as Jackson writes it: non-BMP characters as two upper-case escapes, other non-ASCII ones unescaped."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def unscaled_bytes(number: Decimal) -> bytes:
    """Return `BigInteger.toByteArray` of the unscaled value: the shortest two's complement, big-endian."""
    sign, digits, _ = number.as_tuple()
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length()
    return unscaled.to_bytes(bits // 8 + 1, "big", signed=True)


class JsonWriter:
    """Writer of values, with the output of `JsonConverter.convertToJson` and Jackson.

    Args:
        replace_null: a null under a schema with a default is written as the default.
        numeric: write decimals as numbers, not in base64.
    """

    def __init__(self, *, replace_null: bool, numeric: bool) -> None:
        self._replace_null = replace_null
        self._numeric = numeric

    def write(self, schema: Schema | None, value: Any) -> str:
        """Return the JSON of a value.

        Raises:
            DataError: the value does not fit its schema, or its class cannot be written as JSON.
        """
        if value is None:
            if schema is None:
                return "null"
            if schema.default is not None and self._replace_null:
                return self.default(schema)
            if schema.optional:
                return "null"
            raise DataError("Conversion error: null value for field that is required and has no default value")
        if schema is None:
            kind = type_of(value)
            if kind is None:
                raise DataError(f"Java class class {java_class(None, value)} does not have corresponding schema type.")
            return self._schemaless(kind, value)
        if schema.name is not None and (logical := _LOGICAL.get(schema.name)) is not None:
            return logical(schema, value, self._numeric)
        kind = schema.type
        if not is_of_type(kind, value):
            if kind is Type.BYTES:
                raise DataError(f"Invalid type for bytes type: class {java_class(None, value)}")
            raise DataError(f"Invalid type for {kind.upper()}: class {java_class(None, value)}")
        if kind is Type.STRUCT:
            return self._struct(schema, value)
        if kind is Type.MAP:
            return self._map(schema, value)
        if kind is Type.ARRAY:
            return f"[{','.join([self.write(schema.items, v) for v in value])}]"
        return _scalar(kind, value)

    def default(self, schema: Schema) -> str:
        """Return the JSON of a schema's default.

        Raises:
            DataError: the default does not fit the schema. The default of a struct never fits, because in Kafka Connect a
                default struct has the unfinished builder of the schema as its schema.
        """
        if schema.type is Type.STRUCT and schema.name not in _LOGICAL:
            raise DataError("Mismatching schema.")
        return self.write(schema, schema.default)

    def _schemaless(self, kind: Type, value: Any) -> str:
        if kind is Type.ARRAY:
            return f"[{','.join([self.write(None, v) for v in value])}]"
        if kind is Type.MAP:
            if all(isinstance(k, str) for k in value):
                return "{" + ",".join([f"{quote(k)}:{self.write(None, v)}" for k, v in value.items()]) + "}"
            return "[" + ",".join([f"[{self.write(None, k)},{self.write(None, v)}]" for k, v in value.items()]) + "]"
        if type(value) is int and not is_of_type(Type.INT64, value):
            raise DataError("Java class class java.math.BigInteger does not have corresponding schema type.")
        return _scalar(kind, value)

    def _struct(self, schema: Schema, value: Mapping[str, Any]) -> str:
        get = value.get
        pieces = [f"{quote(f.name)}:{self.write(f.schema, get(f.name))}" for f in schema.fields]
        if not value.keys() <= {f.name for f in schema.fields}:
            unknown = next(n for n in value if schema.field(n) is None)
            raise DataError(f"{unknown} is not a valid field name")
        return "{" + ",".join(pieces) + "}"

    def _map(self, schema: Schema, value: Mapping[Any, Any]) -> str:
        if schema.keys is not None and schema.keys.type is not Type.STRING:
            pairs = [f"[{self.write(schema.keys, k)},{self.write(schema.values, v)}]" for k, v in value.items()]
            return f"[{','.join(pairs)}]"
        entries: dict[str, str] = {}  # two keys may have the same text (null and "null")
        for key, item in value.items():
            name = self.write(schema.keys, key)
            entries[name if name.startswith('"') else f'"{name}"'] = self.write(schema.values, item)
        return "{" + ",".join([f"{k}:{v}" for k, v in entries.items()]) + "}"


def _scalar(kind: Type, value: Any) -> str:
    if kind is Type.STRING:
        return quote(value)
    if kind in BOUNDS:
        return str(int(value))
    if kind is Type.BOOLEAN:
        return "true" if value else "false"
    if kind is Type.BYTES:
        return f'"{base64.b64encode(value).decode()}"'
    number = float_text(value) if kind is Type.FLOAT32 or type(value) is Float32 else double_text(value)
    return f'"{number}"' if number.endswith(("N", "y")) else number


def _decimal(schema: Schema, value: Any, numeric: bool) -> str:
    if not isinstance(value, Decimal):
        raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {java_class(schema, value)}")
    if numeric:
        return decimal_text(value)
    if schema.parameters is None:
        raise TypeError("a Decimal schema without parameters has no scale")  # a NullPointerException in Java
    scale = schema.parameters.get("scale")
    if scale is None:
        raise DataError("Invalid Decimal schema: scale parameter not found.")
    if not re.fullmatch(r"[+-]?[0-9]+", scale):
        raise DataError("Invalid scale parameter found in Decimal schema: ")
    value_scale = -int(value.as_tuple().exponent)
    if value_scale != int(scale):
        raise DataError(
            "Decimal value has mismatching scale for given Decimal schema. "
            f"Schema has scale {int(scale)}, value has scale {value_scale}."
        )
    return f'"{base64.b64encode(unscaled_bytes(value)).decode()}"'


def _instant(schema: Schema, value: Any, _: bool) -> str:
    if not isinstance(value, Instant):
        kind = (schema.name or "").rpartition(".")[2]
        raise DataError(f"Invalid type for {kind}, expected Date but was class {java_class(schema, value)}")
    return str(encode_instant(schema.name, value))


_LOGICAL: Final[Mapping[str, Callable[[Schema, Any, bool], str]]] = {
    DECIMAL_NAME: _decimal,
    DATE_NAME: _instant,
    TIME_NAME: _instant,
    TIMESTAMP_NAME: _instant,
}
