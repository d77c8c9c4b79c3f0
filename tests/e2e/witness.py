"""Keeps every state of every object of a namespace that a test could want to have seen, short-lived ones too."""

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Final

from .api import Api, NotReached, Object
from .pod_logs import TASKS, PodLogs

__all__ = ["Witness"]

_KINDS: Final = ("connectors", "pods", "configmaps", "events")


class Witness:
    """From now on: connectors, pods, ConfigMaps, Events, and what pods of ours write."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._seen: dict[tuple[str, str, str], str] = {}
        self._logs = PodLogs(api, namespace, TASKS)
        for plural in _KINDS:
            threading.Thread(target=self._watch, args=(plural,), daemon=True).start()

    def texts(self) -> Iterator[tuple[str, str]]:
        """Where it stood, and what."""
        for (plural, name, _), text in list(self._seen.items()):
            yield f"{plural} {name}", text
        for line in list(self._logs.lines):
            yield "a pod's log", line

    def names(self, plural: str) -> set[str]:
        """Of the objects of a kind that were seen."""
        return {name for kind, name, _ in list(self._seen) if kind == plural}

    def _watch(self, plural: str) -> None:
        def look(found: Mapping[str, Object]) -> None:
            for name, thing in found.items():
                key = (plural, name, thing["metadata"]["resourceVersion"])
                if key not in self._seen:
                    self._seen[key] = json.dumps(thing)

        try:
            self._api.until_all(plural, self._namespace, look, "the end of the test", 240)
        except NotReached:
            return
