"""Tasks of a Connector, as its page shows them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock_web.console.health import Tone, tone_of_state
from penstock_web.console.measurements import figures_of
from penstock_web.console.numbers_text import compact, rate_text
from penstock_web.source import Measurement

__all__ = ["TaskRow", "Version", "task_rows", "versions_of"]

MOST_TASKS: Final = 100
_CONVERTERS: Final = {
    "keyConverter": "key.converter",
    "valueConverter": "value.converter",
    "headerConverter": "header.converter",
}


class TaskRow(NamedTuple):
    """One task. Times are those of the status, empty if unknown."""

    number: int
    state: str
    tone: Tone
    since: str
    reason: str
    message: str
    trace: str
    rate: str
    lag: str
    last_record: str
    restarts: int
    failures: int
    retry_at: str
    pod: str
    executors: str


class Version(NamedTuple):
    """Version of a plugin in some tasks."""

    place: str
    version: str
    tasks: str


def task_rows(status: Mapping[str, Any], history: Sequence[Measurement]) -> list[TaskRow]:
    """Return the tasks, failed ones first, at most `MOST_TASKS`."""
    by_task: dict[int, list[Measurement]] = {}
    for m in history:
        by_task.setdefault(m.task, []).append(m)
    rows = [_row(task, by_task.get(int(task.get("id", -1)), ())) for task in status.get("tasks") or ()]
    rows.sort(key=lambda row: (list(Tone).index(row.tone), row.number))
    return rows[:MOST_TASKS]


def versions_of(status: Mapping[str, Any]) -> list[Version]:
    """Return the version of each plugin (KIP-891), a row for each plugin and version."""
    found: dict[tuple[str, str], list[int]] = {}
    tasks: Sequence[Mapping[str, Any]] = status.get("tasks") or ()
    for task in tasks:
        for place, version in _places(task.get("versions") or {}):
            found.setdefault((place, version), []).append(int(task["id"]))
    places = list(dict.fromkeys(place for place, _ in found))
    return [
        Version(place, version, "all" if len(numbers) == len(tasks) else ", ".join(map(str, sorted(numbers))))
        for (place, version), numbers in sorted(found.items(), key=lambda item: (places.index(item[0][0]), item[0][1]))
    ]


def _row(task: Mapping[str, Any], history: Sequence[Measurement]) -> TaskRow:
    state = str(task.get("state") or "Pending")
    tone = tone_of_state(state)
    if tone is Tone.GOOD and task.get("reason"):
        tone = Tone.WARN
    figures = figures_of(history)
    wanted = task.get("executors") or {}
    is_current = state == "Running"
    return TaskRow(
        number=int(task.get("id", 0)),
        state=state,
        tone=tone,
        since=str(task.get("since") or ""),
        reason=str(task.get("reason") or ""),
        message=str(task.get("message") or ""),
        trace=str(task.get("trace") or ""),
        rate=rate_text(figures.records_per_second) if is_current and figures.records_per_second is not None else "",
        lag="" if figures.lag is None else compact(figures.lag),
        last_record=str(task.get("lastRecordTime") or ""),
        restarts=int(task.get("restarts") or 0),
        failures=int(task.get("failures") or 0),
        retry_at=str(task.get("retryAt") or ""),
        pod=str(task.get("pod") or ""),
        executors=f"{wanted.get('ready', 0)}/{wanted['wanted']}" if wanted.get("wanted") else "",
    )


def _places(versions: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for place, version in versions.items():
        if isinstance(version, Mapping):
            yield from ((f"{place}.{alias}", str(v)) for alias, v in version.items())
        elif version:
            yield _CONVERTERS.get(place, place), str(version)
