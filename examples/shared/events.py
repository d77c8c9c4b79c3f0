"""Debezium's change events, as rows for comparison with the journal, and as lines for the screen."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from comparison import Row, compare

__all__ = ["Event", "counted", "event_of", "line", "row"]

Event = Mapping[str, Any]
"""Value of a record, with `op`, `before` and `after`."""


def event_of(value: bytes | str | None) -> Event:
    """Parse the event in the value of a record."""
    event: Event = json.loads(value or b"")
    return event


def row(event: Event) -> Row:
    """Return the id of the order with the number of its change, the kind of change, and the row after the change."""
    after, before = event["after"], event["before"]
    if after is None:
        return (before["id"], before["changes"] + 1), event["op"], None
    return (after["id"], after["changes"]), event["op"], after


def line(event: Event) -> str:
    """Describe an event in one line."""
    before, after = event["before"] or {}, event["after"] or {}
    name = f"order {(after or before)['id']}"
    match event["op"]:
        case "u":
            changed = [f"{k} {before.get(k)} -> {v}" for k, v in after.items() if v != before.get(k)]
            return f"update  {name:12}  {', '.join(changed)}"
        case "d":
            return f"delete  {name:12}  {_fields(before)}"
        case op:
            return f"{'read  ' if op == 'r' else 'insert'}  {name:12}  {_fields(after)}"


def counted(journal: Sequence[Row], topic: Sequence[Row]) -> tuple[str, bool]:
    """Compare the changes of the database with the records of the topic; return the counts, and whether they are equal."""
    found = compare(journal, topic)
    last: dict[int, int] = {}
    disordered = 0
    for (order, change), *_ in topic:
        disordered += change < last.get(order, 0)
        last[order] = change
    counts = {
        "missing": found.missing,
        "duplicated": found.duplicated,
        "altered": found.outdated,
        "unknown": found.unknown,
        "out of order": disordered,
    }
    text = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{len(journal):,} changes, {text}", bool(journal) and not any(counts.values())


def _fields(row: Mapping[str, Any]) -> str:
    return json.dumps({k: v for k, v in row.items() if k != "id"}, ensure_ascii=False)
