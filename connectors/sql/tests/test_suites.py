"""The suite of every sink, on both databases."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock import Record
from penstock.schema import INT64, STRING, struct
from penstock.testing import SinkSuite
from penstock_sql.sink import SqlSink

ROW = struct({"id": INT64, "name": STRING})
RECORDS = tuple(
    Record(topic="t", key=str(n), key_schema=STRING, value={"id": n, "name": f"name {n}"}, value_schema=ROW, offset=n)
    for n in range(9)
)


class TestPostgresql(SinkSuite):
    plugin = SqlSink
    exactly_once = True
    records = RECORDS

    @pytest.fixture
    def properties(self, database: Any) -> Mapping[str, str]:
        database.run("CREATE TABLE t (at SERIAL, id BIGINT, name TEXT)")
        self.database = database
        return dict(database.properties)

    def stored(self, properties: Mapping[str, str]) -> list[Any]:
        return self.database.rows("SELECT id, name FROM t ORDER BY at")  # type: ignore[no-any-return]


class TestSqlite(SinkSuite):
    plugin = SqlSink
    exactly_once = True
    records = RECORDS

    @pytest.fixture
    def properties(self, tmp_path: Path) -> Mapping[str, str]:
        return {"connection.url": f"jdbc:sqlite:{tmp_path}/rows.db", "auto.create": "true"}

    def stored(self, properties: Mapping[str, str]) -> list[Any]:
        file = properties["connection.url"].removeprefix("jdbc:sqlite:")
        with closing(sqlite3.connect(file)) as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 't'").fetchall():
                return []
            return database.execute("SELECT id, name FROM t ORDER BY rowid").fetchall()


class TestUpsert(TestPostgresql):
    @pytest.fixture
    def properties(self, database: Any) -> Mapping[str, str]:
        self.database = database
        modes = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", "auto.create": "true"}
        return {**database.properties, **modes}

    def stored(self, properties: Mapping[str, str]) -> list[Any]:
        if not self.database.rows("SELECT 1 FROM pg_tables WHERE tablename = 't'"):
            return []
        return self.database.rows("SELECT id, name FROM t ORDER BY id")  # type: ignore[no-any-return]
