"""Connector object in the JVM of the first task: it watches the external system for changes.

The process that plans tasks is short-lived, so the properties of the first task include its results: the connector's
own configuration, and a digest of the work that was split into tasks.
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
"""Number of answers whose differences a change in the external system may explain.

If there are more, what differs between every two of them is random.
"""


@dataclass(frozen=True, slots=True)
class PlannedConnector:
    """Connector as it was planned.

    Attributes:
        properties: properties of the connector, including `tasks.max`.
        digest: digest of the work that was split into tasks; empty: all tasks have the connector's own properties.
        random: names of task properties whose value differs each time the connector returns task configurations.
    """

    properties: Mapping[str, str]
    digest: str
    random: frozenset[str] = frozenset()

    @classmethod
    def of(cls, properties: Mapping[str, str], answers: Sequence[Tasks]) -> "PlannedConnector":
        """Return the connector with these properties.

        Args:
            properties: properties of the connector.
            answers: task configurations of each call. If there are three or more, properties that differ between every two
                of them are random: Iceberg's sink uses such a property to name its transactions.
        """
        random: frozenset[str] = frozenset()
        if len(answers) > _CHANGED:
            found = [{tuple(part) for part in _parts(properties, tasks)} for tasks in answers]
            changes = [{name for name, _ in one ^ other} for one, other in combinations(found, 2)]
            random = frozenset(set.intersection(*changes))
        return cls(properties, _digest(_parts(properties, answers[-1], random)), random)

    def split(self, tasks: Tasks) -> str:
        """Return a digest of the work that these tasks share, regardless of how it is distributed among them."""
        return _digest(_parts(self.properties, tasks, self.random))

    def dealt(self, tasks: Tasks) -> str:
        """Return a digest of the properties in which each of these tasks differs from the connector."""
        return _digest(_differing(self.properties, tasks, self.random))

    def kept_in(self, task: Mapping[str, str]) -> dict[str, str]:
        """Return the properties of the first task, extended by those from which `taken_from` restores this connector.

        The connector's own properties are added only if the task has other values for them.
        """
        added = sorted(task.keys() - self.properties.keys())
        others = {f"{_PREFIX}{name}": text for name, text in self.properties.items() if task.get(name) != text}
        kept = {_ADDED: json.dumps(added), _DIGEST: self.digest}
        if self.random:
            kept[_RANDOM] = json.dumps(sorted(self.random))
        return {**task, **others, **kept}

    @classmethod
    def taken_from(cls, texts: Mapping[str, str]) -> "tuple[dict[str, str], PlannedConnector | None]":
        """Return the task's own properties, and the connector stored with them; None if it is not the first task."""
        own = (_DIGEST, _ADDED, _RANDOM)
        task = {n: text for n, text in texts.items() if n not in own and not n.startswith(_PREFIX)}
        if _DIGEST not in texts:
            return task, None
        added = json.loads(texts[_ADDED])
        properties = {name: text for name, text in task.items() if name not in added}
        properties |= {n.removeprefix(_PREFIX): text for n, text in texts.items() if n.startswith(_PREFIX)}
        return task, cls(properties, texts[_DIGEST], frozenset(json.loads(texts.get(_RANDOM, "[]"))))


class RunningConnector:
    """Connector object in the JVM of the first task.

    Args:
        host: the JVM.
        plugin: location and class of the connector.
        planned: the connector as it was planned.
        context: context of the task's plugin.

    Attributes:
        error: error that the connector has raised (`raiseError`), if any.
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
        """Start the connector. Compare its tasks with the plan, which may be outdated, and request another if needed.

        Raises:
            JavaError: the connector threw an exception.
            JvmEnded: the JVM has ended.
        """
        properties, self._first = self._planned.properties, ""
        self._host.on_connector_request = self._take_request
        most = int(properties[_MOST_TASKS])
        given = {**self._plugin, "properties": properties, "tags": {"connector": self._context.connector}}
        tasks = self._host.call("start_connector", None, **given, max_tasks=most)
        self._first = self._planned.dealt(tasks)
        state = self._planned.split(tasks)
        if state != self._planned.digest:
            log.info("The work of %s has changed since it was planned; requesting a new plan", self._plugin["class"])
            self._context.request_task_reconfiguration(state)

    def _take_request(self, what: str, content: Any) -> None:
        """Handle a request from the connector to its context. Runs in the thread that reads messages."""
        match what:
            case "failed":
                self.error = JavaError(*content)
            case "tasks":
                split = self._planned.dealt(content)
                if split != self._first:
                    self._context.request_task_reconfiguration(split)
            case _:
                log.warning("Ignoring an unknown request of %s: %s", self._plugin["class"], what)


def _differing(
    properties: Mapping[str, str], tasks: Tasks, without: Collection[str] = ()
) -> list[dict[str, str | None]]:
    """Return the properties in which each task differs from the connector. Equal passwords are thus excluded."""
    return [
        {name: text for name, text in task.items() if properties.get(name) != text and name not in without}
        for task in tasks
    ]


def _parts(properties: Mapping[str, str], tasks: Tasks, without: Collection[str] = ()) -> list[list[str]]:
    """Return the work that is split into the tasks, regardless of which task has which part. Lists are split at commas.

    A connector may distribute the same work differently each time it starts, so its tasks cannot be compared with those of
    another Connector object.
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
