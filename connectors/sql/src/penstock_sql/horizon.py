"""Which transactions may still bring rows that sort before rows that are there already.

A row with the number 5 may be committed after one with the number 6. Whoever has read up to 6 by then never reads 5. So
the end of a batch counts only once all transactions that ran when it was found have ended.

A transaction of PostgreSQL holds a lock on its own number until its rows can be seen, and everybody may read which locks
there are. A snapshot would not do: its upper bound lies behind the last transaction that has ended, not behind the last one
that has begun.
"""

from typing import Any, Final

import sqlalchemy
from sqlalchemy import Connection

__all__ = ["Horizon"]

_RUNNING: Final = sqlalchemy.text(
    "SELECT coalesce(l.virtualxid, CAST(l.transactionid AS text)) FROM pg_locks l "
    "LEFT JOIN pg_stat_activity a ON a.pid = l.pid "
    "LEFT JOIN pg_prepared_xacts p ON p.transaction = l.transactionid "
    "WHERE l.granted AND l.mode = 'ExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid() "
    "AND (a.datid = (SELECT oid FROM pg_database WHERE datname = current_database()) OR p.database = current_database()) "
    "AND (l.locktype = 'transactionid' OR :unwritten AND l.locktype = 'virtualxid' "
    "AND coalesce(a.application_name, '') NOT LIKE 'penstock source %')"
)
"""The transactions of this database: those with a number, which have written, and the others. Sources of ours only read."""


class Horizon:
    """The transactions that run at this moment in a PostgreSQL database.

    Args:
        connection: in a transaction that has begun after the rows were looked at which are waited for.
        unwritten: those count as well that have not written yet. They may have taken the time long ago.
    """

    def __init__(self, connection: Connection, *, unwritten: bool) -> None:
        self._unwritten = unwritten
        self._running = self._now(connection)

    def is_passed(self, connection: Connection) -> bool:
        """Whether all of them have ended."""
        if self._running:
            self._running &= self._now(connection)
        return not self._running

    def _now(self, connection: Connection) -> frozenset[Any]:
        return frozenset(connection.execute(_RUNNING, {"unwritten": self._unwritten}).scalars())
