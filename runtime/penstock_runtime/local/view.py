"""How `penstock run` shows progress: a table in place on a terminal, one structured line per change otherwise."""

import json
import sys
import time
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Final, Protocol

from penstock_logging import without_numbers
from penstock_runtime.local.supervisor import Task

__all__ = ["Lines", "Table", "View", "past", "present", "quantity"]

if TYPE_CHECKING:
    from rich.console import Console, Group

_EVERY: Final = 5.0
_REMEMBERED: Final = 300.0
"""Seconds for which an end that was overcome is shown."""
_BAD: Final = ("FAILED", "LOST")
_AWAY: Final = ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT")
"""librdkafka's codes, which stand in messages, for brokers that cannot be reached."""


class View(Protocol):
    """Shows tasks."""

    def __enter__(self) -> "View": ...

    def __exit__(self, *args: object) -> None: ...

    def show(self, tasks: Sequence[Task], *, last: bool = False) -> None:
        """The tasks as they are now. Called often; draws as often as people can read, and always the last time."""


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
    """JSON lines: at every change of state or trouble, and a summary every five seconds while records move."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        self._told: dict[str, tuple[object, ...]] = {}
        self._moved: dict[str, int] = {}
        self._next = 0.0
        self._rates = _Rates()

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *args: object) -> None:
        return

    def show(self, tasks: Sequence[Task], *, last: bool = False) -> None:
        """Write what is new."""
        now = time.monotonic()
        due = now >= self._next
        if due:
            self._next = now + _EVERY
        for task in tasks:
            # A client whose broker is away alternates between several ways to say so.
            key = (_state(task)[0], "" if away(task) else without_numbers(present(task)), task.restarts)
            rate, size = self._rates.of(task, window=_EVERY)
            if key != self._told.get(task.name) or (due and task.written != self._moved.get(task.name, 0)):
                self._told[task.name] = key
                self._moved[task.name] = task.written
                self._write(task, rate, size)

    def _write(self, task: Task, rate: float, size: float) -> None:
        error = present(task)
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "level": "error" if task.state in _BAD else "warning" if error else "info",
            "event": "task", "message": _sentence(task, rate),
            "connector": task.spec.connector, "task": task.spec.task, "state": task.state, "records": task.written,
            "recordsPerSecond": round(rate), "bytesPerSecond": round(size), "lag": task.lag,
            "topics": task.topics, "restarts": task.restarts, "failures": task.failures,
            "metricsPort": task.metrics_port, "error": error or None,
        }  # fmt: skip
        self._stream.write(json.dumps({k: v for k, v in line.items() if v not in (None, [])}) + "\n")
        self._stream.flush()


class Table:
    """A table that is drawn over itself, for terminals; `Lines` go to the log meanwhile, with every word.

    Args:
        title: stands above.
        log: takes the lines.
        console: draws it; None is standard error.
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
        """Draw."""
        self._lines.show(tasks)
        now = time.monotonic()
        if now < self._next and not last:
            return
        self._next = now + 0.25
        self._live.update(self._drawn(tasks), refresh=last)

    def _drawn(self, tasks: Sequence[Task]) -> "Group":
        """The table, and below it, as wide as the terminal, what is or was wrong."""
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
                task.name, Text(state, style=colour), quantity(task.written), quantity(rate), f"{size / 1e6:.1f}",
                "" if task.lag is None else quantity(task.lag), ", ".join(task.topics[:3]),
            )  # fmt: skip
            if now := present(task):
                notes.append(Text(f"{task.name}: {now}", style="red"))
            elif before := past(task):
                notes.append(Text(f"{task.name}: {before}", style="dim"))
        return Group(grid, *notes)


def present(task: Task) -> str:
    """What is wrong with a task now, in full: what hinders it, or why it does not run; empty when nothing is."""
    if task.child is not None:
        return task.trouble or ""
    if task.state not in _BAD and task.state != "SUPERSEDED":
        return ""
    return "; ".join(part for part in (task.error, task.follows) if part)


def past(task: Task) -> str:
    """How its last life ended, for some minutes after it was overcome."""
    ago = time.monotonic() - task.erred
    if task.error is None or ago > _REMEMBERED:
        return ""
    return f"{ago:.0f} s ago, overcome: {task.error}"


def away(task: Task) -> bool:
    """Whether Kafka is out of a task's reach now."""
    return task.child is not None and any(code in (task.trouble or "") for code in _AWAY)


def _state(task: Task) -> tuple[str, str]:
    """Connect's word, and beside it that something hinders the task, which that word does not tell."""
    if task.trouble is None or task.child is None:
        colours = {"RUNNING": "green", "FAILED": "red", "LOST": "red", "PAUSED": "yellow"}
        return task.state, colours.get(task.state, "cyan")
    if away(task):
        return f"{task.state}, Kafka away", "red"
    return f"{task.state}, {'waiting' if task.trouble.startswith('Waiting') else 'held up'}", "yellow"


def _sentence(task: Task, rate: float) -> str:
    if error := present(task):
        return f"{task.name} is {task.state}: {error}"
    if not task.written:
        return f"{task.name} is {task.state}"
    lag = "" if task.lag is None else f", {quantity(task.lag)} behind"
    pace = f", {quantity(rate)} a second" if task.state == "RUNNING" else ""
    return f"{task.name} is {task.state}: {quantity(task.written)} records{pace}{lag}"


def quantity(number: float) -> str:
    """A number as people read it: 12,345."""
    return f"{number:,.0f}"
