"""Java's `String.valueOf` for Connect's values, as StringConverter writes them.

1.0E21   true   1.50   [1, null, a]   {a=1, b=null}   Struct{a=1}   Thu Jan 01 00:00:00 UTC 1970
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import repeat
from typing import Any, Final

import msgspec

from penstock import Fields, Float32, Instant, Same, Schema, Type
from penstock_java_compat.calendar import date_text
from penstock_java_compat.floats import double_text, float_text, plain_ranges

__all__ = ["decimal_text", "java_text", "java_texts", "utf8_text"]

_SURROGATE_BYTES: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

_EXACT: Final = {True: "true", False: "false", None: "null"}
_STR: Final = {str}
_INT: Final = {int}
_FLOAT: Final = {float}
_DICT: Final = {dict}
_NULL: Final = type(None)
_SHORT: Final = {str, int, bool, _NULL}


def decimal_text(number: Decimal) -> str:
    """Return `BigDecimal.toString`. There is no negative zero."""
    return str(number or abs(number))


def utf8_text(data: bytes) -> str:
    """Return `new String(data, UTF_8)`: malformed bytes become U+FFFD; the three bytes of a surrogate become one U+FFFD."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE_BYTES.sub(b"\xef\xbf\xbd", data).decode("utf-8", "replace")


def java_text(schema: Schema | None, value: object) -> str:
    """Return the text of a value. The schema distinguishes structs from maps and float32 from float64.

    In Java, the text of bytes is an address without their content; here it is `[B@` and the length in hex.
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
            return (
                _struct_text(schema, value)
                if schema is not None and schema.type is Type.STRUCT
                else _map_text(schema, value)
            )
        case list() | tuple():
            items = schema.items if schema is not None else None
            return f"[{', '.join(java_text(items, v) for v in value)}]"
        case _:
            return str(value)


def _struct_text(schema: Schema, value: Mapping[str, Any]) -> str:
    members = (f"{f.name}={java_text(f.schema, value[f.name])}" for f in schema.fields if value.get(f.name) is not None)
    return f"Struct{{{','.join(members)}}}"


def _map_text(schema: Schema | None, value: Mapping[Any, Any]) -> str:
    keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
    return "{" + ", ".join(f"{java_text(keys, k)}={java_text(values, v)}" for k, v in value.items()) + "}"


def java_texts(schema: Schema | None, values: Sequence[Any]) -> list[str]:
    """Return `java_text` of many values of one schema; fast for strings, numbers and dicts with the same keys."""
    fields = Fields.of(values)
    if fields is None:
        return list(_column_texts(schema, values, frozenset(map(type, values))))
    return _row_texts(schema, fields)


def _row_texts(schema: Schema | None, fields: Fields) -> list[str]:
    """Return the texts of rows: join the texts of the columns with the text between them."""
    struct = schema is not None and schema.type is Type.STRUCT
    schemas: Sequence[Schema | None] = [None] * len(fields.columns)
    if schema is not None and struct:
        if tuple(fields.columns) != tuple(f.name for f in schema.fields):
            return [java_text(schema, row) for row in fields.rows()]
        schemas = [f.schema for f in schema.fields]
    elif schema is not None:
        schemas = [schema.values] * len(fields.columns)
    separator = "," if struct else ", "
    start, end = ("Struct{", "}") if struct else ("{", "}")
    pieces: list[Sequence[str]] = []
    constant = ""  # the text before the next column
    for (name, column), field_schema in zip(fields.columns.items(), schemas, strict=True):
        head = f"{separator}{name}="
        if isinstance(column, Same):
            if column.value is not None or not struct:
                constant += head + java_text(field_schema, column.value)
            continue
        types = fields.types(name)
        if struct and _NULL in types:  # the text of a struct leaves null fields out
            present = iter(_column_texts(field_schema, [v for v in column if v is not None], types - {_NULL}))
            texts: Sequence[str] = ["" if v is None else f"{head}{next(present)}" for v in column]
        else:
            texts = _column_texts(field_schema, column, types)
            constant += head
        pieces += [constant, texts]
        constant = ""
    if not pieces:
        return [start + constant.removeprefix(separator) + end] * len(fields)
    is_cut = not pieces[0]  # a row may begin with any field: cut its separator
    if not is_cut:
        pieces = [start + str(pieces[0]).removeprefix(separator), *pieces[1:], constant + end]
    elif constant:
        pieces.append(constant)
    rows = map("".join, zip(*(repeat(p, len(fields)) if isinstance(p, str) else p for p in pieces), strict=True))
    return [start + row[len(separator) :] + end for row in rows] if is_cut else list(rows)


def _column_texts(schema: Schema | None, column: Sequence[Any], types: frozenset[type]) -> Sequence[str]:
    """Return the text of each value of the column. msgspec writes all numbers together."""
    if types == _STR:
        return column
    if types == _INT:
        return msgspec.json.encode(column)[1:-1].decode().split(",")
    if types == _FLOAT and not (schema is not None and schema.type is Type.FLOAT32):
        if plain_ranges(column):
            return msgspec.json.encode(column)[1:-1].decode().split(",")
        return list(map(double_text, column))
    if types <= _SHORT:
        return [v if type(v) is str else str(v) if type(v) is int else _EXACT[v] for v in column]
    inner = Fields.of(column) if types == _DICT else None
    return [java_text(schema, v) for v in column] if inner is None else _row_texts(schema, inner)
