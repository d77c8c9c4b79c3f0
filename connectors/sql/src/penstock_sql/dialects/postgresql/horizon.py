"""Running transactions that may still commit rows that sort before visible rows.

A row with the number 5 may be committed after a row with the number 6. A reader that has already read up to 6 would never
read 5. The end of a batch is therefore used only when all transactions that ran when it was found have ended.

A transaction of PostgreSQL holds a lock on its own id until its rows are visible, and every user may read the list of locks.
A snapshot is not sufficient: its upper bound follows the last transaction that has ended, not the last one that has started.
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
    "AND (a.pid IS NULL OR a.usesysid IS NOT NULL) "  # autovacuum has no user, commits no rows, and may take hours
    "AND (a.datid = (SELECT oid FROM pg_database WHERE datname = current_database()) OR p.database = current_database()) "
    "AND (l.locktype = 'transactionid' OR :all AND l.locktype = 'virtualxid' "
    "AND coalesce(a.application_name, '') NOT LIKE 'penstock source %')"
)
"""Transactions of this database: those with an id, which have written, and, with `:all`, also those without an id.
Penstock's sources are omitted, since they only read."""

_OLDEST: Final = sqlalchemy.text(
    "SELECT a.pid, a.application_name, a.state, CAST(extract(epoch FROM clock_timestamp() - a.xact_start) AS bigint) "
    "FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.granted AND l.mode = 'ExclusiveLock' "
    "AND coalesce(l.virtualxid, CAST(l.transactionid AS text)) = ANY(:running) ORDER BY a.xact_start LIMIT 1"
)
_OLDEST_PREPARED: Final = sqlalchemy.text(
    "SELECT gid, CAST(extract(epoch FROM clock_timestamp() - prepared) AS bigint) FROM pg_prepared_xacts "
    "WHERE CAST(transaction AS text) = ANY(:running) ORDER BY prepared LIMIT 1"
)


class Horizon:
    """Transactions that run in a PostgreSQL database when this object is created.

    Args:
        connection: in a transaction that started after the end of the batch was found.

    Transactions that have not written yet are included: they may have taken a sequence number, or read the clock, long ago.
    """

    def __init__(self, connection: Connection) -> None:
        self._running = _running(connection, every=True)
        self._prepared = False

    def is_passed(self, connection: Connection) -> bool:
        """Return whether all of these transactions have ended."""
        self._running &= _running(connection, every=True)
        if not self._running and not self._prepared:
            # One of them may have been prepared for a two-phase commit: it continues with its id only.
            self._prepared = True
            self._running = _running(connection, every=False)
        return not self._running

    def oldest(self, connection: Connection) -> str:
        """Describe the oldest transaction, and how to end it. Must be called at the start of a transaction."""
        running = {"running": list(self._running)}
        found = connection.execute(_OLDEST, running).first()
        if found is not None:
            pid, application, state, age = found
            seen = f"{state}, open for {age} s" if age is not None else "details are visible to pg_read_all_stats only"
            return (
                f"pid {pid} of application {application or 'without a name'} ({seen}). Wait until it ends, or run "
                f"SELECT pg_terminate_backend({pid})"
            )
        prepared = connection.execute(_OLDEST_PREPARED, running).first()
        if prepared is None:
            return "no longer known, since it has ended"
        gid, age = prepared
        return f"{gid!r}, prepared {age} s ago. Run COMMIT PREPARED or ROLLBACK PREPARED for it"


def _running(connection: Connection, *, every: bool) -> frozenset[Any]:
    return frozenset(connection.execute(_RUNNING, {"all": every}).scalars())
