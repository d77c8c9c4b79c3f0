"""Progress of `penstock run`: a table on a terminal, otherwise JSON lines."""

import json
import sys
import time
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Final, Protocol

from penstock_cli.supervisor import Task
from penstock_logging import without_numbers
from penstock_model.contracts.texts import joined

__all__ = ["Lines", "Table", "View", "current_problem", "grouped", "past_problem"]

if TYPE_CHECKING:
    from rich.console import Console, Group

_INTERVAL: Final = 5.0
_PAST_SECONDS: Final = 300.0
"""Seconds for which the error of an earlier incarnation is shown."""
_FAILED_STATES: Final = ("FAILED", "LOST")
_UNREACHABLE: Final = ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT")
"""Codes of librdkafka in messages about unreachable brokers."""


class View(Protocol):
    """View of the tasks."""

    def __enter__(self) -> "View": ...

    def __exit__(self, *args: object) -> None: ...

    def show(self, tasks: Sequence[Task], *, last: bool = False) -> None:
        """Show the current state of the tasks. May be called often: not every call draws, but the last one does."""


class _Rates:
    """Records and bytes per second over the last few seconds, from totals."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[float, int, int]]] = {}

    def of(self, task: Task, window: float = 3.0) -> tuple[float, float]:
        now = time.monotonic()
        points = self._seen.setdefault(task.name, [])
        points.append((now, task.written, task.bytes))
        while len(points) > 2 and points[0][0] < now - window:
            points.pop(0)
        (t0, r0, b0), (t1, r1, b1) = points[0], points[-1]
        return ((r1 - r0) / (t1 - t0), (b1 - b0) / (t1 - t0)) if t1 > t0 else (0.0, 0.0)


class Lines:
    """Writer of JSON lines: at every change of state or trouble, and every five seconds while records move."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown: dict[str, tuple[object, ...]] = {}
        self._records: dict[str, int] = {}
        self._next = 0.0
        self._rates = _Rates()

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *args: object) -> None:
        return

    def show(self, tasks: Sequence[Task], *, last: bool = False) -> None:
        """Write a line for each task that has changed."""
        now = time.monotonic()
        due = now >= self._next
        if due:
            self._next = now + _INTERVAL
        for task in tasks:
            # A client whose broker is unreachable alternates between several messages.
            key = (
                _state(task)[0],
                "" if is_kafka_unreachable(task) else without_numbers(current_problem(task)),
                task.restarts,
            )
            rate, size = self._rates.of(task, window=_INTERVAL)
            if key != self._shown.get(task.name) or (due and task.written != self._records.get(task.name, 0)):
                self._shown[task.name] = key
                self._records[task.name] = task.written
                self._write(task, rate, size)

    def _write(self, task: Task, rate: float, size: float) -> None:
        error = current_problem(task)
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "level": "error" if task.state in _FAILED_STATES else "warning" if error else "info",
            "event": "task",
            "message": _sentence(task, rate),
            "connector": task.spec.connector,
            "task": task.spec.task,
            "state": task.state,
            "records": task.written,
            "recordsPerSecond": round(rate),
            "bytesPerSecond": round(size),
            "lag": task.lag,
            "sparkWorkers": task.spark_workers,
            "topics": task.topics,
            "restarts": task.restarts,
            "failures": task.failures,
            "metricsPort": task.metrics_port,
            "error": error or None,
        }
        self._stream.write(json.dumps({k: v for k, v in line.items() if v not in (None, [])}) + "\n")
        self._stream.flush()


class Table:
    """Table that is redrawn in place, for terminals. `Lines` also writes to the log.

    Args:
        title: title of the table.
        log: stream for the lines.
        console: console that draws the table; None: on standard error.
    """

    def __init__(self, title: str, log: IO[str], console: "Console | None" = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = console or Console(stderr=True)
        self._title = title
        self._lines = Lines(log)
        self._rates = _Rates()
        self._live = Live(console=self._console, refresh_per_second=4, transient=False)
        self._next = 0.0

    def __enter__(self) -> "Table":
        self._live.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._live.stop()

    def show(self, tasks: Sequence[Task], *, last: bool = False) -> None:
        """Redraw the table, at most four times a second."""
        self._lines.show(tasks)
        now = time.monotonic()
        if now < self._next and not last:
            return
        self._next = now + 0.25
        self._live.update(self._render(tasks), refresh=last)

    def _render(self, tasks: Sequence[Task]) -> "Group":
        """Return the table, followed by the problems of tasks, as wide as the terminal."""
        from rich.console import Group
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(title=self._title, title_justify="left", expand=False)
        for heading in ("task", "state", "records", "records/s", "MB/s", "lag", "topics"):
            right = heading in ("records", "records/s", "MB/s", "lag")
            grid.add_column(heading, justify="right" if right else "left", no_wrap=heading != "topics")
        notes = []
        for task in tasks:
            rate, size = self._rates.of(task)
            state, colour = _state(task)
            grid.add_row(
                task.name,
                Text(state, style=colour),
                grouped(task.written),
                grouped(rate),
                f"{size / 1e6:.1f}",
                "" if task.lag is None else grouped(task.lag),
                ", ".join(task.topics[:3]),
            )
            if problem := current_problem(task):
                notes.append(Text(f"{task.name}: {problem}", style="red"))
            elif problem := past_problem(task):
                notes.append(Text(f"{task.name}: {problem}", style="dim"))
        return Group(grid, *notes)


def current_problem(task: Task) -> str:
    """Return the current problem of a task: its trouble, or why it does not run; empty if there is none."""
    if task.child is not None:
        return task.trouble or ""
    if task.state not in _FAILED_STATES and task.state != "SUPERSEDED":
        return ""
    return joined(*(part for part in (task.error, task.follows) if part))


def past_problem(task: Task) -> str:
    """Return the error of the last failed incarnation, for five minutes after it; empty if there is none."""
    ago = time.monotonic() - task.erred
    if task.error is None or ago > _PAST_SECONDS:
        return ""
    return f"{ago:.0f} s ago, resolved: {task.error}"


def is_kafka_unreachable(task: Task) -> bool:
    """Return whether a task currently cannot reach Kafka."""
    return task.child is not None and any(code in (task.trouble or "") for code in _UNREACHABLE)


def _state(task: Task) -> tuple[str, str]:
    """Return Kafka Connect's state, with a note about a problem or the Spark session of the task, and a color."""
    if task.trouble is None or task.child is None:
        colours = {"RUNNING": "green", "FAILED": "red", "LOST": "red", "PAUSED": "yellow"}
        return f"{task.state}{_spark(task)}", colours.get(task.state, "cyan")
    if is_kafka_unreachable(task):
        return f"{task.state}, Kafka unreachable", "red"
    return f"{task.state}, {'waiting' if task.trouble.startswith('Waiting') else 'held up'}", "yellow"


def _spark(task: Task) -> str:
    """Return a note about the Spark session of a task, with its number of workers; empty if there is none."""
    if task.spark_workers is None:
        return ""
    return f", Spark: {task.spark_workers} worker{'s' * (task.spark_workers != 1)}"


def _sentence(task: Task, rate: float) -> str:
    if error := current_problem(task):
        return f"{task.name} is {task.state}: {error}"
    if not task.written:
        return f"{task.name} is {task.state}"
    lag = "" if task.lag is None else f", {grouped(task.lag)} behind"
    pace = f", {grouped(rate)} a second" if task.state == "RUNNING" else ""
    return f"{task.name} is {task.state}: {grouped(task.written)} records{pace}{lag}{_spark(task)}"


def grouped(number: float) -> str:
    """Return a number with thousands separators: 12,345."""
    return f"{number:,.0f}"
