"""Session of MariaDB or MySQL: strict mode, UTC, limited waits, and a named lock while it writes.

These servers have no connection names that all users may see. A transaction therefore holds a user-level lock (GET_LOCK)
with the name of its writer. A later start finds the connection that holds the lock, and kills it: every user may kill their
own connections.
"""

import hashlib
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import pymysql
from pymysql.constants import CLIENT
from sqlalchemy import Connection

__all__ = ["connect", "end_holder", "hold", "let_go"]

SESSION: Final = (
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,"
    "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00', "
    "innodb_lock_wait_timeout = 60, lock_wait_timeout = 60, net_write_timeout = 600, "
    "max_sort_length = 65535"
)
"""Settings that prevent truncated values and conversions between zones, and limit waits. `max_sort_length`: by default, keys
are compared by their first 1,024 bytes only."""
_SOCKET: Final[Mapping[str, int]] = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 60_000,
}
_KILL_SECONDS: Final = 10.0
_NO_SUCH_THREAD: Final = 1094
_HELD: Final = "penstock_held"


def connect(parameters: Mapping[str, Any], name: str) -> pymysql.Connection:
    """Connect to the first host that answers.

    Args:
        parameters: the parameters of the address.
        name: the name of the connection, for servers that support connection attributes.

    Raises:
        pymysql.Error: no host answers, or the server refuses the connection.
    """
    *others, last = parameters["hosts"]
    for host, port in others:
        try:
            return _connect(parameters, host, port, name)
        except pymysql.OperationalError as e:
            if e.args[0] != pymysql.constants.CR.CR_CONN_HOST_ERROR:
                raise
    return _connect(parameters, last[0], last[1], name)


def _connect(parameters: Mapping[str, Any], host: str, port: int, name: str) -> pymysql.Connection:
    connection = pymysql.Connection(
        host=host,
        port=port,
        user=parameters["user"],
        password=parameters["password"].encode(),
        database=parameters["database"],
        charset="utf8mb4",
        client_flag=CLIENT.FOUND_ROWS,  # matched rows count as changed, even if no value changes
        connect_timeout=parameters["connect_timeout"],
        ssl=parameters["ssl"],
        ssl_disabled=parameters["plain"],
        program_name=name,
        defer_connect=True,
    )
    connection.connect()
    try:
        for option, value in _SOCKET.items():
            connection._sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)  # noqa: SLF001 (no other way)
        connection.query(SESSION)
        connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        if "MariaDB" in connection.get_server_info():
            connection.query("SET SESSION idle_transaction_timeout = 60")
    except BaseException:
        connection.close()
        raise
    return connection


def hold(connection: Connection, name: str) -> None:
    """Take the lock of a name, and hold it until `let_go`, or until the connection ends. The call never waits."""
    with suppress(pymysql.NotSupportedError):  # Galera clusters do not support GET_LOCK
        _ask(connection, "SELECT GET_LOCK(%s, 0)", _lock(connection, name))
        connection.info[_HELD] = name


def let_go(connection: Connection) -> None:
    """Release the lock that the connection holds. A lost connection has released it already."""
    if connection.invalidated:
        return
    if (name := connection.info.pop(_HELD, None)) is not None:
        with suppress(pymysql.Error):
            _ask(connection, "SELECT RELEASE_LOCK(%s)", _lock(connection, name))


def end_holder(connection: Connection, name: str) -> None:
    """Kill the connection that holds the lock of a name, and wait until its transaction is rolled back.

    Raises:
        pymysql.Error: the server refuses, or takes too long.
    """
    lock = _lock(connection, name)
    until = time.monotonic() + _KILL_SECONDS
    with suppress(pymysql.NotSupportedError):
        while (holder := _ask(connection, "SELECT IS_USED_LOCK(%s)", lock)) is not None:
            if holder == _driver(connection).thread_id():
                return
            try:
                _driver(connection).query(f"KILL {int(holder)}")
            except pymysql.Error as e:
                if e.args[0] != _NO_SUCH_THREAD:
                    raise
            if time.monotonic() > until:
                raise pymysql.OperationalError(0, "an earlier transaction of the task is still being rolled back")
            time.sleep(0.05)


def _ask(connection: Connection, statement: str, parameter: str) -> Any:
    with _driver(connection).cursor() as cursor:
        cursor.execute(statement, (parameter,))
        return cursor.fetchone()[0]


def _lock(connection: Connection, name: str) -> str:
    """Return the name of a lock, at most 64 characters. It depends on user and database, since locks are global."""
    driver = _driver(connection)
    user = driver.user.decode() if isinstance(driver.user, bytes) else str(driver.user)
    return "penstock " + hashlib.sha256(f"{user}\0{driver.db}\0{name}".encode()).hexdigest()[:48]


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection
