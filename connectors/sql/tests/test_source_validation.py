"""What a user of the source is told of tables, columns and queries: before it starts, and while it finds nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from connectors.sql.tests.targets import File

from penstock import ConfigError, Limits, RetriableError
from penstock.testing import run_source
from penstock.testing._making import make, parsed
from penstock.testing._source_run import SourceRun
from penstock_sql.dialects.postgresql import put
from penstock_sql.source import SqlSource

BY_ID = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "shop.", "poll.interval.ms": "0"}
BY_TIME = {"mode": "timestamp", "timestamp.column.name": "at", "topic.prefix": "shop.", "poll.interval.ms": "0"}


class Shop:
    """An empty database of any kind."""

    def __init__(self, kind: str, database: Any) -> None:
        self.kind = kind
        self.database = database
        self.run = database.run
        self.properties: dict[str, str] = getattr(database, "reading", database.properties)

    def validated(self, **more: str) -> list[str]:
        given = {**self.properties, **BY_ID, **{name.replace("_", "."): value for name, value in more.items()}}
        return [str(problem) for problem in make(SqlSource).validate(parsed(SqlSource, given))]


@pytest.fixture(params=["postgresql", "mariadb", "sqlite"])
def shop(request: Any, tmp_path: Path) -> Shop:
    if request.param == "sqlite":
        file = File(tmp_path / "shop.db")
        file.run("PRAGMA user_version = 1")
        return Shop("sqlite", file)
    return Shop(request.param, request.getfixturevalue("database" if request.param == "postgresql" else "maria"))


@pytest.fixture(params=["postgresql", "mariadb"])
def server_shop(request: Any) -> Shop:
    return Shop(request.param, request.getfixturevalue("database" if request.param == "postgresql" else "maria"))


def test_the_full_name_of_a_table_may_begin_with_the_connected_database(shop: Shop) -> None:
    shop.run("CREATE TABLE orders (id INTEGER NOT NULL PRIMARY KEY)")
    shop.run("INSERT INTO orders VALUES (1)")
    name = {"postgresql": "{}.public.orders", "mariadb": "{}.orders", "sqlite": "main.orders"}[shop.kind]
    full = name.format(getattr(shop.database, "name", ""))
    found = run_source(SqlSource, {**shop.properties, **BY_ID, "table.whitelist": full})
    assert [(record.topic, record.value["id"]) for record in found] == [("shop.orders", 1)]
    assert shop.validated(table_whitelist=full) == []
    if shop.kind == "postgresql":
        quoted = f'"{shop.database.name}"."public"."orders"'
        assert len(run_source(SqlSource, {**shop.properties, **BY_ID, "table.whitelist": quoted})) == 1


@pytest.mark.parametrize("of", ["table.whitelist", "table.blacklist"])
def test_the_full_name_of_a_table_of_another_database_is_explained(shop: Shop, of: str) -> None:
    wrong = {"postgresql": "other.public.orders", "mariadb": "a.b.orders", "sqlite": "other.orders"}[shop.kind]
    found = shop.validated(**{of: f"{wrong},a.b.c.d"})
    assert [text.partition(":")[0] for text in found] == [of, of]
    assert "table.name.format" not in str(found)
    if shop.kind == "mariadb":
        assert "write database.table" in found[0]
    else:
        assert "one database, and connection.url names" in found[0]
    with pytest.raises(ConfigError, match=f"{of}: cannot read {wrong}"):
        run_source(SqlSource, {**shop.properties, **BY_ID, of: wrong})


def test_names_with_commas_and_dots_are_named_in_quotation_marks(shop: Shop) -> None:
    mark = "`" if shop.kind == "mariadb" else '"'
    tables = ["a,b", "a, b", "a.b", "x", f'it{mark}s "', "`"]
    for table in tables:
        shop.run(f"CREATE TABLE {mark}{table.replace(mark, mark * 2)}{mark} (id INTEGER NOT NULL PRIMARY KEY)")

    def read(**properties: str) -> list[str]:
        given = {**shop.properties, **BY_ID, **{name.replace("_", "."): text for name, text in properties.items()}}
        (task,) = make(SqlSource).task_configs(parsed(SqlSource, given), given, 1)
        return sorted(name for *_, name in json.loads(task["task.tables"]))

    for quote in {'"', mark}:
        texts = [f"{quote}{table.replace(quote, quote * 2)}{quote}" for table in tables]
        assert read(table_whitelist=" , ".join(texts)) == sorted(tables)
        assert read(table_whitelist=texts[0]) == ["a,b"]
        assert read(table_blacklist=f"{texts[1]},x") == sorted(set(tables) - {"a, b", "x"})
    with pytest.raises(ConfigError, match=r'table\.whitelist: cannot read x,"a: it is not a table name'):
        read(table_whitelist='x,"a')


def test_the_status_reports_that_there_is_no_table(shop: Shop) -> None:
    given = {**shop.properties, **BY_ID}
    task = make(SqlSource).task_configs(parsed(SqlSource, given), given, 1)[0]
    with SourceRun(SqlSource, task, {}) as run, pytest.raises(RetriableError, match="cannot find a table") as raised:
        run.step(Limits(100, 10_000_000))
    assert raised.value.retry_after is not None
    assert raised.value.retry_after <= 60


def test_status_reports_rows_in_the_future_due_to_the_time_zone(server_shop: Shop) -> None:
    local = {"postgresql": "now() AT TIME ZONE 'Asia/Tokyo'", "mariadb": "UTC_TIMESTAMP() + INTERVAL 9 HOUR"}
    kind = {"postgresql": "timestamp", "mariadb": "DATETIME"}[server_shop.kind]
    server_shop.run(f"CREATE TABLE orders (id INT PRIMARY KEY, at {kind} NOT NULL)")
    server_shop.run(f"INSERT INTO orders SELECT 1, {local[server_shop.kind]} - INTERVAL '5' MINUTE")
    given = {**server_shop.properties, **BY_TIME}
    with pytest.raises(
        RetriableError, match=r"orders yet: all rows are in the future .* set db.timezone, which is UTC"
    ):
        run_source(SqlSource, given)
    assert len(run_source(SqlSource, {**given, "db.timezone": "Asia/Tokyo"})) == 1


def test_a_row_that_is_not_old_enough_yet_is_no_row_of_the_future(server_shop: Shop) -> None:
    kind = {"postgresql": "timestamptz", "mariadb": "TIMESTAMP"}[server_shop.kind]
    server_shop.run(f"CREATE TABLE orders (id INT PRIMARY KEY, at {kind} NOT NULL)")
    server_shop.run("INSERT INTO orders VALUES (1, now())")
    given = {**server_shop.properties, **BY_TIME, "timestamp.delay.interval.ms": "600000"}
    assert run_source(SqlSource, given) == []


def test_a_missing_incrementing_column_is_reported_before_the_start(shop: Shop) -> None:
    shop.run("CREATE TABLE orders (nr INTEGER NOT NULL PRIMARY KEY)")
    (found,) = shop.validated()
    assert found.startswith("incrementing.column.name: Table ")
    assert "has no column id" in found
    assert shop.validated(mode="bulk") == []


@pytest.mark.parametrize("kind", ["VARCHAR(10)", "TEXT", "DATE", "DOUBLE PRECISION", "TIMESTAMP"])
def test_a_non_integer_incrementing_column_is_reported_before_the_start(shop: Shop, kind: str) -> None:
    shop.run(f"CREATE TABLE orders (nr INTEGER PRIMARY KEY, id {kind} NOT NULL)")
    (found,) = shop.validated()
    assert found.startswith("incrementing.column.name: id of ")
    assert "must hold whole numbers" in found


@pytest.mark.parametrize("kind", ["SMALLINT", "INTEGER", "BIGINT", "NUMERIC(20)", "DECIMAL(10, 0)"])
def test_an_incrementing_column_of_whole_numbers_passes(shop: Shop, kind: str) -> None:
    shop.run(f"CREATE TABLE orders (nr INTEGER PRIMARY KEY, id {kind} NOT NULL)")
    assert shop.validated() == []


def test_a_nullable_incrementing_column_is_reported_before_the_start(shop: Shop) -> None:
    shop.run("CREATE TABLE orders (nr INTEGER PRIMARY KEY, id INTEGER)")
    (found,) = shop.validated()
    assert "may be null" in found
    assert shop.validated(validate_non_null="false") == []


@pytest.mark.parametrize("kind", ["INT", "DATE", "VARCHAR(30)"])
def test_an_invalid_timestamp_column_is_reported_together_with_other_problems(server_shop: Shop, kind: str) -> None:
    server_shop.run(f"CREATE TABLE orders (id VARCHAR(9), at {kind} NOT NULL)")
    given = {"mode": "timestamp+incrementing", "timestamp.column.name": "at"}
    found = server_shop.validated(**given)
    assert [text.partition(":")[0] for text in found] == [
        "incrementing.column.name", "timestamp.column.name", "incrementing.column.name"
    ]  # fmt: skip
    found = server_shop.validated(**{**given, "timestamp.column.name": "missing"})
    assert "timestamp.column.name: Table" in found[0]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT id FROM nowhere", "query: cannot run the query"),
        ("SELEC id FROM orders", "query: cannot run the query"),
        ("SELECT nothing FROM orders", "query: cannot run the query"),
        ("SELECT nr FROM orders", "query: cannot run the query"),
        ("SELECT name AS id FROM orders", "incrementing.column.name: id of the query is not an integer column"),
    ],
)
def test_a_broken_query_is_reported_before_the_start(server_shop: Shop, query: str, words: str) -> None:
    server_shop.run("CREATE TABLE orders (nr INT PRIMARY KEY, name VARCHAR(10))")
    (found,) = server_shop.validated(query=query)
    assert found.startswith(words)
    assert server_shop.validated(query="SELECT nr AS id FROM orders") == []


def test_a_broken_query_of_bulk_is_reported_before_the_start(server_shop: Shop) -> None:
    (found,) = server_shop.validated(query="SELECT id FROM nowhere", mode="bulk")
    assert found.startswith("query: cannot run the query")


@pytest.mark.parametrize("engine", ["MyISAM", "Aria", "MEMORY"])
def test_a_table_without_transactions_is_reported_before_the_start(maria: Any, engine: str) -> None:
    shop = Shop("mariadb", maria)
    shop.run(f"CREATE TABLE orders (id INT PRIMARY KEY) ENGINE={engine}")
    (found,) = shop.validated()
    assert f"orders has the engine {engine}" in found
    assert "ENGINE=InnoDB" in found
    assert shop.validated(mode="bulk") == []


def test_a_time_of_a_day_is_no_timestamp_of_the_mode(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, at TIME NOT NULL)")
    given = {**database.properties, "mode": "timestamp", "timestamp.column.name": "at", "topic.prefix": "t."}
    (found,) = make(SqlSource).validate(parsed(SqlSource, given))
    assert str(found).startswith("timestamp.column.name: at of public.orders must all be timestamps")


def test_a_table_that_somebody_holds_locked_does_not_hold_up_planning(database: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(put, "_DEFINITION_SECONDS", 0.1)
    database.run("CREATE TABLE orders (id INT PRIMARY KEY)")
    query = {"query": "SELECT * FROM orders", "mode": "bulk", "topic.prefix": "t."}
    config = parsed(SqlSource, {**database.properties, **query})
    with database.server.connect(database.name) as other:
        other.execute("BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        assert list(make(SqlSource).validate(config)) == []  # it may pass
        other.execute("ROLLBACK")
