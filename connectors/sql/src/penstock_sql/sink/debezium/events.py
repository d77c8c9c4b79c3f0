"""Debezium's change events: an envelope around the rows before and after a change. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock import DataError, Schema

__all__ = ["is_event", "opened"]

_FIELDS: Final = frozenset({"before", "after", "source", "op"})
_WRITES: Final = frozenset({"c", "r", "u"})
_DELETE: Final = "d"
_TRUNCATE: Final = "t"


def is_event(value: Any) -> bool:
    """Whether a value has what every change event has."""
    return isinstance(value, Mapping) and value.keys() >= _FIELDS


def opened(events: Sequence[Any], schema: Schema | None) -> tuple[list[Any], Schema | None]:
    """The rows after the changes, None for each that was deleted, and their schema.

    Args:
        events: all of one operation.
        schema: of the events.

    Returns: no rows at all for the event that a table was emptied.

    Raises:
        DataError: they are no changes of rows.
    """
    operation = events[0]["op"]
    if operation == _TRUNCATE:
        return [], None
    if operation == _DELETE:
        return [None] * len(events), None
    if operation not in _WRITES or events[0]["after"] is None:
        raise DataError("a change event whose op is none of c, r, u, d and t, or that has no row in after, is no row")
    after = None if schema is None else next((field.schema for field in schema.fields if field.name == "after"), None)
    return [event["after"] for event in events], after
