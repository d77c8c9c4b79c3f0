"""Text format of PostgreSQL's arrays and hstore values. Pure."""

import json
from collections.abc import Callable, Mapping
from datetime import date, time
from typing import Any

__all__ = ["array_text", "hstore_text"]


def array_text(value: Any, read: Callable[[Any], Any] | None) -> str:
    """Format an array.

    Args:
        value: a list, an item or None.
        read: converts an item for a column of the items' type; None to leave items unchanged.
    """
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "{" + ",".join([array_text(item, read) for item in value]) + "}"
    return _quoted(_item(value if read is None else read(value)))


def _item(value: Any) -> str:
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def hstore_text(value: Any, in_json: Callable[[Any], str]) -> Any:
    """Format a map, or a string with a JSON object, as hstore; return any other value unchanged, for the database to parse.

    Args:
        value: the value of the record.
        in_json: returns the JSON of lists, maps and other single values.
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value, parse_float=str, parse_int=str)
        except (ValueError, RecursionError):
            return value
    if not isinstance(value, Mapping):
        return value
    return ",".join(
        f"{_quoted(str(key))}=>{'NULL' if each is None else _quoted(each if isinstance(each, str) else in_json(each))}"
        for key, each in value.items()
    )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
