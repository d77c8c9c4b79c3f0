"""What a user is told of a configuration, before a task starts and while it runs."""

from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigError, ConnectError, Password, Record, RetriableError
from penstock.schema import INT32, struct
from penstock.testing import run_writer
from penstock.testing._making import make, parsed
from penstock_sql.address import address
from penstock_sql.names import TableName, table_name
from penstock_sql.sink import SqlSink

URL = {"connection.url": "jdbc:postgresql://db.example/shop"}
ROW = Record(topic="orders", value={"id": 1}, value_schema=struct({"id": INT32}))


def problems(properties: dict[str, str]) -> list[str]:
    """What parsing and `validate` say."""
    try:
        config = parsed(SqlSink, properties)
    except ConfigError as e:
        return [str(p) for p in e.problems]
    return [str(p) for p in make(SqlSink).validate(config)]


def test_all_rules_that_are_broken_are_told_at_once() -> None:
    found = problems({**URL, "insert.mode": "upsert", "delete.enabled": "true", "db.timezone": "Mars"})
    assert [text.partition(": ")[2] for text in found] == [
        "Invalid value Mars for configuration db.timezone: There is no such time zone; write an IANA name, such as "
        "Europe/Berlin"
    ]
    assert problems({**URL, "insert.mode": "upsert", "delete.enabled": "true"}) == [
        "pk.mode: insert.mode: upsert needs a primary key: set pk.mode to record_key, record_value or kafka",
        "delete.enabled: deletes rows by the record's key: set pk.mode: record_key",
    ]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("batch.size", "3000", "a batch is written as a whole"),
        ("max.retries", "10", "sink.retry.timeout.ms"),
        ("quote.sql.identifiers", "never", "names are always quoted"),
    ],
)
def test_a_property_that_would_have_no_effect_is_refused_with_the_reason(
    server: Any, name: str, value: str, words: str
) -> None:
    properties = {"connection.url": server.url(), "connection.user": "postgres", "connection.password": "secret"}
    (found,) = problems({**properties, name: value})
    assert found.startswith(f"{name}: ")
    assert words in found


def test_a_property_that_says_what_holds_anyway_passes(server: Any) -> None:
    properties = {"connection.url": server.url(), "connection.user": "postgres", "connection.password": "secret"}
    assert problems({**properties, "quote.sql.identifiers": "always"}) == []


def test_a_wrong_password_is_told_at_once(server: Any) -> None:
    (found,) = problems({"connection.url": server.url(), "connection.user": "postgres", "connection.password": "wrong"})
    assert found.startswith("connection.password: 127.0.0.1:")
    assert "password authentication failed" in found
    assert "wrong" not in found.replace("password authentication failed", "")


def test_a_database_that_does_not_exist_is_told_at_once(server: Any) -> None:
    given = {"connection.user": "postgres", "connection.password": "secret"}
    (found,) = problems({"connection.url": server.url("nowhere"), **given})
    assert found.startswith("connection.url: ")
    assert 'database "nowhere" does not exist' in found


def test_a_server_that_is_away_is_no_fault_of_the_configuration() -> None:
    away = {
        "connection.url": "jdbc:postgresql://127.0.0.1:1/shop",
        "connection.user": "u",
        "connection.password": "secret",
    }
    assert problems(away) == []
    with pytest.raises(RetriableError, match=r"Starting at 127\.0\.0\.1:1/shop failed"):
        run_writer(SqlSink, away, [[ROW]])


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("jdbc:oracle:thin:@db:1521/x", "is no supported database"),
        ("oracle://u:hidden@db/x", "oracle://...@db/x is no supported database"),
        ("mysql://u:hidden@db/x?frobnicate=1", "the parameter frobnicate has no effect here"),
        ("mariadb://u:hidden@db", "must name a host and a database"),
        ("mariadb://u:hidden@db/x?sslMode=maybe", "sslMode cannot be maybe"),
        ("mariadb://u:hidden@db/x?trustStore=file:x.jks", "Java's stores of keys are not read"),
        ("mariadb://u:hidden@db/x?serverSslCert=/nowhere.pem", "there is no file /nowhere.pem"),
        ("mariadb://u:hidden@db/x?sslMode=verify-full&trustServerCertificate=true", "take one out"),
        ("postgresql://db/x?frobnicate=1", "invalid URI query parameter"),
        ("jdbc:sqlite::memory:", "SQLite needs a file"),
    ],
)
def test_a_url_that_cannot_be_read_is_told_without_its_password(url: str, words: str) -> None:
    (found,) = problems({"connection.url": url})
    assert words in found
    assert "hidden" not in found


def test_a_url_of_jdbc_is_read_as_its_driver_reads_it() -> None:
    url = "jdbc:postgresql://a:5433,b/shop?currentSchema=sales&ssl=true&targetServerType=primary&ApplicationName=x"
    found = address(url, "user", Password("hidden"))
    assert found.place == "a:5433,b:5432/shop"
    assert "hidden" not in repr(found)
    wanted = {
        "host": "a,b", "port": "5433,", "dbname": "shop", "user": "user", "password": "hidden", "sslmode": "verify-full",
        "target_session_attrs": "read-write", "application_name": "x", "options": "-c search_path=sales",
    }  # fmt: skip
    assert {name: found.parameters[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("form", "topic", "table"),
    [
        ("${topic}", "orders", TableName(None, "orders")),
        ("${topic}", "shop.orders", TableName("shop", "orders")),
        ("shop.${topic}", "orders", TableName("shop", "orders")),
        ('"${topic}"', "a.b.c", TableName(None, "a.b.c")),
        ('"a""b"."${topic}"', 'c"d', TableName('a"b', 'c"d')),
        ("all", "orders", TableName(None, "all")),
    ],
)
def test_the_name_of_a_table_is_made_of_the_topic(form: str, topic: str, table: TableName) -> None:
    assert table_name(form, topic) == table


def test_a_user_who_may_not_create_tables_is_told_what_somebody_else_must_run(database: Any) -> None:
    database.run("DROP ROLE IF EXISTS writer")
    database.run("CREATE ROLE writer LOGIN PASSWORD 'secret'")
    database.run("CREATE TABLE orders (id INT)")
    database.run("GRANT INSERT ON orders TO writer")
    given = {**database.properties, "connection.user": "writer"}
    with pytest.raises(ConnectError, match="may not create the table penstock_offsets") as raised:
        run_writer(SqlSink, given, [[ROW]])
    statement = str(raised.value).partition("run: ")[2].partition("; GRANT")[0]
    database.run(statement)
    database.run("GRANT SELECT, INSERT, UPDATE, DELETE ON penstock_offsets TO writer")
    assert run_writer(SqlSink, given, [[ROW]]) == []
    assert database.rows("SELECT id FROM orders") == [(1,)]
    database.run("DROP OWNED BY writer")
    database.run("DROP ROLE writer")


def test_planning_makes_no_file(tmp_path: Path) -> None:
    from penstock_sql.source import SqlSource

    url = {"connection.url": f"jdbc:sqlite:{tmp_path}/a b%?.db"}
    assert problems(url) == []
    source = {**url, "mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "t."}
    (found,) = make(SqlSource).validate(parsed(SqlSource, source))
    assert "unable to open database file" in str(found)
    assert list(tmp_path.iterdir()) == []
    run_writer(SqlSink, {**url, "auto.create": "true"}, [[ROW]])
    assert [file.name for file in tmp_path.iterdir()] == ["a b%?.db"]
