"""Write rows to MariaDB and MySQL, with one INSERT for many rows, or through a temporary table with the key's types.

ON DUPLICATE KEY UPDATE acts on any unique key, and could change a row with another primary key. It therefore also sets the
primary key: to its current value if the row has the right key, otherwise to a scalar SELECT that returns two rows, which the
server refuses. A session variable distinguishes this refusal from the same error of a trigger.
"""

import hashlib
from contextlib import suppress
from typing import Any, Final

import pymysql
from sqlalchemy import Connection

from penstock_sql.dialects.base import Write
from penstock_sql.dialects.mariadb import session
from penstock_sql.dialects.mariadb.literals import chunks
from penstock_sql.dialects.mariadb.table_form import is_key
from penstock_sql.dialects.statements import driver, quoted, run

__all__ = ["begin", "begin_definition", "end_others", "prepare", "put", "same_keys"]

_CHUNK: Final = 1_000_000
"""Size of a statement in bytes. Larger ones are no faster."""
_HEAD: Final = 100_000
"""Bytes reserved for the rest of a statement, in addition to its rows."""
_NUMBER: Final = "penstock row number"
_PLACE: Final = "penstock place"
_GIVEN: Final = "`penstock given`"
_STORED: Final = "`penstock stored`"
_NTH: Final = "`penstock nth`"
"""Aliases that cannot be confused with names of tables."""
_DEFINITION_SECONDS: Final = 5
_SECONDS: Final = 60
_DUPLICATE: Final = 1062
_NULL: Final = 1048
_TWO_ROWS: Final = 1242
_REFUSAL: Final = "IF(@penstock_other := 1, (SELECT NULL UNION ALL SELECT NULL), NULL)"
"""Expression that the server refuses as a value. NULL is not sufficient: AUTO_INCREMENT columns accept it silently."""


def begin(connection: Connection) -> None:
    """Limit waiting for tables, and take the lock with which a later start of the task finds this transaction.

    The session sets the other limits.
    """
    _wait_for_tables(connection, _SECONDS)
    session.hold(connection, connection.info["penstock_name"])


def begin_definition(connection: Connection) -> None:
    """Limit waiting for locks to a few seconds, since a waiting change of a table blocks all other sessions."""
    _wait_for_tables(connection, _DEFINITION_SECONDS)


def _wait_for_tables(connection: Connection, seconds: int) -> None:
    if connection.info.get("lock_wait_timeout") != seconds:
        run(connection, f"SET SESSION lock_wait_timeout = {seconds}")
        connection.info["lock_wait_timeout"] = seconds


def end_others(connection: Connection, name: str) -> None:
    """End the transaction of another connection with this name, left by an earlier start of the task."""
    session.let_go(connection)  # `begin` has taken the lock on this connection if it was free
    session.end_holder(connection, name)


def prepare(connection: Connection, write: Write, mode: str, form: str) -> None:
    """Create the temporary table that `put` needs. Call it before a savepoint.

    Raises:
        pymysql.ProgrammingError: the table has no key that an upsert can use.
    """
    if mode == "upsert" and not write.delete and not is_key(form, write.keys):
        named = ", ".join(write.keys)
        raise pymysql.ProgrammingError(
            0,
            f"table {write.table} needs a primary or unique key of exactly the columns {named}, none of which may be null, "
            "for insert.mode: upsert; create the key",
        )
    if _staged(write, mode):
        _stage(connection, write, form)


def put(connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str, form: str) -> int:
    """Insert, upsert, update or delete rows, and return how many rows an update found.

    Raises:
        pymysql.Error: the server refuses the rows.
        DataError: a name is not valid in the database.
    """
    table = quoted(connection, write.table)
    names = [quoted(connection, name) for name in write.columns]
    keys, others = names[: len(write.keys)], names[len(write.keys) :]
    if any(value is None for row in rows for value in row[: len(keys)]):
        raise pymysql.IntegrityError(_NULL, "A column of the primary key cannot be null")
    if not _staged(write, mode) and not rows:  # to get the server's errors about the statement
        run(connection, f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(names)} FROM {table} WHERE FALSE")
    elif mode == "upsert" and not write.delete:
        try:
            _upsert(connection, write, rows, form, _on_duplicate(table, keys, others))
        except pymysql.OperationalError as e:
            if e.args[0] != _TWO_ROWS or not _met_another(connection):
                raise
            if len(rows) == 1:
                with suppress(
                    pymysql.OperationalError
                ):  # a plain insert fails at the same key, and its error names the key
                    _upsert(connection, write, rows, form)
            raise pymysql.IntegrityError(
                _DUPLICATE, "A row with another primary key has the same value in a unique key"
            ) from None
    elif _staged(write, mode):
        return _put_on(connection, write, table, _fill_stage(connection, write, rows, form))
    else:
        _insert(connection, f"INSERT INTO {table} ({', '.join(names)}) VALUES ", rows)
    return 0


def _upsert(connection: Connection, write: Write, rows: list[tuple[Any, ...]], form: str, tail: str = "") -> None:
    """Insert rows, and update existing ones as `tail`, the end of the statement, specifies."""
    if write.kept:
        _upsert_keeping(connection, write, rows, _fill_stage(connection, write, rows, form), tail)
    else:
        names = ", ".join(quoted(connection, name) for name in write.columns)
        _insert(connection, f"INSERT INTO {quoted(connection, write.table)} ({names}) VALUES ", rows, tail)


def _fill_stage(connection: Connection, write: Write, rows: list[tuple[Any, ...]], form: str) -> str:
    """Replace the rows of the temporary table, and return its name."""
    stage = _stage_name(connection, write, form)
    run(connection, f"DELETE FROM {stage}")
    names = ", ".join(quoted(connection, name) for name in write.columns)
    _insert(connection, f"INSERT INTO {stage} ({names}) VALUES ", rows)
    return stage


def _on_duplicate(table: str, keys: list[str], others: list[str]) -> str:
    right = " AND ".join(f"{table}.{key} <=> VALUES({key})" for key in keys)
    changes = [f"{keys[0]} = IF({right}, {table}.{keys[0]}, {_REFUSAL})"]
    changes += (f"{name} = VALUES({name})" for name in others)
    return f" ON DUPLICATE KEY UPDATE {', '.join(changes)}"


def _met_another(connection: Connection) -> bool:
    """Return whether the last upsert was refused since it would have changed a row with another primary key."""
    with driver(connection).cursor() as cursor:
        cursor.execute("SELECT @penstock_other IS NOT NULL")
        ((found,),) = cursor.fetchall()
        cursor.execute("SET @penstock_other = NULL")
    return bool(found)


def _upsert_keeping(connection: Connection, write: Write, rows: list[tuple[Any, ...]], stage: str, tail: str) -> None:
    """Upsert the rows of the temporary table, with the stored values of columns that they lack: these may be NOT NULL.

    A new row is inserted without these columns, so that it gets their defaults, or values from a trigger.
    """
    table, number = quoted(connection, write.table), quoted(connection, _NUMBER)
    names = [quoted(connection, name) for name in write.columns]
    kept = [quoted(connection, name) for name in write.kept]
    keys = names[: len(write.keys)]
    new = _new_rows(connection, table, stage, keys)
    if new:
        _insert(
            connection, f"INSERT INTO {table} ({', '.join(names)}) VALUES ", [rows[at] for at in new.values()], tail
        )
        run(connection, f"DELETE FROM {stage} WHERE {number} IN ({', '.join(map(str, new))})")
    match = " AND ".join(f"{_STORED}.{key} = {_GIVEN}.{key}" for key in keys)
    chosen = ", ".join([*(f"{_GIVEN}.{name}" for name in names), *(f"{_STORED}.{name}" for name in kept)])
    run(
        connection,
        f"INSERT INTO {table} ({', '.join(names + kept)}) SELECT {chosen} FROM {stage} {_GIVEN} "
        f"LEFT JOIN {table} {_STORED} ON {match} ORDER BY {number}{tail}",
    )


def _new_rows(connection: Connection, table: str, stage: str, keys: list[str]) -> dict[int, int]:
    """Return the first row of each key that is not in the table: its number in the temporary table, and its index."""
    number, place = quoted(connection, _NUMBER), quoted(connection, _PLACE)
    numbered = (
        f"SELECT {number}, {', '.join(keys)}, ROW_NUMBER() OVER (ORDER BY {number}) - 1 AS {place}, "
        f"ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)} ORDER BY {number}) AS {_NTH} FROM {stage}"
    )
    match = " AND ".join(f"{_STORED}.{key} = {_GIVEN}.{key}" for key in keys)
    with driver(connection).cursor() as cursor:
        cursor.execute(
            f"SELECT {_GIVEN}.{number}, {_GIVEN}.{place} FROM ({numbered}) {_GIVEN} LEFT JOIN {table} {_STORED} ON {match} "
            f"WHERE {_GIVEN}.{_NTH} = 1 AND {_STORED}.{keys[0]} IS NULL ORDER BY 1"
        )
        return {int(number): int(place) for number, place in cursor.fetchall()}


def same_keys(connection: Connection, keys: Write, rows: list[tuple[Any, ...]], form: str) -> list[int]:
    """Number the primary keys, with the same number for keys that are equal by the types of their columns.

    Raises:
        pymysql.Error: the server refuses the keys.
    """
    stage, columns = _stage_name(connection, keys, form), ", ".join(quoted(connection, name) for name in keys.keys)
    run(connection, f"DELETE FROM {stage}")
    _insert(connection, f"INSERT INTO {stage} ({columns}) VALUES ", rows)
    with driver(connection).cursor() as cursor:
        number = quoted(connection, _NUMBER)
        cursor.execute(f"SELECT DENSE_RANK() OVER (ORDER BY {columns}) FROM {stage} ORDER BY {number}")
        return [int(rank) for (rank,) in cursor.fetchall()]


def _insert(connection: Connection, head: str, rows: list[tuple[Any, ...]], tail: str = "") -> None:
    most = int(_max_allowed_packet(connection)) - _HEAD
    before, behind = head.encode(), tail.encode()
    for chunk in chunks(rows, min(_CHUNK, most), most):
        driver(connection).query(before + chunk + behind)


def _max_allowed_packet(connection: Connection) -> int:
    found: int | None = connection.info.get("max_allowed_packet")
    if found is None:
        with driver(connection).cursor() as cursor:
            cursor.execute("SELECT @@max_allowed_packet")
            found = connection.info["max_allowed_packet"] = int(cursor.fetchone()[0])
    return found


def _staged(write: Write, mode: str) -> bool:
    """Return whether rows are written through a temporary table, which compares keys as the target does."""
    return write.delete or mode == "update" or bool(write.kept)


def _put_on(connection: Connection, write: Write, table: str, stage: str) -> int:
    """Update or delete the rows whose keys are in the temporary table, and return how many rows an update found."""
    names = [quoted(connection, name) for name in write.columns]
    keys, others = names[: len(write.keys)], names[len(write.keys) :]
    match = " AND ".join(f"t.{key} = s.{key}" for key in keys)
    if write.delete:
        run(connection, f"DELETE t FROM {stage} s STRAIGHT_JOIN {table} t ON {match}")
    elif others:
        number, place = quoted(connection, _NUMBER), quoted(connection, _PLACE)
        last = (
            f"SELECT {', '.join(names)}, ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)} ORDER BY {number} DESC) "
            f"AS {place} FROM {stage}"
        )
        changes = ", ".join(f"t.{name} = s.{name}" for name in others)
        return run(
            connection, f"UPDATE ({last}) s STRAIGHT_JOIN {table} t ON {match} SET {changes} WHERE s.{place} = 1"
        )
    return 0


def _stage(connection: Connection, write: Write, form: str) -> None:
    """Create a temporary table with these columns of the target. It exists until the session ends."""
    table, number = quoted(connection, write.table), quoted(connection, _NUMBER)
    columns = ", ".join(quoted(connection, name) for name in write.columns)
    run(
        connection,
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {_stage_name(connection, write, form)} "
        f"({number} BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB AS SELECT {columns} FROM {table} WHERE FALSE",
    )


def _stage_name(connection: Connection, write: Write, form: str) -> str:
    """Return the name of the temporary table, which is derived from its columns and the fingerprint of the target."""
    made_of = f"{write.table} {write.columns} {form}"
    return quoted(connection, "penstock_" + hashlib.sha256(made_of.encode()).hexdigest()[:32])
