"""The Connector object in the JVM of the first task: it watches what the connector reads from.

A plan lasts as long as it takes, so what it has found is kept in properties of the first task: the connector's own
configuration, and a digest of what the tasks were split from.
"""

import hashlib
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from penstock.context import PluginContext
from penstock_runtime.java_plugins.connection import Connection
from penstock_runtime.java_plugins.java_error import JavaError

__all__ = ["PlannedConnector", "RunningConnector", "Tasks"]

log = logging.getLogger(__name__)
Tasks = Sequence[Mapping[str, str | None]]

_DIGEST: Final = "penstock.connector.digest"
_ADDED: Final = "penstock.connector.added"
_RANDOM: Final = "penstock.connector.random"
_PREFIX: Final = "penstock.connector.property."
_MOST_TASKS: Final = "tasks.max"
_CHANGED: Final = 2
"""So many answers differ if what the connector reads from changed meanwhile; more, if they are random."""


@dataclass(frozen=True, slots=True)
class PlannedConnector:
    """A connector as it was planned.

    Attributes:
        properties: of the connector, with `tasks.max`.
        digest: of what its tasks were split from; empty: all have the connector's own properties.
        random: the names of properties of tasks that have another value each time that the connector is asked.
    """

    properties: Mapping[str, str]
    digest: str
    random: frozenset[str] = frozenset()

    @classmethod
    def of(cls, properties: Mapping[str, str], answers: Sequence[Tasks]) -> "PlannedConnector":
        """Return the connector with these properties.

        Args:
            properties: of the connector.
            answers: the tasks that it gave each time it was asked. Properties that differ between any two of three or more
                answers are random: Iceberg's sink names its transactions by them.
        """
        random: frozenset[str] = frozenset()
        if len(answers) > _CHANGED:
            found = [{tuple(part) for part in _parts(properties, tasks)} for tasks in answers]
            changes = [{name for name, _ in one ^ other} for one, other in combinations(found, 2)]
            random = frozenset(set.intersection(*changes))
        return cls(properties, _digest(_parts(properties, answers[-1], random)), random)

    def split(self, tasks: Tasks) -> str:
        """Return a digest of what these tasks are split from, in whatever order it is dealt out to them."""
        return _digest(_parts(self.properties, tasks, self.random))

    def dealt(self, tasks: Tasks) -> str:
        """Return a digest of what each of these tasks has otherwise than the connector."""
        return _digest(_differing(self.properties, tasks, self.random))

    def kept_in(self, task: Mapping[str, str]) -> dict[str, str]:
        """Return the properties of the first task with this connector in them: what it has otherwise than the task."""
        added = sorted(task.keys() - self.properties.keys())
        others = {f"{_PREFIX}{name}": text for name, text in self.properties.items() if task.get(name) != text}
        kept = {_ADDED: json.dumps(added), _DIGEST: self.digest}
        if self.random:
            kept[_RANDOM] = json.dumps(sorted(self.random))
        return {**task, **others, **kept}

    @classmethod
    def taken_from(cls, texts: Mapping[str, str]) -> "tuple[dict[str, str], PlannedConnector | None]":
        """Return the task's own properties, and the connector that is kept in them; None: it is not the first task."""
        own = (_DIGEST, _ADDED, _RANDOM)
        task = {n: text for n, text in texts.items() if n not in own and not n.startswith(_PREFIX)}
        if _DIGEST not in texts:
            return task, None
        added = json.loads(texts[_ADDED])
        properties = {name: text for name, text in task.items() if name not in added}
        properties |= {n.removeprefix(_PREFIX): text for n, text in texts.items() if n.startswith(_PREFIX)}
        return task, cls(properties, texts[_DIGEST], frozenset(json.loads(texts.get(_RANDOM, "[]"))))


class RunningConnector:
    """A Connector object in the JVM of the first task.

    Args:
        host: the JVM.
        plugin: location and class.
        planned: the connector.
        context: of the task's plugin.

    Attributes:
        error: what the connector has raised (`raiseError`); None: nothing.
    """

    def __init__(
        self, host: Connection, plugin: Mapping[str, str], planned: PlannedConnector, context: PluginContext
    ) -> None:
        self.error: JavaError | None = None
        self._host = host
        self._plugin = plugin
        self._planned = planned
        self._context = context
        self._first = ""

    def start(self) -> None:
        """Start it. What it would be split into now is compared with the plan, which may be of long ago.

        Raises:
            JavaError: the connector has thrown an exception.
            JvmEnded: the JVM has ended.
        """
        properties, self._first = self._planned.properties, ""
        self._host.connector_told = self._told
        most = int(properties[_MOST_TASKS])
        given = {**self._plugin, "properties": properties, "tags": {"connector": self._context.connector}}
        tasks = self._host.call("start_connector", None, **given, max_tasks=most)
        self._first = self._planned.dealt(tasks)
        state = self._planned.split(tasks)
        if state != self._planned.digest:
            log.info("%s finds something else to read than when it was planned", self._plugin["class"])
            self._context.request_task_reconfiguration(state)

    def _told(self, what: str, content: Any) -> None:
        """Follow what the connector asks of its context. In the thread that reads messages."""
        match what:
            case "failed":
                self.error = JavaError(*content)
            case "tasks":
                split = self._planned.dealt(content)
                if split != self._first:
                    self._context.request_task_reconfiguration(split)
            case _:
                log.warning("%s asks for %s, which is not known here", self._plugin["class"], what)


def _differing(
    properties: Mapping[str, str], tasks: Tasks, without: Collection[str] = ()
) -> list[dict[str, str | None]]:
    """Return of each task what it has otherwise than the connector. Passwords are not among it, as far as they are equal."""
    return [
        {name: text for name, text in task.items() if properties.get(name) != text and name not in without}
        for task in tasks
    ]


def _parts(properties: Mapping[str, str], tasks: Tasks, without: Collection[str] = ()) -> list[list[str]]:
    """Return what the tasks are split from, whichever of them has it: lists in properties, in their parts.

    A connector may deal the same things out in another order each time that it starts, so that tasks cannot be compared with
    those of another Connector object.
    """
    found = {
        (name, part)
        for task in _differing(properties, tasks, without)
        for name, text in task.items()
        for part in (text or "").split(",")
    }
    return sorted(map(list, found))


def _digest(content: Any) -> str:
    if not content:
        return ""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
