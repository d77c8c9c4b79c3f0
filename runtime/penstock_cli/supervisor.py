"""Supervisor that runs the tasks of several connectors as child processes, restarts them, and tracks the state of each.

The loop waits for events: data in a child's pipe, a child's exit, a restart that is due, a signal. After an exit,
`task_restart.next_restart` decides what follows.
"""

import itertools
import math
import os
import selectors
import signal
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from penstock_cli.child import Child
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.resources.connector import Restart
from penstock_model.resources.task_restart import RestartDecision, RestartHistory, TaskEnd, next_restart

__all__ = ["Supervisor", "Task"]

_TICK: Final = 0.5
_ROUND: Final = 0.25
"""Seconds between checks of all tasks. Between them, only tasks that have reported something are checked: a hundred
tasks that each report once a second would otherwise cause ten thousand checks a second."""
_LEAVING: Final = ("FAILED", "UNASSIGNED")
"""States that an ending task reports for the status topic. Here the exit code of its process is used instead."""


Successors = Callable[[], Sequence[TaskSpec] | None]


@dataclass
class Task:
    """State of one task, as the view shows it.

    Attributes:
        spec: spec of the current incarnation.
        policy: `spec.restart` of the connector.
        reads_input: the task gets this process's standard input.
        state: state in Kafka Connect, or STARTING, STOPPED, LOST, SUPERSEDED.
        read, written, bytes, failures: totals of all incarnations.
        lag: lag of a sink; None if unknown.
        spark_workers: number of workers of its Spark session; None if it has none.
        error: error of the last failed incarnation.
        erred: when it failed, in seconds of the monotonic clock.
        trouble: current problem of the running task.
        follows: next step after the last exit, for messages.
        port: port of its metrics; 0: any.
        asked: pending request of the plugin for new tasks; None: none is pending.
    """

    spec: TaskSpec
    policy: Restart
    reads_input: bool = False
    state: str = "STARTING"
    since: float = field(default_factory=time.monotonic)
    read: int = 0
    written: int = 0
    bytes: int = 0
    failures: int = 0
    lag: int | None = None
    spark_workers: int | None = None
    topics: list[str] = field(default_factory=list)
    error: str | None = None
    erred: float = -math.inf
    follows: str = ""
    trouble: str | None = None
    port: int = 0
    asked: str | None = None
    restarts: int = 0
    metrics_port: int | None = None
    child: Child | None = None
    history: RestartHistory = field(default_factory=RestartHistory)
    due: float | None = None
    ended: TaskEnd | None = None
    _base: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return `<connector>-<task>`."""
        return self.spec.id

    def event(self, event: dict[str, Any]) -> None:
        """Apply an event of the child."""
        match event["event"]:
            case "state":
                if event["state"] not in _LEAVING:
                    self._to(event["state"])
                    self.due = None
            case "progress":
                for name in ("read", "written", "bytes", "failures"):
                    if name in event:
                        setattr(self, name, self._base.get(name, 0) + event[name])
                self.lag = event.get("lag", self.lag)
                self.spark_workers = event.get("spark_workers", self.spark_workers)
                self.topics = event.get("topics", self.topics)
                self.trouble = event.get("trouble", self.trouble)
            case "metrics":
                self.metrics_port = event["port"]
            case "asked":
                self.asked = event["asked"]
            case "failed" | "superseded":
                self.error, self.erred = event["message"], time.monotonic()
            case _:  # an event of a newer task process
                pass

    @property
    def condition(self) -> tuple[str, str | None, str | None, int]:
        """Return the fields whose changes are reported immediately. Progress is reported periodically."""
        return self.state, self.trouble, self.error, self.restarts

    def begin(self, child: Child) -> None:
        """Start an incarnation."""
        self.child = child
        self.due = None
        self.trouble = self.spark_workers = None
        self._base = {n: getattr(self, n) for n in ("read", "written", "bytes", "failures")}
        self._to("STARTING")

    def become(self, spec: TaskSpec) -> None:
        """Replace the spec with that of a new plan, after the task has ended."""
        self.spec, self.history = spec, RestartHistory()
        self.asked = self.error = self.ended = self.due = None

    def finish(self, end: TaskEnd, restart: RestartDecision) -> None:
        """End the incarnation."""
        self.child = None
        self.trouble = self.spark_workers = None
        self.history = restart.history
        names = {
            TaskEnd.STOPPED: "STOPPED",
            TaskEnd.FAILED: "FAILED",
            TaskEnd.LOST: "LOST",
            TaskEnd.REFUSED: "FAILED",
            TaskEnd.SUPERSEDED: "SUPERSEDED",
        }
        self._to(names[end])
        self.follows = ""
        if restart.delay is None:
            self.ended = end
            if end in (TaskEnd.FAILED, TaskEnd.LOST):
                self.follows = restart.reason
        else:
            self.due = time.monotonic() + restart.delay
            when = f"in {restart.delay:.0f} s" if restart.delay else "immediately"
            self.follows = f"{restart.reason.removeprefix('failed; ')}; starting again {when}"

    def _to(self, state: str) -> None:
        if state != self.state:
            self.state, self.since = state, time.monotonic()


class Supervisor:
    """Supervisor of the tasks of this process.

    Args:
        tasks: tasks that are not started yet.
        folder: private folder for task specs.
        log_level: log level of the children.
        log: descriptor of the children's log.
        metrics_port: port of the first task; further tasks use the following ports; 0: any.
        replan: plans a connector again when its plugin requests new tasks. Returns None to keep the tasks, otherwise a
            function that makes the specs of the new ones, called once the tasks have ended; if that returns None, the old
            tasks start again.
        watch: called as often as `on_change`, to check the services that the tasks need.
        on_change: called as soon as the condition of a task changes, and at least twice a second.
    """

    def __init__(
        self,
        tasks: list[Task],
        *,
        folder: Path,
        log_level: str,
        log: int,
        replan: Callable[[str], Successors | None],
        on_change: Callable[[Sequence[Task]], None],
        metrics_port: int = 0,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        self.tasks = tasks
        self._folder = folder
        self._log_level = log_level
        self._log = log
        self._on_change = on_change
        self._metrics_port = metrics_port
        self._watch = watch
        self._replan = replan
        self._successors: dict[str, Successors] = {}
        """By connector, the function that makes the specs of its next tasks, called once its tasks have ended."""
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._stopping = False

    def run(self) -> None:
        """Run until all tasks have ended and none is due for a restart, or until they have stopped after `stop`."""
        for task in self.tasks:
            if not self._stopping:
                self._start(task)
        next_round = 0.0
        while any(t.child is not None or (t.due is not None and not self._stopping) for t in self.tasks):
            reporting = self._wait()
            now = time.monotonic()
            is_round = now >= next_round
            if is_round:
                next_round = now + _ROUND
                if not self._stopping:
                    self._watch()
            looked_at = [t for t in self.tasks if is_round or t.due is not None or t.name in reporting]
            before = [task.condition for task in looked_at]
            for task in looked_at:
                if task.child is not None:
                    self._check_child(task)
                if task.due is not None and not self._stopping and now >= task.due:
                    self._restart(task)
                if task.asked is not None and not self._stopping:
                    self._follow(task)
            for connector in [*self._successors]:
                self._replace(connector)
            if is_round or before != [task.condition for task in looked_at]:
                self._on_change(self.tasks)

    def stop(self) -> None:
        """Ask all tasks to finish and exit. May be called in a signal handler."""
        self._stopping = True
        for task in self.tasks:
            if task.child is not None:
                task.child.stop()
        os.write(self._wake_write, b"x")

    def kill(self) -> None:
        """Kill all tasks. May be called in a signal handler."""
        self._stopping = True
        for task in self.tasks:
            if task.child is not None:
                task.child.kill()
        os.write(self._wake_write, b"x")

    def _wait(self) -> set[str]:
        """Wait for events. Return the names of the tasks that have reported something."""
        waiting = [t.due - time.monotonic() for t in self.tasks if t.due is not None and not self._stopping]
        due = min(waiting, default=_TICK)
        reporting = set()
        for key, _ in self._selector.select(max(0.0, min(_TICK, due))):
            if key.data is None:
                os.read(self._wake_read, 1024)
            else:
                reporting.add(key.data.name)
        return reporting

    def _start(self, task: Task) -> None:
        if self._metrics_port and not task.port:
            taken = {each.port for each in self.tasks}
            task.port = next(port for port in itertools.count(self._metrics_port) if port not in taken)
        child = Child(
            task.spec,
            folder=self._folder,
            log_level=self._log_level,
            metrics_port=task.port,
            log=self._log,
            reads_input=task.reads_input,
        )
        task.begin(child)
        for descriptor in child.descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ, task)
        if self._stopping:  # `stop` was called while the child was being started
            child.stop()

    def _restart(self, task: Task) -> None:
        task.spec = task.spec.for_incarnation(
            generation=task.spec.generation, incarnation=task.spec.incarnation + 1, token=uuid.uuid4().hex
        )
        task.restarts += 1
        self._start(task)

    def _follow(self, task: Task) -> None:
        """Plan the connector again, as the task has requested, and stop its tasks if the new plan differs."""
        task.asked, connector = None, task.spec.connector
        successors = None if connector in self._successors else self._replan(connector)
        if successors is None:
            return
        self._successors[connector] = successors
        for each in self._tasks_of(connector):
            each.due = None
            if each.child is not None:
                each.child.stop()

    def _replace(self, connector: str) -> None:
        """Start the tasks of the new plan, once those of the old one have ended."""
        old = self._tasks_of(connector)
        if self._stopping or any(task.child is not None for task in old):
            return
        specs = self._successors.pop(connector)()
        if self._stopping:
            return
        if specs is None:
            for task in old:
                task.ended = None
                self._restart(task)
            return
        new = [Task(spec, old[0].policy, old[0].reads_input) for spec in specs[len(old) :]]
        for task in old[len(specs) :]:
            self.tasks.remove(task)
        self.tasks += new
        for task, spec in zip((*old, *new), specs, strict=False):
            task.become(spec)
            self._start(task)

    def _tasks_of(self, connector: str) -> list[Task]:
        return [task for task in self.tasks if task.spec.connector == connector]

    def _check_child(self, task: Task) -> None:
        child = task.child
        if child is None:
            return
        code = child.process.poll()
        for event in child.events():
            task.event(event)
        if code is None:
            return
        for event in child.events():  # events between the first read and the exit
            task.event(event)
        for descriptor in child.descriptors:
            self._selector.unregister(descriptor)
        child.close()
        explained = child.explained
        end = TaskEnd.of(code) if explained or code < 0 or self._stopping else TaskEnd.FAILED
        restart = next_restart(end, lived=time.monotonic() - child.started, history=task.history, policy=task.policy)
        if self._stopping or task.spec.connector in self._successors:
            restart = replace(restart, delay=None)
            end = TaskEnd.STOPPED if end in (TaskEnd.LOST, TaskEnd.STOPPED) else end
        elif code < 0 or not explained:
            task.error, task.erred = _cause(code), time.monotonic()
        task.finish(end, restart)


def _cause(code: int) -> str:
    if code >= 0:
        return f"the process exited with code {code} before its work was done, and reported no cause; see its log"
    memory = ", by a user or because of insufficient memory" if -code == signal.SIGKILL else ""
    return f"the process was killed by signal {-code} ({signal.Signals(-code).name}){memory}"
