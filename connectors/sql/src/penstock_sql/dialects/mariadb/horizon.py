"""Which transactions of MariaDB may still bring rows that sort before rows that are there already.

As `horizon` says for PostgreSQL: the end of a batch counts only once all have ended that ran when it was found. Two lists
tell who runs, and both need the right PROCESS:

* `information_schema.innodb_trx` has every transaction from its first touch of InnoDB to its end, also one that is prepared
  for a commit in two phases. It is a copy, made anew only if nobody has read it for a tenth of a second. So whoever looks
  does so in a transaction of their own, by a statement that is like no other one: a copy that shows it is new.
* `information_schema.processlist` has the statements. One may have taken its time, and wait for the lock of a table, before
  it touches InnoDB.

The statements are looked at first: one that has gone on to touch InnoDB by then is in the other list.
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
"""In the list of transactions from now on, and no other one of a source's."""
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
"""So long nobody may have read the list of transactions, for it to be made anew."""
_TRIES: Final = 3
_MOST_DOUBLINGS: Final = 6


class _Transaction(NamedTuple):
    """One of InnoDB's.

    Attributes:
        connection: 0 where it is prepared and its connection has ended.
    """

    connection: int
    started: str
    number: int


@dataclass(frozen=True, slots=True)
class _Look:
    """What runs at one moment.

    Attributes:
        begun: this moment, by the clock of this process.
        statements: the number of the statement that each connection carries out.
        transactions: all that may write.
        readers: connections whose transaction cannot.
    """

    begun: float
    statements: Mapping[int, int]
    transactions: frozenset[_Transaction]
    readers: frozenset[int]

    def of(self, connection: int) -> frozenset[_Transaction]:
        """The transaction of a connection."""
        return frozenset(each for each in self.transactions if each.connection == connection)

    def has(self, one: _Transaction) -> bool:
        """Whether a transaction goes on. Once it is prepared it may be without its connection."""
        return any(each.started == one.started and each.connection in (0, one.connection) for each in self.transactions)


class Looks(Transactions):
    """Looks at what runs, which all tables of a task share, since the list of transactions is not made anew for each."""

    def __init__(self) -> None:
        self._last: _Look | None = None
        self._next = float("-inf")
        self._old = 0
        self._may_wait = True

    def begin(self) -> None:
        """All tables are asked once more: one of them may wait."""
        self._may_wait = True

    def running(self, connection: Connection) -> "MariadbHorizon":
        """Return what runs from this moment on."""
        return MariadbHorizon(self)

    def since(self, connection: Connection, moment: float) -> _Look | None:
        """A look that began after a moment of `time.monotonic`, or none yet."""
        if self._last is not None and self._last.begun > moment:
            return self._last
        for _ in range(_TRIES):
            pause = self._next - time.monotonic()
            if pause > 0:
                if not self._may_wait or pause > 2 * _COPY_SECONDS:
                    break
                time.sleep(pause)
            found = _look(connection)
            # Others that look as often would all keep it old: so each waits for another while, and longer each time.
            self._old = 0 if found is not None else min(self._old + 1, _MOST_DOUBLINGS)
            self._next = time.monotonic() + _COPY_SECONDS * random.uniform(1, 2**self._old)  # noqa: S311
            if found is not None:
                self._last = found
                break
        self._may_wait = False
        return self._last if self._last is not None and self._last.begun > moment else None


def _look(connection: Connection) -> _Look | None:
    """None where the list of transactions is an old copy."""
    mark = uuid.uuid4().hex
    begun = time.monotonic()
    with driver(connection).cursor() as cursor:
        cursor.execute(_BEGIN)
        cursor.execute(_STATEMENTS)
        statements = dict(cursor.fetchall())
        cursor.execute(_TRANSACTIONS.format(mark=mark), ())
        found = cursor.fetchall()
    if not any(own for *_, own in found):
        return None
    transactions = frozenset(_Transaction(*of) for *of, reads, _ in found if not reads)
    return _Look(begun, statements, transactions, frozenset(of[0] for of in found if of[3]))


class MariadbHorizon:
    """What runs in a server of MariaDB from this moment on.

    Args:
        looks: of the task.

    A statement that has ended may have left a transaction open, which is waited for then. A transaction that is declared
    READ ONLY, or is a SELECT without locks by itself, brings no rows, however long it takes.
    """

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._seen = time.monotonic()
        self._first = True
        self._statements: dict[int, int] = {}
        self._transactions: set[_Transaction] = set()

    def is_passed(self, connection: Connection) -> bool:
        """Whether all of that has ended."""
        look = self._looks.since(connection, self._seen)
        if look is None:
            return False
        self._seen = look.begun
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
        """The one that has begun first, and how to end it."""
        if self._first:
            return (
                "not known, since others read information_schema.innodb_trx all the time, so that the server does not "
                "bring it up to date: let them read it less often than ten times a second"
            )
        with driver(connection).cursor() as cursor:
            if self._transactions:
                one = min(self._transactions, key=lambda each: each.started)
                cursor.execute(_AGE, (one.started,))
                ((age,),) = cursor.fetchall()
                if one.connection == 0:
                    return f"prepared, begun {age} s ago. Run XA RECOVER, and XA COMMIT or XA ROLLBACK for it"
                number, kind = one.connection, "transaction"
            else:
                number, kind, age = min(self._statements), "statement", None
            cursor.execute(_OLDEST, (number,))
            rows = cursor.fetchall()
        if not rows:
            return "none any more"
        ((user, command, seconds),) = rows
        seconds = seconds if age is None else age
        return (
            f"the {kind} of connection {number} of user {user} ({command.lower()}, open for {seconds} s). Let it end, or "
            f"run KILL {number}"
        )
