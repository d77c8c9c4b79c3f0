"""Which transactions may still bring rows that sort before rows that are there already.

A row with the number 5 may be committed after one with the number 6. Whoever has read up to 6 by then never reads 5. So
the end of a batch counts only once all transactions that ran when it was found have ended.
"""

from typing import Any, Final

import sqlalchemy
from sqlalchemy import Connection

__all__ = ["Horizon"]

_NOW: Final = sqlalchemy.text("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
_OLDEST: Final = sqlalchemy.text("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
_RUNNING: Final = sqlalchemy.text(
    "SELECT l.virtualxid FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'virtualxid' AND l.granted "
    "AND a.datid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.pid <> pg_backend_pid() "
    "AND coalesce(a.application_name, '') NOT LIKE 'penstock source %'"
)
"""Those of sources of ours only read."""


class Horizon:
    """The transactions that ran at one moment of a PostgreSQL database.

    Args:
        connection: outside of a transaction of its own that has begun earlier.
        unwritten: those count as well that have not written yet. They may have taken the time, or a number, long ago.
    """

    def __init__(self, connection: Connection, *, unwritten: bool) -> None:
        self._next: int = connection.execute(_NOW).scalar_one()
        self._running: frozenset[Any] = frozenset(connection.execute(_RUNNING).scalars()) if unwritten else frozenset()

    def is_passed(self, connection: Connection) -> bool:
        """Whether all of them have ended."""
        if connection.execute(_OLDEST).scalar_one() < self._next:
            return False
        return not self._running or not self._running.intersection(connection.execute(_RUNNING).scalars())
