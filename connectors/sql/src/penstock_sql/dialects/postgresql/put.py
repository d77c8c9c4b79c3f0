"""Write rows to PostgreSQL with COPY, directly into the table or through a temporary table."""

import hashlib
from typing import Any, Final

import psycopg
from sqlalchemy import Connection

from penstock_sql.dialects.base import Write
from penstock_sql.dialects.postgresql.table_form import has_policies
from penstock_sql.dialects.statements import driver, quoted, run

__all__ = [
    "begin",
    "begin_definition",
    "end_others",
    "prepare",
    "put",
    "same_keys",
    "staged_rows",
]

_BOUNDS: Final = "SET LOCAL lock_timeout = '60s'; SET LOCAL idle_in_transaction_session_timeout = '60s'"
"""Limits of a transaction: a writer that hangs in a transaction must not hold its locks forever."""
_DEFINITION_SECONDS: Final = 5
_LEFT: Final = 500
"""Number of dead rows that may remain in a temporary table. Each TRUNCATE changes the catalog, and slows down later ones in
the same transaction; dead rows are scanned by every statement. A batch that is split into single rows leaves thousands."""
_NUMBER: Final = '"penstock row number"'
"""Column that numbers the rows of a temporary table. ctid is not in order: a later row may fill a gap in an earlier page."""
_END: Final = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND pid <> pg_backend_pid() "
    "AND usename = current_user AND datname = current_database() AND xact_start IS NOT NULL"
)


def begin(connection: Connection, zone: str) -> None:
    """Limit how long this transaction waits for others and others for it, and set the zone of timestamps without a zone."""
    run(connection, f"{_BOUNDS}; SET LOCAL TimeZone = '{zone}'")


def begin_definition(connection: Connection) -> None:
    """Limit waiting for locks to a few seconds, since a waiting change of a table blocks all other sessions."""
    run(connection, f"{_BOUNDS}; SET LOCAL lock_timeout = '{_DEFINITION_SECONDS}s'")


def end_others(connection: Connection, name: str) -> None:
    """End transactions of other connections with this name: a writer that hangs in COPY holds its locks forever."""
    driver(connection).execute(_END, (name,))


def prepare(connection: Connection, write: Write, mode: str, form: str) -> None:
    """Create the temporary table that `put` needs. Call it before a savepoint, whose rollback would drop the table."""
    if _staged(write, mode, form):
        _stage(connection, write, form)


def put(connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str, form: str) -> int:
    """Insert, upsert, update or delete rows, and return how many rows an update found.

    Raises:
        psycopg.Error: the server refuses the rows.
        DataError: a name is not valid in the database.
    """
    table, columns = quoted(connection, write.table), _listed(connection, write)
    if not _staged(write, mode, form):
        _copy(connection, table, columns, rows)
        return 0
    stage = _stage_name(connection, write, form)
    _fill(connection, stage, columns, rows)
    found = _put_on(connection, write, mode, stage)
    _clear(connection, stage)
    return found


def same_keys(connection: Connection, keys: Write, rows: list[tuple[Any, ...]], form: str) -> list[int]:
    """Number the primary keys, with the same number for keys that are equal by the types of their columns.

    Raises:
        psycopg.Error: the server refuses the keys.
    """
    stage, columns = _stage_name(connection, keys, form), _listed(connection, keys)
    _fill(connection, stage, columns, rows)
    ranks = f"SELECT dense_rank() OVER (ORDER BY {columns}) FROM {stage} ORDER BY {_NUMBER}"
    found = [int(rank) for (rank,) in driver(connection).execute(ranks)]
    _clear(connection, stage)
    return found


def staged_rows(connection: Connection, write: Write, form: str, chosen: str, where: str) -> list[tuple[Any, ...]]:
    """Select from the rows of `write`, with the alias `s`; `s.number` is the index of a row in `write`.

    Raises:
        psycopg.Error: the server refuses the rows.
    """
    _stage(connection, write, form)
    stage = _stage_name(connection, write, form)
    _fill(connection, stage, _listed(connection, write), [row for _, row in write.rows])
    rows = f"SELECT *, row_number() OVER (ORDER BY {_NUMBER})::int - 1 AS number FROM {stage}"
    found = driver(connection).execute(f"SELECT {chosen} FROM ({rows}) s WHERE {where}").fetchall()
    _clear(connection, stage)
    return list(found)


def _fill(connection: Connection, stage: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
    connection.info[stage] = connection.info.get(stage, 0) + len(rows)
    _copy(connection, stage, columns, rows)


def _clear(connection: Connection, stage: str) -> None:
    if connection.info[stage] > _LEFT:
        run(connection, f"TRUNCATE {stage}")
        connection.info[stage] = 0
    else:
        run(connection, f"DELETE FROM {stage}")


def _staged(write: Write, mode: str, form: str) -> bool:
    """Return whether rows are written through a temporary table. Row-level security requires it, since it rejects COPY."""
    return write.delete or mode != "insert" or has_policies(form)


def _put_on(connection: Connection, write: Write, mode: str, stage: str) -> int:
    """Write the rows of the temporary table to their table, and return how many rows an update found."""
    table = quoted(connection, write.table)
    names = [quoted(connection, name) for name in write.columns]
    columns = ", ".join(names)
    keys = names[: len(write.keys)]
    others = [quoted(connection, name) for name in write.columns[len(keys) :] if name not in write.fixed]
    match = " AND ".join(f"t.{key} = s.{key}" for key in keys)
    order = ", ".join(keys)  # all tasks lock rows in this order, which avoids deadlocks
    if not write.delete and mode != "insert":
        _refuse_changes_of_fixed(connection, write, stage, match)
    if write.delete:
        run(connection, f"DELETE FROM {table} t USING {stage} s WHERE {match}")
    elif mode == "insert":
        chosen = f"SELECT {columns} FROM {stage} ORDER BY {_NUMBER}"
        run(connection, f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE {chosen}")
    elif mode == "upsert":
        changes = ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
        last = _last(columns, order, stage)
        if write.kept:  # the inserted row includes the stored values, since a column may be NOT NULL
            kept = [quoted(connection, name) for name in write.kept]
            chosen = ", ".join([*(f"s.{name}" for name in names), *(f"t.{name}" for name in kept)])
            ordered = ", ".join(f"s.{key}" for key in keys)
            last = f"SELECT {chosen} FROM ({last}) s LEFT JOIN {table} t ON {match} ORDER BY {ordered}"
            columns = ", ".join([columns, *kept])
        run(
            connection,
            f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE {last} "
            f"ON CONFLICT ({order}) DO {f'UPDATE SET {changes}' if others else 'NOTHING'}",
        )
    elif others:
        changes = ", ".join(f"{name} = s.{name}" for name in others)
        return run(connection, f"UPDATE {table} t SET {changes} FROM ({_last(columns, order, stage)}) s WHERE {match}")
    return 0


def _refuse_changes_of_fixed(connection: Connection, write: Write, stage: str, match: str) -> None:
    """Refuse rows that would change an identity column. The database cannot update one, even to the same value.

    Raises:
        psycopg.Error: there are such rows.
    """
    for name in write.columns[len(write.keys) :]:
        if name in write.fixed:
            column = quoted(connection, name)
            table, changed = quoted(connection, write.table), f"t.{column} IS DISTINCT FROM s.{column}"
            if run(connection, f"SELECT FROM {stage} s JOIN {table} t ON {match} WHERE {changed} LIMIT 1"):
                raise psycopg.errors.GeneratedAlways(
                    f"column {name} is GENERATED ALWAYS AS IDENTITY, and its value cannot be changed in an existing row; "
                    "remove the field with the transform ReplaceField"
                )


def _last(columns: str, keys: str, stage: str) -> str:
    """Return a query of the last row of each key, in the order of keys.

    The database decides which keys are equal, for example uuids in upper and lower case.
    """
    return f"SELECT DISTINCT ON ({keys}) {columns} FROM {stage} ORDER BY {keys}, {_NUMBER} DESC"


def _stage(connection: Connection, write: Write, form: str) -> None:
    """Create a temporary table with these columns of the target. It exists until the session ends; commits empty it."""
    table, stage = quoted(connection, write.table), _stage_name(connection, write, form)
    columns = _listed(connection, write)
    run(
        connection,
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {stage.removeprefix('pg_temp.')} ON COMMIT DELETE ROWS AS "
        f"SELECT {columns} FROM {table} WITH NO DATA; "
        f"ALTER TABLE {stage} ADD COLUMN IF NOT EXISTS {_NUMBER} BIGINT GENERATED ALWAYS AS IDENTITY",
    )


def _stage_name(connection: Connection, write: Write, form: str) -> str:
    """Return the name of the temporary table, which is derived from its columns and the fingerprint of the target."""
    made_of = f"{quoted(connection, write.table)} {_listed(connection, write)} {form}"
    return "pg_temp.penstock_" + hashlib.sha256(made_of.encode()).hexdigest()[:32]


def _listed(connection: Connection, write: Write) -> str:
    return ", ".join(quoted(connection, name) for name in write.columns)


def _copy(connection: Connection, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
    with driver(connection).cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        write = copy.write_row
        for row in rows:
            write(row)
