"""Connectors of this process, as the web server reads them."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final

from penstock_cli.console.child_commands import ChildCommands
from penstock_cli.console.documents import TaskFacts, status_of
from penstock_cli.supervisor import Task
from penstock_cli.view import current_problem
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.definitions import Definitions
from penstock_model.resources.connector import Connector
from penstock_web.revision import Revision
from penstock_web.source import Document, Event, Measurement

__all__ = ["NAMESPACE", "PLOT_STEP", "LocalSource"]

NAMESPACE: Final = "default"
"""Namespace of connectors whose manifest names none."""
PLOT_STEP: Final = 5.0
_HOUR: Final = 3600.0
_MOST_EVENTS: Final = 50


@dataclass
class _Seen:
    """Last observation of a task.

    Attributes:
        at, written: time of the last measurement, in seconds since 1970, and the records written by then.
        due, retry_at: time of the next restart, in seconds of the monotonic clock, and in seconds since 1970.
    """

    state: str = ""
    since: float = 0.0
    at: float = 0.0
    written: int = 0
    last_record: float | None = None
    due: float | None = None
    retry_at: float | None = None


@dataclass
class _Local:
    """Connector of this process."""

    connector: Connector
    kind: str
    manifest: Mapping[str, Any]
    document: Document
    tasks: dict[int, _Seen] = field(default_factory=dict)
    history: deque[Measurement] = field(default_factory=deque)
    shown: tuple[Measurement, ...] = ()
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=_MOST_EVENTS))


class LocalSource:
    """WebSource of the tasks that `show` reports. The other methods may be called from any thread.

    Args:
        connectors: the connectors and their kinds, by Connect name.
        worker: worker configuration.
        commands: commands of this program that try transforms and list offsets.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        connectors: Mapping[str, tuple[Connector, str]],
        worker: WorkerConfig,
        commands: ChildCommands,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._worker = worker
        self._commands = commands
        self._clock = clock
        self._revision = Revision()
        self._local = {
            name: _Local(connector, kind, manifest := _manifest(connector), _document(manifest, connector, kind, ()))
            for name, (connector, kind) in connectors.items()
        }
        self._by_key = {_key(local.document): local for local in self._local.values()}

    def show(self, tasks: Sequence[Task]) -> None:
        """Record the current state of all tasks. Called often, by the thread that runs them."""
        now = self._clock()
        by_connector: dict[str, list[Task]] = {}
        for task in tasks:
            by_connector.setdefault(task.spec.connector, []).append(task)
        has_changed = False
        for name, own in by_connector.items():
            local = self._local.get(name)
            if local is None:
                continue
            facts = [_facts(local, task, now) for task in sorted(own, key=lambda t: t.spec.task)]
            document = _document(local.manifest, local.connector, local.kind, facts)
            has_measured = _measure(local, own, now)
            if has_measured:
                local.shown = tuple(local.history)
            if document != local.document:
                local.document = document
                has_changed = True
            has_changed |= has_measured
        if has_changed:
            self._revision.grow()

    def connectors(self) -> Sequence[Document]:
        return [local.document for local in self._local.values()]

    def connector(self, namespace: str, name: str) -> Document | None:
        local = self._by_key.get((namespace, name))
        return None if local is None else local.document

    def policies(self) -> Sequence[Document]:
        return ()

    def plugin_versions(self) -> Sequence[Document]:
        return ()

    def definitions(self, namespace: str, plugin_version: str) -> Definitions | None:
        return None

    def release(self) -> str:
        return version("penstock")

    def worker(self) -> WorkerConfig:
        return self._worker

    def kafka_cluster_id(self) -> str | None:
        return None

    def history(self, namespace: str, name: str) -> Sequence[Measurement]:
        local = self._by_key.get((namespace, name))
        return () if local is None else local.shown

    def revision(self) -> int:
        return self._revision.number

    async def changed(self, since: int) -> int:
        return await self._revision.greater_than(since)

    async def events(self, namespace: str, name: str) -> Sequence[Event]:
        local = self._by_key.get((namespace, name))
        return () if local is None else [*local.events][::-1]

    async def offsets(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        local = self._by_key.get((namespace, name))
        return None if local is None else await self._commands.offsets(local.manifest)

    async def transform(self, connector: Document, record: str) -> str:
        """Return what each step of a connector's chain does to a record in JSON.

        Raises:
            ConnectError: the chain cannot be built, or takes too long.
        """
        return await self._commands.transform(self._by_key[_key(connector)].manifest, record)


def _facts(local: _Local, task: Task, now: float) -> TaskFacts:
    number = task.spec.task
    seen = local.tasks.setdefault(number, _Seen(at=now))
    problem = current_problem(task)
    if seen.state != task.state:
        seen.state, seen.since = task.state, now
        is_bad = task.state in ("FAILED", "LOST")
        message = f"task {number} is {task.state}{f': {problem}' if problem else ''}"
        local.events.append(Event(now, "Warning" if is_bad else "Normal", task.state.capitalize(), message, task.name))
    if seen.due != task.due:
        seen.due, seen.retry_at = task.due, None if task.due is None else now + task.due - time.monotonic()
    return TaskFacts(
        number=number,
        state=task.state,
        problem=problem,
        restarts=task.restarts,
        since=seen.since,
        last_record=seen.last_record,
        retry_at=seen.retry_at,
        topics=tuple(task.topics),
        plugins=task.spec.plugins,
    )


def _measure(local: _Local, tasks: Sequence[Task], now: float) -> bool:
    """Measure tasks whose last measurement is old enough. Return whether there were any."""
    has_measured = False
    for task in tasks:
        seen = local.tasks[task.spec.task]
        if now - seen.at < PLOT_STEP:
            continue
        rate = max(0, task.written - seen.written) / (now - seen.at)
        if task.written > seen.written:
            seen.last_record = now
        seen.at, seen.written = now, task.written
        local.history.append(Measurement(now, task.spec.task, rate, task.lag))
        has_measured = True
    while local.history and local.history[0].at < now - _HOUR:
        local.history.popleft()
    return has_measured


def _manifest(connector: Connector) -> dict[str, Any]:
    """Return the manifest of a connector, as it was read."""
    given = connector.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True, exclude={"status"})
    return {**given, "apiVersion": connector.api_version, "kind": connector.kind}


def _document(
    manifest: Mapping[str, Any], connector: Connector, kind: str, tasks: Sequence[TaskFacts]
) -> dict[str, Any]:
    metadata = {**manifest["metadata"], "namespace": connector.metadata.namespace or NAMESPACE}
    status = status_of(connector.spec.class_name, kind, connector.spec.state, tasks)
    return {**manifest, "metadata": metadata, "status": status}


def _key(document: Document) -> tuple[str, str]:
    return document["metadata"]["namespace"], document["metadata"]["name"]
