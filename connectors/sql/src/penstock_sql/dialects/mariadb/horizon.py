"""Running transactions of MariaDB that may still commit rows that sort before visible rows.

As explained in `postgresql.horizon`, the end of a batch is used only when all transactions that ran when it was found have
ended. Two lists show the running transactions, and both need the privilege PROCESS:

* `information_schema.innodb_trx` has every transaction from its first access to InnoDB to its end, including those prepared
  for a two-phase commit. It is a cached copy, which is refreshed only if nobody has read it for a tenth of a second. It is
  therefore read in a separate transaction, by a statement with a unique text: a copy that contains this statement is fresh.
* `information_schema.processlist` has the statements. A statement may have read the clock and be waiting for a table lock
  before it accesses InnoDB.

The statements are read first: a statement that accesses InnoDB between the two reads is then in the other list.
"""

import random
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import Connection

from penstock_sql.dialects.base import Transactions
from penstock_sql.dialects.statements import driver

__all__ = ["Looks", "MariadbHorizon"]

_BEGIN: Final = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
"""Starts a transaction that is listed immediately, and for which other sources do not wait."""
_STATEMENTS: Final = (
    "SELECT id, query_id FROM information_schema.processlist "
    "WHERE command NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID')"
)
_TRANSACTIONS: Final = (
    "SELECT trx_mysql_thread_id, CAST(trx_started AS CHAR), trx_id, trx_is_read_only, "
    "trx_mysql_thread_id = CONNECTION_ID() AND trx_query LIKE '%%{mark}%%' FROM information_schema.innodb_trx"
)
_OLDEST: Final = (
    "SELECT user, command, CAST(TIMESTAMPDIFF(SECOND, FROM_UNIXTIME(UNIX_TIMESTAMP() - time_ms / 1000), NOW()) AS INT) "
    "FROM information_schema.processlist WHERE id = %s"
)
_AGE: Final = "SELECT TIMESTAMPDIFF(SECOND, %s, NOW())"
_COPY_SECONDS: Final = 0.11
"""Seconds without a read after which the server refreshes the list of transactions."""
_TRIES: Final = 3
_MOST_DOUBLINGS: Final = 6


class _Transaction(NamedTuple):
    """Transaction of InnoDB.

    Attributes:
        connection: the id of its connection; 0 if it is prepared and its connection has ended.
    """

    connection: int
    started: str
    number: int


@dataclass(frozen=True, slots=True)
class _Look:
    """Snapshot of the running statements and transactions.

    Attributes:
        started: the start of the snapshot, in seconds of `time.monotonic`.
        statements: the id of the statement that each connection executes.
        transactions: all transactions that may write.
        readers: connections whose transaction cannot write.
    """

    started: float
    statements: Mapping[int, int]
    transactions: frozenset[_Transaction]
    readers: frozenset[int]

    def of(self, connection: int) -> frozenset[_Transaction]:
        """Return the transaction of a connection, if it has one."""
        return frozenset(each for each in self.transactions if each.connection == connection)

    def has(self, one: _Transaction) -> bool:
        """Return whether a transaction is still running. A prepared transaction may have lost its connection."""
        return any(each.started == one.started and each.connection in (0, one.connection) for each in self.transactions)


class Looks(Transactions):
    """Snapshots shared by all tables of a task, since the server does not refresh the list of transactions for each."""

    def __init__(self) -> None:
        self._last: _Look | None = None
        self._next = float("-inf")
        self._old = 0
        self._may_wait = True

    def begin(self) -> None:
        """Start the next pass over all tables, in which only one table may wait for a refreshed list."""
        self._may_wait = True

    def running(self, connection: Connection) -> "MariadbHorizon":
        """Return the horizon of the transactions that run now."""
        return MariadbHorizon(self)

    def since(self, connection: Connection, moment: float) -> _Look | None:
        """Return a snapshot that began after a time of `time.monotonic`, or None if there is none yet."""
        if self._last is not None and self._last.started > moment:
            return self._last
        for _ in range(_TRIES):
            pause = self._next - time.monotonic()
            if pause > 0:
                if not self._may_wait or pause > 2 * _COPY_SECONDS:
                    break
                time.sleep(pause)
            found = _look(connection)
            # Sources that read equally often would keep the copy stale for all, so each waits for a random and growing time.
            self._old = 0 if found is not None else min(self._old + 1, _MOST_DOUBLINGS)
            self._next = time.monotonic() + _COPY_SECONDS * random.uniform(1, 2**self._old)  # noqa: S311
            if found is not None:
                self._last = found
                break
        self._may_wait = False
        return self._last if self._last is not None and self._last.started > moment else None


def _look(connection: Connection) -> _Look | None:
    """Return a snapshot, or None if the list of transactions is a stale copy."""
    mark = uuid.uuid4().hex
    started = time.monotonic()
    with driver(connection).cursor() as cursor:
        cursor.execute(_BEGIN)
        cursor.execute(_STATEMENTS)
        statements = dict(cursor.fetchall())
        cursor.execute(_TRANSACTIONS.format(mark=mark), ())
        found = cursor.fetchall()
    if not any(own for *_, own in found):
        return None
    transactions = frozenset(_Transaction(*of) for *of, reads, _ in found if not reads)
    return _Look(started, statements, transactions, frozenset(of[0] for of in found if of[3]))


class MariadbHorizon:
    """Statements and transactions that run when this object is created, or that start before its first snapshot.

    Args:
        looks: the snapshots of the task.

    A statement that has ended may have left a transaction open, which must then end, too. A transaction that is declared
    READ ONLY, or consists of a SELECT without locks, is ignored, since it commits no rows.
    """

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._seen = time.monotonic()
        self._first = True
        self._statements: dict[int, int] = {}
        self._transactions: set[_Transaction] = set()

    def is_passed(self, connection: Connection) -> bool:
        """Return whether all of these statements and transactions have ended."""
        look = self._looks.since(connection, self._seen)
        if look is None:
            return False
        self._seen = look.started
        if self._first:
            self._first = False
            self._statements = {of: number for of, number in look.statements.items() if of not in look.readers}
            self._transactions = set(look.transactions)
        else:
            ended = {of for of, number in self._statements.items() if look.statements.get(of) != number}
            self._transactions = {each for each in self._transactions if look.has(each)}
            self._transactions.update(*map(look.of, ended))
            for of in ended | look.readers:
                self._statements.pop(of, None)
        return not self._statements and not self._transactions

    def oldest(self, connection: Connection) -> str:
        """Describe the oldest transaction, and how to end it."""
        if self._first:
            return (
                "unknown, since other sessions read information_schema.innodb_trx so often that the server does not refresh "
                "it; have them read it less often than ten times per second"
            )
        with driver(connection).cursor() as cursor:
            if self._transactions:
                one = min(self._transactions, key=lambda each: each.started)
                cursor.execute(_AGE, (one.started,))
                ((age,),) = cursor.fetchall()
                if one.connection == 0:
                    return (
                        f"a prepared one, started {age} s ago. Run XA RECOVER, and then XA COMMIT or XA ROLLBACK for it"
                    )
                number, kind = one.connection, "transaction"
            else:
                number, kind, age = min(self._statements), "statement", None
            cursor.execute(_OLDEST, (number,))
            rows = cursor.fetchall()
        if not rows:
            return "no longer known, since it has ended"
        ((user, command, seconds),) = rows
        seconds = seconds if age is None else age
        return (
            f"the {kind} of connection {number} of user {user} ({command.lower()}, open for {seconds} s). Wait until it "
            f"ends, or run KILL {number}"
        )
