"""A user with only the privileges that docs/connectors/sql.md lists writes to PostgreSQL; with one fewer, the task fails."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock import ConnectError, Record
from penstock.testing import run_writer
from penstock_sql.sink import SqlSink

UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id"}
DELETE = {"pk.mode": "record_key", "pk.fields": "id", "delete.enabled": "true"}
ROW = Record(topic="orders", key=1, value={"id": 1, "note": "new"})
TOMBSTONE = Record(topic="orders", key=1, value=None)
CASES = [
    pytest.param({}, ROW, {"INSERT"}, False, id="insert"),
    pytest.param({}, ROW, {"INSERT", "TEMPORARY"}, True, id="insert under row-level security"),
    pytest.param(UPSERT, ROW, {"INSERT", "SELECT", "UPDATE", "TEMPORARY"}, False, id="upsert"),
    pytest.param({**UPSERT, "insert.mode": "update"}, ROW, {"SELECT", "UPDATE", "TEMPORARY"}, False, id="update"),
    pytest.param(DELETE, TOMBSTONE, {"DELETE", "SELECT", "TEMPORARY"}, False, id="tombstone"),
]


@pytest.fixture
def writer(database: Any) -> Iterator[dict[str, str]]:
    """Properties of a user who may only create `penstock_offsets`."""
    database.run("DROP ROLE IF EXISTS writer")
    database.run("CREATE ROLE writer LOGIN PASSWORD 'secret'")
    database.run(f'REVOKE TEMPORARY ON DATABASE "{database.name}" FROM PUBLIC')
    database.run("GRANT CREATE ON SCHEMA public TO writer")
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)")
    try:
        yield {**database.properties, "connection.user": "writer"}
    finally:
        database.run("DROP OWNED BY writer")
        database.run("DROP ROLE writer")


@pytest.mark.parametrize(("properties", "record", "privileges", "policies"), CASES)
def test_the_listed_privileges_are_sufficient_and_each_is_necessary(
    database: Any,
    writer: dict[str, str],
    properties: dict[str, str],
    record: Record,
    privileges: set[str],
    policies: bool,
) -> None:
    if policies:
        database.run("ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
        database.run("CREATE POLICY any_row ON orders USING (true)")
    for missing in (*sorted(privileges), None):
        database.run("REVOKE ALL ON orders FROM writer")
        database.run(f'REVOKE TEMPORARY ON DATABASE "{database.name}" FROM writer')
        for privilege in privileges - {missing}:
            on = f'DATABASE "{database.name}"' if privilege == "TEMPORARY" else "orders"
            database.run(f"GRANT {privilege} ON {on} TO writer")
        if missing is None:
            assert run_writer(SqlSink, {**writer, **properties}, [[record]]) == []
        else:
            with pytest.raises(ConnectError, match="permission denied"):
                run_writer(SqlSink, {**writer, **properties}, [[record]])
