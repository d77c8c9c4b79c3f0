"""What of a query's text bounds its rows, which each database tells from comments and texts in a way of its own."""

from typing import Any

import pytest
from connectors.sql.tests.complete import read_all

from penstock_sql.address import dialect_of_url
from penstock_sql.dialects.postgresql.dialect import PostgreSql
from penstock_sql.source.query_text import limit_of

POSTGRESQL = PostgreSql()
BY_ID = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "t."}


@pytest.mark.parametrize(
    "end",
    ["LIMIT '10'", "LIMIT least(10,11)", "OFFSET '5'", "LIMIT CAST('5' AS int)", "LIMIT -(-5)", "LIMIT .5e1", "LIMIT @n",
     "LIMIT CASE WHEN true THEN 5 END", "limit abs(3)", "OFFSET $$5$$"],
)  # fmt: skip
def test_a_bounded_query_is_refused_however_the_bound_is_written(end: str) -> None:
    assert limit_of(f"SELECT id FROM orders ORDER BY id {end}", POSTGRESQL) is not None


@pytest.mark.parametrize(
    "query",
    ["SELECT id, 'LIMIT 5' AS limit_text FROM orders", "SELECT x.limit FROM orders x", 'SELECT "limit" FROM orders',
     "SELECT id FROM orders LIMIT ALL", "SELECT id FROM (SELECT id FROM orders LIMIT 5) q", "SELECT id -- LIMIT 5\nFROM a",
     "SELECT a AS offset FROM orders", "SELECT id FROM orders WHERE x.offset > 5"],
)  # fmt: skip
def test_a_query_without_a_bound_is_not_refused(query: str) -> None:
    assert limit_of(query, POSTGRESQL) is None


SAME_ROWS = {
    "postgresql": [
        "SELECT id FROM orders /* all /* of them */ LIMIT 1 */",
        "SELECT id FROM orders WHERE note <> E'a\\' LIMIT 1' AND 1 # 2 > 0",
        "SELECT id FROM orders WHERE note <> $a$ $$ LIMIT 1 $a$",
    ],
    "mariadb": [
        "SELECT id FROM orders # LIMIT 1",
        "SELECT id FROM orders # ; LIMIT 1\nWHERE note <> 'a\\' LIMIT 1'",
        "SELECT id FROM orders -- LIMIT 1",
        'SELECT id AS id FROM orders WHERE note <> "a\\" LIMIT 1"',
        "SELECT id FROM orders /* all /* of them LIMIT 1 */",
    ],
}


@pytest.mark.parametrize(("fixture", "kind"), [("database", "postgresql"), ("maria", "mariadb")])
def test_only_what_the_database_takes_for_a_bound_is_one(request: Any, fixture: str, kind: str) -> None:
    """Each database has comments and texts of its own."""
    database = request.getfixturevalue(fixture)
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, note VARCHAR(9))")
    database.run("INSERT INTO orders VALUES (1, 'x'), (2, 'x')")
    given = getattr(database, "reading", database.properties)
    for query in SAME_ROWS[kind]:
        records = read_all({**given, **BY_ID, "query": query})
        assert [record.value["id"] for record in records] == [1, 2], query


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        ("postgresql", "/* /* */ */ LIMIT 1"),
        ("postgresql", "/* # */ LIMIT 1"),
        ("mariadb", "/*! LIMIT 1 */"),
        ("mariadb", "/*M!100100 LIMIT 1 */"),
        ("mariadb", "/* /* */ LIMIT 1"),
        ("mariadb", "WHERE id = 1--1 LIMIT 1"),
    ],
)
def test_a_bound_behind_a_comment_or_in_one_that_is_carried_out_is_refused(kind: str, end: str) -> None:
    dialect = dialect_of_url(f"jdbc:{kind}://x")
    assert dialect is not None
    assert limit_of(f"SELECT id FROM orders {end}", dialect) == "LIMIT"
