"""What pods write, and operators above all, kept while the pods come and go."""

import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Final

from .api import Api, NotReached, Object

__all__ = ["OPERATORS", "TASKS", "PodLogs"]

OPERATORS: Final = "app.kubernetes.io/component=operator"
TASKS: Final = "app.kubernetes.io/managed-by=penstock"
"""Short pods too."""


class PodLogs:
    """Follows every pod of a namespace that has some labels, each life of its containers from the first line on.

    Attributes:
        lines: so far, as they come, from its threads.
    """

    def __init__(self, api: Api, namespace: str, labels: str) -> None:
        self.lines: list[str] = []
        self._labels = labels
        self._api = api
        self._namespace = namespace
        self._followed: set[str] = set()
        threading.Thread(target=self._watch, name=f"logs of {namespace}", daemon=True).start()

    def troubles(self, since: int, expected: Sequence[str] = ()) -> list[str]:
        """Errors, traces and lines that are no JSON, of all lines from a number on; without those that are expected.

        Args:
            since: `len(lines)` of an earlier moment.
            expected: patterns of what may stand there.
        """
        found = [line for line in self.lines[since:] if _is_trouble(line)]
        return [line for line in found if not any(re.search(pattern, line) for pattern in expected)]

    def _watch(self) -> None:
        while True:
            try:
                self._api.until_all(
                    "pods", self._namespace, self._look, "the end of the tests", 3600, labels=self._labels
                )
            except (NotReached, AssertionError):
                continue

    def _look(self, pods: Mapping[str, Object]) -> None:
        for pod in pods.values():
            for container in pod["status"].get("containerStatuses") or ():
                life = container.get("containerID") or ""
                if life and life not in self._followed:
                    self._followed.add(life)
                    words = (pod["metadata"]["name"], container["name"])
                    threading.Thread(target=self._follow, args=words, daemon=True).start()

    def _follow(self, pod: str, container: str) -> None:
        seen = 0
        while True:
            try:
                for number, line in enumerate(self._api.follow(self._namespace, pod, container)):
                    if number >= seen:
                        self.lines.append(line)
                        seen = number + 1
            except Exception:  # noqa: BLE001 (the API server is killed by some tests: begin anew, where we were)
                if self._api_has(pod) is None:
                    return
            else:
                return

    def _api_has(self, pod: str) -> Object | None:
        try:
            return self._api.get("pods", self._namespace, pod)
        except Exception:  # noqa: BLE001 (as above: nobody knows, so it is tried again)
            return {}


def _is_trouble(line: str) -> bool:
    try:
        said = json.loads(line)
    except ValueError:
        return True
    return not isinstance(said, dict) or said.get("level") in ("error", "critical") or "trace" in said
