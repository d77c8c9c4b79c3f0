"""How `penstock run` shows progress: a table in place on a terminal, one structured line per change otherwise."""

import json
import sys
import time
from collections.abc import Sequence
from typing import IO, Final, Protocol

from penstock_runtime.local.supervisor import Task

__all__ = ["Lines", "Table", "View", "quantity"]

_EVERY: Final = 5.0


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
    """JSON lines: at every change of state or error, and a summary every five seconds while records move."""

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
            key = (task.state, task.trouble, task.error, task.restarts, task.child is None)
            rate, size = self._rates.of(task, window=_EVERY)
            if key != self._told.get(task.name) or (due and task.written != self._moved.get(task.name, 0)):
                self._told[task.name] = key
                self._moved[task.name] = task.written
                self._write(task, rate, size)

    def _write(self, task: Task, rate: float, size: float) -> None:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": "task",
            "connector": task.spec.connector, "task": task.spec.task, "state": task.state, "records": task.written,
            "recordsPerSecond": round(rate), "bytesPerSecond": round(size), "lag": task.lag,
            "topics": task.topics, "restarts": task.restarts, "failures": task.failures,
            "metricsPort": task.metrics_port, "error": task.trouble or (task.error if task.child is None else None),
        }  # fmt: skip
        self._stream.write(json.dumps({k: v for k, v in line.items() if v not in (None, [])}) + "\n")
        self._stream.flush()


class Table:
    """A table that is drawn over itself, for terminals."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._title = title
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
        from rich.table import Table as Grid
        from rich.text import Text

        now = time.monotonic()
        if now < self._next and not last:
            return
        self._next = now + 0.25
        grid = Grid(title=self._title, title_justify="left", caption_justify="left", expand=False)
        for heading in ("task", "state", "records", "records/s", "MB/s", "lag", "topics", "last error"):
            right = heading in ("records", "records/s", "MB/s", "lag")
            grid.add_column(heading, justify="right" if right else "left", no_wrap=heading != "last error")
        for task in tasks:
            rate, size = self._rates.of(task)
            colour = {"RUNNING": "green", "FAILED": "red", "LOST": "red", "PAUSED": "yellow"}.get(task.state, "cyan")
            error = task.trouble or task.error or ""
            grid.add_row(
                task.name, Text(task.state, style=colour), quantity(task.written), quantity(rate), f"{size / 1e6:.1f}",
                "" if task.lag is None else quantity(task.lag), ", ".join(task.topics[:3]),
                Text(error.splitlines()[0][:80] if error else "", style="red" if task.trouble else "dim"),
            )  # fmt: skip
        self._live.update(grid)


def quantity(number: float) -> str:
    """A number as people read it: 12,345."""
    return f"{number:,.0f}"
