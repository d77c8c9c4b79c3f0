"""Write rows to SQLite, with one prepared statement for many rows."""

import math
import sqlite3
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Connection

from penstock_sql.dialects.base import Write
from penstock_sql.dialects.statements import driver, quoted

__all__ = ["put"]

_BOUND: Final = 2**63


def put(connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str) -> int:
    """Insert, upsert, update or delete rows, and return how many rows an update found.

    Raises:
        sqlite3.Error: SQLite refuses the rows.
        DataError: a name is not valid in SQLite.
    """
    table = quoted(connection, write.table)
    names = [quoted(connection, name) for name in write.columns]
    keys, others = names[: len(write.keys)], names[len(write.keys) :]
    match = " AND ".join(f"{key} = ?" for key in keys)
    cells = [tuple(map(_cell, row)) for row in rows]
    if write.delete:
        statement = f"DELETE FROM {table} WHERE {match}"
    elif mode == "update":
        if not others:
            return 0
        statement = f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in others)} WHERE {match}"
        cells = [row[len(keys) :] + row[: len(keys)] for row in cells]
    else:
        kept = [quoted(connection, name) for name in write.kept]
        values = ["?"] * len(names) + [f"(SELECT {name} FROM {table} WHERE {match})" for name in kept]
        cells = [row + row[: len(keys)] * len(kept) for row in cells] if kept else cells
        statement = f"INSERT INTO {table} ({', '.join(names + kept)}) VALUES ({', '.join(values)})"
        if mode == "upsert":
            changes = ", ".join(f"{name} = excluded.{name}" for name in others)
            statement += f" ON CONFLICT ({', '.join(keys)}) DO {f'UPDATE SET {changes}' if others else 'NOTHING'}"
    found: int = driver(connection).executemany(statement, cells).rowcount
    return found


def _cell(value: Any) -> Any:
    """Convert a value to the form that SQLAlchemy's types read back.

    Raises:
        sqlite3.DataError: SQLite would store a different number, or null.
    """
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", "microseconds")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, int) and not -_BOUND <= value < _BOUND:
        return _as_float(value)
    if isinstance(value, float) and math.isnan(value):
        raise sqlite3.DataError("cannot store NaN: SQLite would store null; use a text column")
    if isinstance(value, Decimal):
        if value.is_finite() and math.isinf(float(value)):
            raise sqlite3.DataError("cannot store a number beyond the range of floats; use a text column")
        return str(value)
    return value


def _as_float(value: int) -> float:
    with suppress(OverflowError):
        if int(number := float(value)) == value:
            return number
    raise sqlite3.DataError("cannot store an integer of more than 64 bits exactly; use a text column")
