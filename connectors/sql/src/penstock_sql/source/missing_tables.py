"""Missing tables of a task, which are logged periodically while the others are read."""

import logging
from typing import Final

from penstock import RetriableError

__all__ = ["MissingTables"]

log = logging.getLogger(__name__)
_AGAIN: Final = 600.0
"""Seconds until the log names the same tables again."""


class MissingTables:
    """Tables of a task that do not exist.

    Args:
        whitelist: the property `table.whitelist`.
    """

    def __init__(self, whitelist: str) -> None:
        self._removal = ", or remove it from table.whitelist" if whitelist else ""
        self._names: set[str] = set()
        self._reported: frozenset[str] = frozenset()
        self._again = float("-inf")

    def add(self, name: str) -> None:
        """Record that a table does not exist."""
        self._names.add(name)

    def discard(self, name: str) -> None:
        """Record that a table exists, perhaps again."""
        if name in self._names:
            self._names.remove(name)
            log.info("Table %s exists again; reading continues at its offset", name)

    def report(self, now: float, tables: int, pause: float) -> None:
        """Log the names of missing tables, when they change and periodically.

        Args:
            now: the time in seconds, on any clock.
            tables: the number of tables of the task.
            pause: seconds after which to retry if none exists.

        Raises:
            RetriableError: none of the tables exists.
        """
        if not self._names:
            self._reported = frozenset()
            return
        missing = frozenset(self._names)
        what = (
            f"missing, or not visible to the user of the connector: {', '.join(sorted(missing))}; create the table, "
            f"grant SELECT on it{self._removal}"
        )
        if len(missing) == tables:
            raise RetriableError(f"cannot read any table of this task: all are {what}", retry_after=pause)
        if missing != self._reported or now >= self._again:
            self._reported, self._again = missing, now + _AGAIN
            log.warning("Some tables are not read: they are %s", what)
