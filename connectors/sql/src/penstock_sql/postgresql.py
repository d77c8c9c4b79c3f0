"""How rows get into PostgreSQL: by COPY, into the table itself or into a temporary one from which they go on."""

import hashlib
from typing import Any, Final

from sqlalchemy import Connection

from penstock_sql.order import Write
from penstock_sql.statements import driver, has_policies, quoted, run

__all__ = ["begin", "begin_definition", "end_others", "put"]

_BOUNDS: Final = "SET LOCAL lock_timeout = '60s'; SET LOCAL idle_in_transaction_session_timeout = '60s'"
"""A writer that was frozen in the middle of a transaction must not hold its locks for ever."""
_END: Final = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND pid <> pg_backend_pid() "
    "AND usename = current_user AND datname = current_database() AND xact_start IS NOT NULL"
)


def begin(connection: Connection, zone: str, *, whole: bool) -> None:
    """Bound how long this transaction waits for others, and they for it. Texts without a zone are read in this one."""
    run(connection, f"{_BOUNDS}; SET LOCAL TimeZone = '{zone}'" + ("" if whole else "; SET CONSTRAINTS ALL IMMEDIATE"))


def begin_definition(connection: Connection) -> None:
    """Wait for seconds only, since all others queue behind a statement that changes a table."""
    run(connection, f"{_BOUNDS}; SET LOCAL lock_timeout = '5s'")


def end_others(connection: Connection, name: str) -> None:
    """End the transactions of other connections of this name: one that is frozen within COPY holds its locks for ever."""
    driver(connection).execute(_END, (name,))


def put(connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str, form: str) -> None:
    """Insert, upsert, update or delete rows.

    Raises:
        psycopg.Error: the server refuses them.
        DataError: a name that no table can have.
    """
    table = quoted(connection, write.table)
    names = [quoted(connection, name) for name in write.columns]
    columns = ", ".join(names)
    inserted = mode == "insert" and not write.delete
    if inserted and not has_policies(form):  # COPY does not look at policies, and is refused where there are some
        _copy(connection, table, columns, rows)
        return
    stage = _stage(connection, table, columns, form)
    _copy(connection, stage, columns, rows)
    if inserted:
        chosen = f"SELECT {columns} FROM {stage} ORDER BY ctid"
        run(connection, f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE {chosen}")
        return
    keys, others = names[: len(write.keys)], names[len(write.keys) :]
    match = " AND ".join(f"t.{key} = s.{key}" for key in keys)
    order = ", ".join(keys)  # all tasks lock rows in this order, so that they do not wait for each other in a circle
    if write.delete:
        run(connection, f"DELETE FROM {table} t USING {stage} s WHERE {match}")
    elif mode == "upsert":
        changes = ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
        run(
            connection,
            f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE {_last(columns, order, stage)} "
            f"ON CONFLICT ({order}) DO {f'UPDATE SET {changes}' if others else 'NOTHING'}",
        )
    elif others:
        changes = ", ".join(f"{name} = s.{name}" for name in others)
        run(connection, f"UPDATE {table} t SET {changes} FROM ({_last(columns, order, stage)}) s WHERE {match}")


def _last(columns: str, keys: str, stage: str) -> str:
    """The last row of each key, in the order of keys; keys are the same if the database finds so, as uuids in capitals."""
    return f"SELECT DISTINCT ON ({keys}) {columns} FROM {stage} ORDER BY {keys}, ctid DESC"


def _stage(connection: Connection, table: str, columns: str, form: str) -> str:
    """An empty temporary table with these columns of the target, which stays for the session and is emptied by commits."""
    name = "penstock_" + hashlib.sha256(f"{table} {columns} {form}".encode()).hexdigest()[:32]
    run(
        connection,
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} ON COMMIT DELETE ROWS AS SELECT {columns} FROM {table} WITH NO DATA",
    )
    run(connection, f"TRUNCATE pg_temp.{name}")
    return f"pg_temp.{name}"


def _copy(connection: Connection, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
    with driver(connection).cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        write = copy.write_row
        for row in rows:
            write(row)
