"""Limit the size of a status: each string is truncated to a number of bytes, the first tasks' strings the least. Pure.

etcd accepts objects of up to 1.5 MiB, and a watch of Connectors transfers each status as a whole.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["CONDITION_BYTES", "MOST_BYTES", "cut", "with_short_texts"]

MOST_BYTES: Final = 300 << 10
"""Maximum bytes of a status, as JSON in UTF-8."""
CONDITION_BYTES: Final = 8_000
"""Maximum bytes of a condition's message."""
_LEAST_BYTES: Final = 120
"""Bytes that each task has for its message, and the same for its trace, regardless of the number of tasks."""
_MOST_OF_TASK: Final = {"message": 2_000, "trace": 8_000}
_PROBLEMS: Final = 16 << 10
_ACTION_MESSAGE: Final = 500
_OFFSETS_MESSAGE: Final = 1_000
"""Maximum bytes of the message of an offsets action; more than for a restart, since it may list every problem of a
configuration.
"""
_MESSAGES: Final = 16 << 10
_EXECUTORS_MESSAGES: Final = 8 << 10
"""Maximum bytes of all messages about executors; tasks beyond it have only the reason."""
_TOPICS: Final = 20 << 10


def cut(text: str, most: int, end: str = " ...") -> str:
    """Return the string; if it has more than `most` bytes in UTF-8, its beginning and `end`, together at most this many."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most:
        return text
    return encoded[: most - len(end.encode())].decode("utf-8", "ignore") + end


def with_short_texts(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status within `MOST_BYTES`. A truncated string is not truncated again, so that a status is stable."""
    short = dict(status)
    if short.get("operatorState"):
        short["operatorState"] = _short_state(short["operatorState"])
    if short.get("restartActions"):
        short["restartActions"] = [_shorter(a, "message", _ACTION_MESSAGE) for a in short["restartActions"]]
    if short.get("offsetsActions"):
        short["offsetsActions"] = [_shorter(a, "message", _OFFSETS_MESSAGE) for a in short["offsetsActions"]]
    if short.get("activeTopics"):
        short["activeTopics"] = _within(short["activeTopics"], _TOPICS)
    if short.get("tasks"):
        tasks = _with_short_executors(_shortened(short["tasks"], "message", _MESSAGES))
        bare = {**short, "tasks": [{k: v for k, v in t.items() if k != "trace"} for t in tasks]}
        short["tasks"] = _shortened(
            tasks, "trace", MOST_BYTES - _size(bare) - len(tasks) * (_LEAST_BYTES + len(', "trace": ""'))
        )
    return short


def _short_state(state: Mapping[str, Any]) -> dict[str, Any]:
    short = dict(state)
    if short.get("plan", {}).get("problems"):
        short["plan"] = {**short["plan"], "problems": _problems(short["plan"]["problems"])}
    if short.get("job"):
        short["job"] = _shorter(short["job"], "message", _MOST_OF_TASK["message"])
    return short


def _shortened(tasks: Sequence[Mapping[str, Any]], field: str, room: int) -> list[dict[str, Any]]:
    """Return the tasks with this field truncated as soon as there is no room, with a hint where to read the rest."""
    shortened = []
    for task in tasks:
        short = _shorter(task, field, _MOST_OF_TASK[field])
        size = _size(short.get(field, ""))
        if size > _LEAST_BYTES:
            if size <= room:
                room -= size
            else:
                hint = f" ... cut; kubectl logs {task.get('pod', '')}"
                least = _LEAST_BYTES
                while _size(short[field]) > _LEAST_BYTES:  # quotes and line ends take two bytes in JSON
                    short = {**short, field: cut(str(task[field]), least, hint)}
                    least -= 10
        shortened.append(short)
    return shortened


def _with_short_executors(tasks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    left, shortened = _EXECUTORS_MESSAGES, []
    for task in tasks:
        executors = task.get("executors") or {}
        left -= _size(executors.get("message", ""))
        if left < 0 and executors:
            executors = {k: v for k, v in executors.items() if k != "message"}
        shortened.append({**task, **({"executors": executors} if executors else {})})
    return shortened


def _problems(problems: Sequence[str]) -> list[str]:
    kept = _within([cut(p, _MOST_OF_TASK["message"]) for p in problems], _PROBLEMS)
    rest = len(problems) - len(kept)
    return [*kept, f"... and {rest} more problems"] if rest else kept


def _within(entries: Sequence[Any], most: int) -> list[Any]:
    kept: list[Any] = []
    for entry in entries:
        most -= _size(entry) + 2
        if most < 0:
            break
        kept.append(entry)
    return kept


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
