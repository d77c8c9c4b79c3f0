"""Java's `String.valueOf` for Connect's values: what StringConverter writes and what messages show.

1.0E21   true   1.50   [1, null, a]   {a=1, b=null}   Struct{a=1}   Thu Jan 01 00:00:00 UTC 1970
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from penstock import Float32, Instant, Schema, Type
from penstock_plugins.java_calendar import date_text
from penstock_plugins.java_float import double_text, float_text, plain_ranges

__all__ = ["decimal_text", "text", "texts", "utf8_text"]

_SURROGATE_BYTES: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

_EXACT = {True: "true", False: "false", None: "null"}


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
    types = set(map(type, values))
    if types == {str}:
        return list(values)
    if types == {dict}:
        names = set(map(tuple, values))
        if len(names) == 1 and (template := _template(schema, next(iter(names)))) is not None:
            columns = _columns(schema, values)
            if columns is not None:
                return list(map(template.__mod__, zip(*columns, strict=True)))
    return [text(schema, v) for v in values]


def _columns(schema: Schema | None, rows: Sequence[dict[str, Any]]) -> list[Sequence[Any]] | None:
    """The columns of rows that have the same names, ready for `%s`; None where one needs the long way."""
    fields = schema.fields if schema is not None and schema.type is Type.STRUCT else ()
    columns: list[Sequence[Any]] = []
    for number, column in enumerate(zip(*map(dict.values, rows), strict=True)):
        types = set(map(type, column))
        if types <= {str, int}:
            columns.append(column)
        elif types == {float} and not (fields and fields[number].schema.type is Type.FLOAT32):
            columns.append(column if plain_ranges(column) else list(map(double_text, column)))
        elif types <= ({str, int, bool} if fields else {str, int, bool, type(None)}):
            # A null field of a struct is left out, so it needs the long way.
            columns.append([v if type(v) is str or type(v) is int else _EXACT[v] for v in column])
        else:
            return None
    return columns


def _template(schema: Schema | None, names: tuple[Any, ...]) -> str | None:
    if not names or not all(type(n) is str for n in names):
        return None
    quoted = [n.replace("%", "%%") for n in names]
    if schema is not None and schema.type is Type.STRUCT:
        if names != tuple(f.name for f in schema.fields):
            return None
        return f"Struct{{{','.join(f'{n}=%s' for n in quoted)}}}"
    return "{" + ", ".join(f"{n}=%s" for n in quoted) + "}"
