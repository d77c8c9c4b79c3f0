"""Writer of values as literals: `Values.convertToString`.

SimpleHeaderConverter writes headers with it, and Cast converts dates and times to strings.
"""

import base64
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from penstock import DataError, Instant, Schema, Type
from penstock_java_compat.calendar import DAY, civil
from penstock_plugins.connect.text import java_text as java_text
from penstock_plugins.connect.values import java_class

__all__ = ["write_literal"]


def write_literal(schema: Schema | None, value: Any, *, inside: bool = False) -> str:
    """Return the literal of a value. Strings `inside` lists and maps are quoted and escaped, others are not.

    Raises:
        DataError: Connect cannot write values of this class.
    """
    match value:
        case None:
            return "null"
        case str():
            if not inside:
                return value
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case Instant():
            return _write_instant(value)
        case bool() | int() | float() | Decimal():
            return java_text(schema, value)
        case bytes():
            text = base64.b64encode(value).decode()
            return f'"{text}"' if inside else text
        case list() | tuple():
            items = schema.items if schema is not None else None
            return f"[{','.join(write_literal(items, v, inside=True) for v in value)}]"
        case dict():
            return "{" + ",".join(f"{k}:{v}" for k, v in _entries(schema, value)) + "}"
        case _:
            pass
    raise DataError(f"Failed to serialize unexpected value type {java_class(schema, value)}: {value}")


def _entries(schema: Schema | None, value: dict[Any, Any]) -> Iterable[tuple[str, str]]:
    if schema is not None and schema.type is Type.STRUCT:
        for field in schema.fields:
            item = value.get(field.name)
            item = field.schema.default if item is None else item
            yield write_literal(None, field.name, inside=True), write_literal(field.schema, item, inside=True)
        return
    keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
    for key, item in value.items():
        yield write_literal(keys, key, inside=True), write_literal(values, item, inside=True)


def _write_instant(millis: int) -> str:
    """Return a time for instants before 1970-01-02, a date for whole days, otherwise both. The schema is not considered."""
    t = civil(millis)
    clock = f"{t.hour:02}:{t.minute:02}:{t.second:02}.{t.milli:03}Z"
    day = f"{t.year_of_era:04}-{t.month:02}-{t.day:02}"
    if millis < DAY:
        return clock
    return day if millis % DAY == 0 else f"{day}T{clock}"
