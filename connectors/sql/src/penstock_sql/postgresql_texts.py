"""Arrays as PostgreSQL writes them. Pure."""

from collections.abc import Callable
from datetime import date, time
from typing import Any

__all__ = ["array_text"]


def array_text(value: Any, read: Callable[[Any], Any] | None) -> str:
    """The text of an array.

    Args:
        value: a list, an item or None.
        read: what an item becomes in a column of the items' type; None if it stays as it is.
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


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
