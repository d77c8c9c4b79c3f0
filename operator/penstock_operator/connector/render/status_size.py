"""How large a status may be: every text in it is cut to bytes, and the first tasks keep more than the rest. Pure.

etcd takes objects of 1.5 MiB, and everybody who watches Connectors gets each status whole.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["MOST_BYTES", "cut", "with_short_texts"]

MOST_BYTES: Final = 300 << 10
"""Of a whole status as JSON in UTF-8."""
_TOLD_AT_LEAST: Final = 120
"""Bytes that each task has for its message, and for its trace, however many tasks there are."""
_TOLD_AT_MOST: Final = {"message": 2_000, "trace": 8_000}
_PROBLEMS: Final = 16 << 10
_OF_AN_ACTION: Final = 500
_MESSAGES: Final = 16 << 10
_TOPICS: Final = 24 << 10


def cut(text: str, most: int, end: str = " ...") -> str:
    """The beginning of a text, of so many bytes of UTF-8 at most with its `end`; the text itself where it fits."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most:
        return text
    return encoded[: most - len(end.encode())].decode("utf-8", "ignore") + end


def with_short_texts(status: Mapping[str, Any]) -> dict[str, Any]:
    """The same status, within `MOST_BYTES`. What was cut once is not cut again, so that nothing changes by itself."""
    found = dict(status)
    if found.get("plan", {}).get("problems"):
        found["plan"] = {**found["plan"], "problems": _problems(found["plan"]["problems"])}
    if found.get("restartActions"):
        found["restartActions"] = [_shorter(a, "message", _OF_AN_ACTION) for a in found["restartActions"]]
    if found.get("job"):
        found["job"] = _shorter(found["job"], "message", _TOLD_AT_MOST["message"])
    if found.get("activeTopics"):
        found["activeTopics"] = _within(found["activeTopics"], _TOPICS)
    if found.get("tasks"):
        tasks = _told(found["tasks"], "message", _MESSAGES)
        bare = {**found, "tasks": [{k: v for k, v in t.items() if k != "trace"} for t in tasks]}
        found["tasks"] = _told(
            tasks, "trace", MOST_BYTES - _size(bare) - len(tasks) * (_TOLD_AT_LEAST + len(', "trace": ""'))
        )
    return found


def _told(tasks: Sequence[Mapping[str, Any]], field: str, room: int) -> list[dict[str, Any]]:
    """The tasks with that text: whole as long as there is room, then with the least that tells where to read it."""
    found = []
    for task in tasks:
        short = _shorter(task, field, _TOLD_AT_MOST[field])
        size = _size(short.get(field, ""))
        if size > _TOLD_AT_LEAST:
            if size <= room:
                room -= size
            else:
                hint = f" ... cut; kubectl logs {task.get('pod', '')}"
                least = _TOLD_AT_LEAST
                while _size(short[field]) > _TOLD_AT_LEAST:  # quotes and line ends take two bytes in JSON
                    short = {**short, field: cut(str(task[field]), least, hint)}
                    least -= 10
        found.append(short)
    return found


def _problems(problems: Sequence[str]) -> list[str]:
    found = _within([cut(p, _TOLD_AT_MOST["message"]) for p in problems], _PROBLEMS)
    rest = len(problems) - len(found)
    return [*found, f"... and {rest} more problems"] if rest else found


def _within(entries: Sequence[Any], most: int) -> list[Any]:
    found: list[Any] = []
    for entry in entries:
        most -= _size(entry) + 2
        if most < 0:
            break
        found.append(entry)
    return found


def _shorter(entry: Mapping[str, Any], field: str, most: int) -> dict[str, Any]:
    text, least = str(entry.get(field) or ""), most
    if not text:
        return dict(entry)
    while _size(text) > most + 2:  # quotes and line ends take two bytes in JSON
        least -= max(10, least // 8)
        text = cut(text, least)
    return {**entry, field: text}


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
