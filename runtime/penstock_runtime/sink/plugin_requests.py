"""Requests of a sink to its task: set positions, commit. Safe for all threads of the plugin."""

import threading
from collections.abc import Mapping

from penstock.sink import TopicPartition

__all__ = ["PluginRequests"]


class PluginRequests:
    """Collector of the sink's requests; the task's loop acts on them between two batches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._positions: dict[TopicPartition, int | None] = {}
        self._commit = False

    def seek(self, to: Mapping[TopicPartition, int | None]) -> None:
        """See `SinkTaskContext.seek`."""
        with self._lock:
            self._positions.update(to)

    def commit(self) -> None:
        """See `SinkTaskContext.request_commit`."""
        with self._lock:
            self._commit = True

    def take_positions(self) -> dict[TopicPartition, int | None]:
        """Return the positions requested since the last call."""
        with self._lock:
            taken, self._positions = self._positions, {}
        return taken

    def take_commit(self) -> bool:
        """Return whether a commit was requested since the last call."""
        with self._lock:
            taken, self._commit = self._commit, False
        return taken
