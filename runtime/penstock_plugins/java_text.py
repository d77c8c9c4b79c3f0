"""Java's `String.valueOf` for Connect's values: what StringConverter writes and what messages show.

1.0E21   true   1.50   [1, null, a]   {a=1, b=null}   Struct{a=1}   Thu Jan 01 00:00:00 UTC 1970
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from penstock import Fields, Float32, Instant, Same, Schema, Type
from penstock_plugins.java_calendar import date_text
from penstock_plugins.java_float import double_text, float_text, plain_ranges

__all__ = ["decimal_text", "text", "texts", "utf8_text"]

_SURROGATE_BYTES: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

_EXACT: Final = {True: "true", False: "false", None: "null"}
_STR: Final = {str}
_INT: Final = {int}
_FLOAT: Final = {float}
_SHORT_NOT_NULL: Final = {str, int, bool}
_SHORT: Final = {*_SHORT_NOT_NULL, type(None)}


def decimal_text(number: Decimal) -> str:
    """`BigDecimal.toString`; there is no negative zero."""
    return str(number or abs(number))


def utf8_text(data: bytes) -> str:
    """`new String(data, UTF_8)`: malformed bytes become U+FFFD, a surrogate's three bytes one of them."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE_BYTES.sub(b"\xef\xbf\xbd", data).decode("utf-8", "replace")


def text(schema: Schema | None, value: object) -> str:
    """The text of one value; the schema tells structs from maps and floats from doubles.

    Bytes have no content in their Java text (it is an address), so theirs is `[B@` and the length in hex here.
    """
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Instant():
            return date_text(value)
        case int():
            return str(int(value))
        case Float32():
            return float_text(value)
        case float():
            return float_text(value) if schema is not None and schema.type is Type.FLOAT32 else double_text(value)
        case Decimal():
            return decimal_text(value)
        case bytes():
            return f"[B@{len(value):x}"
        case dict():
            return _struct(schema, value) if schema is not None and schema.type is Type.STRUCT else _map(schema, value)
        case list() | tuple():
            items = schema.items if schema is not None else None
            return f"[{', '.join(text(items, v) for v in value)}]"
        case _:
            return str(value)


def _struct(schema: Schema, value: Mapping[str, Any]) -> str:
    shown = (f"{f.name}={text(f.schema, value[f.name])}" for f in schema.fields if value.get(f.name) is not None)
    return f"Struct{{{','.join(shown)}}}"


def _map(schema: Schema | None, value: Mapping[Any, Any]) -> str:
    keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
    return "{" + ", ".join(f"{text(keys, k)}={text(values, v)}" for k, v in value.items()) + "}"


def texts(schema: Schema | None, values: Sequence[Any]) -> list[str]:
    """`text` of many values of one schema, with short ways for texts and for flat dicts of texts and numbers."""
    fields = Fields.of(values)
    if fields is not None:
        found = _rows(schema, fields)
        if found is not None:
            return found
    elif set(map(type, values)) == {str}:
        return list(values)
    return [text(schema, v) for v in values]


def _rows(schema: Schema | None, fields: Fields) -> list[str] | None:
    """The texts of flat rows: one template for all, filled from the columns; None where one needs the long way."""
    schemas: Sequence[Schema | None] = [None] * len(fields.columns)
    if schema is not None and schema.type is Type.STRUCT:
        if tuple(fields.columns) != tuple(f.name for f in schema.fields):
            return None
        schemas = [f.schema for f in schema.fields]
    elif schema is not None:
        schemas = [schema.values] * len(fields.columns)
    shown: list[str] = []
    columns: list[Sequence[Any]] = []
    for (name, column), of in zip(fields.columns.items(), schemas, strict=True):
        if isinstance(column, Same):
            if column.value is None and schema is not None:
                return None  # a null field of a struct is left out
            shown.append(f"{name}={text(of, column.value)}".replace("%", "%%"))
            continue
        ready = _texts(of, column, fields.types(name))
        if ready is None:
            return None
        shown.append(f"{name.replace('%', '%%')}=%s")
        columns.append(ready)
    struct = schema is not None and schema.type is Type.STRUCT
    template = f"Struct{{{','.join(shown)}}}" if struct else f"{{{', '.join(shown)}}}"
    if not columns:
        return [template % ()] * len(fields)
    return list(map(template.__mod__, zip(*columns, strict=True)))


def _texts(schema: Schema | None, column: Sequence[Any], types: frozenset[type]) -> Sequence[Any] | None:
    """A column ready for `%s`; None where one of its values needs the long way. Numbers are written by msgspec, at once."""
    if types == _STR:
        return column
    if types == _INT:
        return msgspec.json.encode(column)[1:-1].decode().split(",")
    if types == _FLOAT and not (schema is not None and schema.type is Type.FLOAT32):
        if plain_ranges(column):
            return msgspec.json.encode(column)[1:-1].decode().split(",")
        return list(map(double_text, column))
    if types <= (_SHORT if schema is None else _SHORT_NOT_NULL):
        return [v if type(v) is str or type(v) is int else _EXACT[v] for v in column]
    return None
