"""Debezium's change events, which wrap the rows before and after a change. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock import DataError, Schema

__all__ = ["is_event", "opened"]

_FIELDS: Final = frozenset({"before", "after", "source", "op"})
_WRITES: Final = frozenset({"c", "r", "u"})
_DELETE: Final = "d"
_TRUNCATE: Final = "t"


def is_event(value: Any) -> bool:
    """Return whether a value has the fields of a change event."""
    return isinstance(value, Mapping) and value.keys() >= _FIELDS


def opened(events: Sequence[Any], schema: Schema | None) -> tuple[list[Any], Schema | None]:
    """Return the rows after the changes and their schema.

    Args:
        events: the events, all with the same operation.
        schema: the schema of the events.

    Returns:
        The rows, with None for each deleted row, and their schema; no rows for a truncate event.

    Raises:
        DataError: the events are not changes of rows.
    """
    operation = events[0]["op"]
    if operation == _TRUNCATE:
        return [], None
    if operation == _DELETE:
        return [None] * len(events), None
    if operation not in _WRITES or events[0]["after"] is None:
        raise DataError(
            "cannot read a change event: it must have one of the operations c, r, u, d and t in op, and a row in after"
        )
    after = None if schema is None else next((field.schema for field in schema.fields if field.name == "after"), None)
    return [event["after"] for event in events], after
