"""Tables under row-level security, as a user whom their policies bind."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock import ConnectError, Record
from penstock.testing import run_writer
from penstock.testing._sink_life import SinkLife
from penstock_sql.sink import SqlSink

UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id", "delete.enabled": "true"}


def order(number: int, shop: str, key: int | None = None) -> Record:
    return Record(topic="orders", key=key, value={"id": number, "shop": shop})


@pytest.fixture
def tenant(database: Any) -> Iterator[dict[str, str]]:
    """The properties of a user who sees and writes the orders of the shop `ours` alone."""
    database.run("DROP ROLE IF EXISTS tenant")
    database.run("CREATE ROLE tenant LOGIN PASSWORD 'secret'")
    database.run("GRANT CREATE ON SCHEMA public TO tenant")
    database.run("CREATE TABLE orders (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, shop TEXT)")
    database.run("GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO tenant")
    database.run("ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
    database.run("CREATE POLICY own ON orders USING (shop = 'ours') WITH CHECK (shop = 'ours')")
    try:
        yield {**database.properties, "connection.user": "tenant"}
    finally:
        database.run("DROP OWNED BY tenant")
        database.run("DROP ROLE tenant")


@pytest.mark.parametrize("properties", [{}, UPSERT], ids=["insert", "upsert"])
def test_rows_that_a_policy_refuses_are_handed_back_and_the_others_are_there(
    database: Any, tenant: dict[str, str], properties: dict[str, str]
) -> None:
    batch = [order(n, "theirs" if n == 2 else "ours", key=n) for n in range(4)]
    ((record, error),) = run_writer(SqlSink, {**tenant, **properties}, [batch])
    assert record.key == 2
    assert "violates row-level security policy" in str(error)
    assert database.rows("SELECT id, shop FROM orders ORDER BY id") == [(0, "ours"), (1, "ours"), (3, "ours")]


def test_rows_under_policies_are_written_once_when_their_batch_is_repeated(
    database: Any, tenant: dict[str, str]
) -> None:
    with SinkLife(SqlSink, tenant) as life:
        batches = life.following([order(1, "ours"), order(2, "ours")])
        life.write(batches)
        life.write(batches)
        life.commit()
    assert database.rows("SELECT id FROM orders ORDER BY id") == [(1,), (2,)]


def test_policies_that_come_while_the_task_runs_are_noticed(database: Any, tenant: dict[str, str]) -> None:
    database.run("ALTER TABLE orders DISABLE ROW LEVEL SECURITY")
    with SinkLife(SqlSink, tenant) as life:
        life.write(life.following([order(1, "ours")]))
        database.run("ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
        life.write(life.following([order(2, "ours")]))
        life.commit()
    assert database.rows("SELECT id FROM orders ORDER BY id") == [(1,), (2,)]


def test_a_right_that_is_missing_still_stops_the_task(database: Any, tenant: dict[str, str]) -> None:
    database.run("REVOKE INSERT ON orders FROM tenant")
    with pytest.raises(ConnectError, match="permission denied"):
        run_writer(SqlSink, tenant, [[order(1, "ours")]])
