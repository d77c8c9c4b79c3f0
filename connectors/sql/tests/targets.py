"""Tables of each database, for what holds in all of them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from penstock import Record
from penstock.testing import run_writer
from penstock_sql.sink import SqlSink

__all__ = ["KEYED", "File", "Target"]

KEYED = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "k", "delete.enabled": "true"}


class Target:
    """A table in one of the databases, its key column `k`, with the one row that a test may leave."""

    def __init__(self, database: Any, kind: str = "postgresql") -> None:
        self.database = database
        self.kind = kind

    def make(self, columns: str, table: str = "t") -> None:
        self.database.run(f"CREATE TABLE {table} ({columns})")

    def write(self, *batch: Record, **properties: str) -> list[str]:
        given = {name.replace("_", "."): value for name, value in properties.items()}
        errors = run_writer(SqlSink, {**self.database.properties, **KEYED, **given}, [list(batch)])
        return [str(error) for _, error in errors]

    def rows(self, columns: str = "v, w", table: str = "t") -> list[tuple[Any, ...]]:
        return [tuple(found) for found in self.database.rows(f"SELECT {columns} FROM {table} ORDER BY 1")]


class File:
    """A file of SQLite."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.properties = {"connection.url": f"jdbc:sqlite:{file}"}

    def run(self, statement: str) -> None:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute(statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute(statement).fetchall()
