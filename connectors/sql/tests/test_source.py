"""What becomes of rows in PostgreSQL."""

import datetime
import json
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from connectors.sql.tests.complete import SqlSourceSuite, read_all

from penstock import ConnectError, Instant, Record, Schema, SourcePartition
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    struct,
)  # fmt: skip
from penstock.testing import SourceSuite, run_writer
from penstock_sql.sink import SqlSink
from penstock_sql.source import SqlSource

BY_ID = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "shop.", "poll.interval.ms": "0"}
BY_TIME = {
    "mode": "timestamp+incrementing",
    "timestamp.column.name": "at",
    **{k: v for k, v in BY_ID.items() if k != "mode"},
}


def read(database: Any, offsets: Any = None, **properties: str) -> list[Record]:
    return read_all({**database.properties, **BY_ID, **properties}, offsets)


class TestIncrementing(SqlSourceSuite):
    @pytest.fixture
    def properties(self, database: Any) -> Mapping[str, str]:
        database.run("CREATE TABLE IF NOT EXISTS orders (id SERIAL PRIMARY KEY, name TEXT)")
        database.run("CREATE TABLE IF NOT EXISTS customers (id SERIAL PRIMARY KEY, name TEXT)")
        database.run("INSERT INTO orders (name) SELECT 'order ' || n FROM generate_series(1, 27) n")
        database.run("INSERT INTO customers (name) VALUES ('Ada')")
        return {**database.properties, **BY_ID}


class TestTimestamp(SqlSourceSuite):
    @pytest.fixture
    def properties(self, database: Any) -> Mapping[str, str]:
        database.run("CREATE TABLE IF NOT EXISTS orders (id SERIAL PRIMARY KEY, at TIMESTAMP NOT NULL)")
        database.run(
            "INSERT INTO orders (at) SELECT timestamp '2026-01-01' + (n / 5) * interval '1 us' FROM generate_series(1, 27) n"
        )
        return {**database.properties, **BY_TIME}


class TestSqlite(SourceSuite):
    plugin = SqlSource

    @pytest.fixture
    def properties(self, tmp_path: Path) -> Mapping[str, str]:
        with closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, name TEXT, price REAL, raw BLOB)"
            )
            database.executemany(
                "INSERT INTO orders (name, price, raw) VALUES (?, ?, ?)", [(f"n{n}", n / 4, b"x") for n in range(33)]
            )
        return {"connection.url": f"jdbc:sqlite:{tmp_path}/shop.db", **BY_ID}


def test_each_type_becomes_the_one_that_kafka_connect_has_for_it(database: Any) -> None:
    database.run(
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, small SMALLINT, whole INT, price NUMERIC(10, 2) NOT NULL, free NUMERIC,"
        " day DATE, clock TIME, at TIMESTAMPTZ, local TIMESTAMP, raw BYTEA, doc JSONB, tags TEXT[], numbers INT[],"
        " code UUID, done BOOLEAN, single REAL, double DOUBLE PRECISION, net INET, span INTERVAL, word VARCHAR(10))"
    )
    database.run(
        "INSERT INTO orders VALUES (1, 2, 3, 9.5, 1.2345678901234567890, '2023-11-14', '01:00:00.001', "
        "'2023-11-14 22:13:20+00', '2023-11-14 22:13:20', 'hi', '{\"a\": [1, 1.10]}', '{x,NULL}', '{1,2}', "
        "'00000000-0000-0000-0000-000000000001', true, 0.5, 0.25, '10.0.0.1', '1 day', 'w')"
    )
    database.run("INSERT INTO orders (id, price) VALUES (2, 0)")
    full, empty = read(database)
    moment = Instant(1_700_000_000_000)
    assert full.topic == "shop.orders"
    assert full.value == {
        "id": 1, "small": 2, "whole": 3, "price": Decimal("9.50"), "free": "1.2345678901234567890",
        "day": Instant(1_699_920_000_000), "clock": Instant(3_600_001), "at": moment, "local": moment, "raw": b"hi",
        "doc": '{"a": [1, 1.10]}', "tags": ["x", None], "numbers": [1, 2], "code": "00000000-0000-0000-0000-000000000001",
        "done": True, "single": 0.5, "double": 0.25, "net": "10.0.0.1", "span": "1 day", "word": "w",
    }  # fmt: skip
    assert empty.value == {**dict.fromkeys(full.value), "id": 2, "price": Decimal("0.00")}
    types = {
        "id": INT64, "small": INT16, "whole": INT32, "price": decimal(2), "free": STRING, "day": DATE, "clock": TIME,
        "at": TIMESTAMP, "local": TIMESTAMP, "raw": BYTES, "doc": STRING, "tags": array_of(STRING.as_optional()),
        "numbers": array_of(INT32.as_optional()), "code": STRING, "done": BOOLEAN, "single": FLOAT32, "double": FLOAT64,
        "net": STRING, "span": STRING, "word": STRING,
    }  # fmt: skip
    assert full.value_schema is not None
    assert full.value_schema.name == "orders"
    for field in full.value_schema.fields:
        wanted = types[field.name]
        assert field.schema == (wanted if field.name in ("id", "price") else wanted.as_optional()), field.name


DIGITS = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 9, "f": 10, "g": 18, "h": 19}
WHOLE = {"a": INT8, "b": INT16, "c": INT16, "d": INT32, "e": INT32, "f": INT64, "g": INT64, "h": decimal(0)}


@pytest.mark.parametrize(
    ("mapping", "whole", "short", "long"),
    [
        ("none", dict.fromkeys(WHOLE, decimal(0)), decimal(2), decimal(2)),
        ("precision_only", WHOLE, decimal(2), decimal(2)),
        ("best_fit", WHOLE, FLOAT64, decimal(2)),
        ("best_fit_eager_double", WHOLE, FLOAT64, FLOAT64),
    ],
)
def test_numbers_are_mapped_as_confluents_source_maps_them(
    database: Any, mapping: str, whole: dict[str, Schema], short: Schema, long: Schema
) -> None:
    columns = ", ".join(f"{name} NUMERIC({digits}) NOT NULL" for name, digits in DIGITS.items())
    database.run(f"CREATE TABLE orders (id INT PRIMARY KEY, {columns}, s NUMERIC(18, 2), l NUMERIC(19, 2))")
    biggest = ", ".join("-" + "9" * digits for digits in DIGITS.values())
    database.run(f"INSERT INTO orders VALUES (1, {biggest}, 9.5, 0.25)")
    (record,) = read(database, **{"numeric.mapping": mapping})
    assert record.value == {
        "id": 1, **{name: -(10**digits - 1) for name, digits in DIGITS.items()}, "s": Decimal("9.5"), "l": Decimal("0.25"),
    }  # fmt: skip
    assert record.value_schema is not None
    found = {field.name: field.schema for field in record.value_schema.fields}
    assert found == {"id": INT32, **whole, "s": short.as_optional(), "l": long.as_optional()}


def test_a_whole_number_with_a_negative_scale_gets_a_type_that_holds_it(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, hundreds NUMERIC(3, -2) NOT NULL)")
    database.run("INSERT INTO orders VALUES (1, 99900)")
    (record,) = read(database, **{"numeric.mapping": "best_fit"})
    assert record.value == {"id": 1, "hundreds": 99_900}
    assert record.value_schema is not None
    assert record.value_schema.fields[1].schema == INT32


def test_nan_is_refused_with_the_column_instead_of_stored_as_another_number(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, n NUMERIC(5))")
    database.run("INSERT INTO orders VALUES (1, 'NaN')")
    for mapping in ("none", "best_fit"):
        with pytest.raises(ConnectError, match="Column n of orders: cannot read NaN as a number"):
            read(database, **{"numeric.mapping": mapping})


def test_rows_of_a_transaction_that_commits_late_are_not_skipped(database: Any) -> None:
    from penstock.source import Limits
    from penstock.testing._source_run import SourceRun

    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY)")
    properties = {**database.properties, **BY_ID}
    with database.server.connect(database.name) as late, SourceRun(SqlSource, properties, {}) as run:
        late.execute("BEGIN; INSERT INTO orders DEFAULT VALUES")  # 1
        database.run("INSERT INTO orders DEFAULT VALUES")  # 2
        assert ids(run.all(Limits(100, 10_000_000), 5)) == []
        database.run("INSERT INTO orders DEFAULT VALUES")  # 3
        late.execute("COMMIT")
        assert ids(run.all(Limits(100, 10_000_000), 5)) == [1, 2, 3]


def test_rows_whose_timestamp_was_taken_long_before_they_were_written_are_not_skipped(database: Any) -> None:
    from penstock.source import Limits
    from penstock.testing._source_run import SourceRun

    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now())")
    properties = {**database.properties, **BY_TIME}
    with database.server.connect(database.name) as late, SourceRun(SqlSource, properties, {}) as run:
        late.execute("BEGIN")
        late.execute("SELECT now()")  # the time of this transaction, which has not written yet
        database.run("INSERT INTO orders DEFAULT VALUES")  # 1
        assert ids(run.all(Limits(100, 10_000_000), 5)) == []
        late.execute("INSERT INTO orders DEFAULT VALUES")  # 2, and earlier
        late.execute("COMMIT")
        assert ids(run.all(Limits(100, 10_000_000), 5)) == [2, 1]


def ids(run: Any) -> list[int]:
    return [record.value["id"] for stream in run.streams.values() for record in stream]


def test_a_query_is_read_as_a_table(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT, name TEXT, odd TEXT)")
    database.run("INSERT INTO orders VALUES (1, 'a', ':x %s'), (2, 'b', '%'), (3, 'c', 'c')")
    query = "SELECT id, upper(name) AS \"na%me\", odd::text FROM orders WHERE odd LIKE '%' AND odd <> ':none';"
    records = read(database, query=query, **{"topic.prefix": "queried"})
    assert [(r.topic, r.value) for r in records] == [
        ("queried", {"id": 1, "na%me": "A", "odd": ":x %s"}),
        ("queried", {"id": 2, "na%me": "B", "odd": "%"}),
        ("queried", {"id": 3, "na%me": "C", "odd": "c"}),
    ]


def test_a_column_that_is_added_is_in_the_records_from_then_on(database: Any) -> None:
    from penstock.source import Limits
    from penstock.testing._source_run import SourceRun

    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY)")
    database.run("INSERT INTO orders DEFAULT VALUES")
    with SourceRun(SqlSource, {**database.properties, **BY_ID}, {}) as run:
        run.all(Limits(100, 10_000_000), 5)
        database.run("ALTER TABLE orders ADD COLUMN name TEXT DEFAULT 'x'")
        database.run("INSERT INTO orders DEFAULT VALUES")
        found = run.all(Limits(100, 10_000_000), 5)
    assert [r.value for stream in found.streams.values() for r in stream][-1] == {"id": 2, "name": "x"}


def test_an_offset_of_confluents_connector_is_gone_on_from(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMPTZ NOT NULL)")
    database.run(
        "INSERT INTO orders SELECT n, timestamptz '2026-01-01Z' + n * interval '1 us' FROM generate_series(1, 9) n"
    )
    partition = SourcePartition({"protocol": "1", "table": f"{database.name}.public.orders"})
    at = {"incrementing": 5, "timestamp": 1_767_225_600_000, "timestamp_nanos": 5_000}
    found = read_all({**database.properties, **BY_TIME}, offsets={partition: at})
    assert [r.value["id"] for r in found] == [6, 7, 8, 9]


def test_tables_are_shared_among_tasks_and_chosen_by_name(database: Any) -> None:
    from penstock.testing._making import make, parsed

    for table in ("a", "b", "c"):
        database.run(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
    database.run("CREATE SCHEMA other; CREATE TABLE other.d (id INT PRIMARY KEY); CREATE VIEW v AS SELECT 1 AS id")

    def tasks(most: int, **more: str) -> list[Any]:
        given = {**database.properties, **BY_ID, **more}
        found = make(SqlSource).task_configs(parsed(SqlSource, given), given, most)
        return [[".".join(t) for t in json.loads(task["task.tables"])] for task in found]

    assert tasks(2) == [["other.d", "public.b"], ["public.a", "public.c"]]
    assert tasks(9, **{"table.whitelist": "a,other.d"}) == [["other.d"], ["public.a"]]
    assert tasks(1, **{"table.blacklist": "a", "schema.pattern": "pub%"}) == [["public.b", "public.c"]]
    assert tasks(1, **{"table.whitelist": "v"}) == [["public.v"]]
    with pytest.raises(ConnectError, match=r"table\.whitelist names nowhere"):
        tasks(1, **{"table.whitelist": "a,nowhere"})
    database.run("CREATE TABLE other.a (id INT PRIMARY KEY)")
    with pytest.raises(ConnectError, match=r"other\.a and public\.a would both be written to topic shop\.a"):
        tasks(1)


@pytest.mark.parametrize(
    ("table", "properties", "words"),
    [
        ("id INT", BY_ID, "Column id of public.orders may be null"),
        ("nr INT NOT NULL", BY_ID, "has no column id"),
        ("id TEXT NOT NULL", BY_ID, "id of public.orders must hold whole numbers"),
        ("id INT NOT NULL, at TEXT NOT NULL", BY_TIME, "must all be timestamps"),
    ],
)
def test_a_table_that_the_mode_cannot_read_is_reported(database: Any, table: str, properties: Any, words: str) -> None:
    database.run(f"CREATE TABLE orders ({table})")
    database.run(
        "INSERT INTO orders SELECT "
        + ("1" if "INT" in table.split(",")[0] else "'x'")
        + (", 'y'" if "," in table else "")
    )
    with pytest.raises(ConnectError, match=words):
        read_all({**database.properties, **properties})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("9223372036854775808", "id of public.orders holds a number outside of 64 bits.*by a timestamp"),
        ("10000000000000000000", "id of public.orders holds a number outside of 64 bits"),
        ("'NaN'", "id of public.orders must hold whole numbers"),
        ("'Infinity'", "id of public.orders must hold whole numbers"),
        ("1.5", "id of public.orders must hold whole numbers"),
    ],
)
def test_a_number_beyond_the_range_of_offsets_is_reported_before_its_row_is_read(
    database: Any, value: str, words: str
) -> None:
    database.run("CREATE TABLE orders (id NUMERIC NOT NULL)")
    database.run(f"INSERT INTO orders VALUES (1), ({value})")
    with pytest.raises(ConnectError, match=words):
        read(database)


@pytest.mark.parametrize("column", ["BIGINT", "NUMERIC(20)"])
def test_rows_are_read_up_to_the_last_number_of_64_bits(database: Any, column: str) -> None:
    from penstock.source import Limits
    from penstock.testing._source_run import SourceRun

    database.run(f"CREATE TABLE orders (id {column} PRIMARY KEY)")
    database.run("INSERT INTO orders VALUES (1), (9223372036854775806)")
    with SourceRun(SqlSource, {**database.properties, **BY_ID}, {}) as run:
        run.all(Limits(100, 10_000_000), 5)
        database.run("INSERT INTO orders VALUES (9223372036854775807)")
        assert ids(run.all(Limits(100, 10_000_000), 5)) == [1, 2**63 - 2, 2**63 - 1]
        assert ids(run.all(Limits(100, 10_000_000), 5)) == [1, 2**63 - 2, 2**63 - 1]


def test_of_large_rows_among_small_ones_one_at_a_time_is_held(database: Any) -> None:
    """Rows before and behind them are held by the thousand."""
    from penstock import InputPartition, RecordBatch
    from penstock.testing._making import make, parsed

    database.run("CREATE TABLE orders (id INT PRIMARY KEY, doc TEXT)")
    small, large = "INSERT INTO orders SELECT n, 'x' FROM", "INSERT INTO orders SELECT n, repeat('x', 20000000) FROM"
    database.run(f"{small} generate_series(1, 2100) n")
    database.run(f"{large} generate_series(2101, 2104) n; {small} generate_series(2105, 4300) n")
    reader = make(SqlSource).reader(parsed(SqlSource, {**database.properties, **BY_ID}))
    data = {"table": ["public", "orders"], "topic": "t", "zoned": True, "start": [None, None], "end": [None, 4300]}
    counts = [batch.length for batch in reader.read(InputPartition(data)) if isinstance(batch, RecordBatch)]
    reader.close()
    assert counts == [2000, 101, 1, 1, 1, 2000, 196]


def test_what_is_read_in_bulk_is_read_whole(database: Any) -> None:
    database.run("CREATE TABLE orders (name TEXT)")
    database.run("INSERT INTO orders VALUES ('a'), ('b')")
    given = {"mode": "bulk", "topic.prefix": "t.", "poll.interval.ms": "3600000", **database.properties}
    assert [r.value["name"] for r in read_all(given)] == ["a", "b"]


def test_moments_are_exact(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMPTZ)")
    database.run("INSERT INTO orders VALUES (1, '1969-12-31 23:59:59.9999Z')")
    (record,) = read(database)
    assert record.value["at"] == Instant.of(datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=datetime.UTC))


def test_a_new_table_asks_for_new_tasks_and_none_does_not(database: Any) -> None:
    from penstock import Limits, PluginContext
    from penstock.testing._making import make, parsed

    database.run("CREATE TABLE a (id INT PRIMARY KEY)")
    asked: list[str] = []
    connector = make(SqlSource)
    object.__setattr__(connector, "context", PluginContext(task=0, tasks=1, on_request=asked.append))
    given = {**database.properties, **BY_ID, "table.poll.interval.ms": "1000"}
    (task,) = connector.task_configs(parsed(SqlSource, given), given, 1)
    source = connector.source(parsed(SqlSource, task))
    now = [0.0]
    source._clock = lambda: now[0]
    source._looked = 0.0
    source.start({})
    try:
        for _ in range(3):
            now[0] += 1
            source.latest_offsets({}, Limits(10, 1000))
        assert asked == []
        database.run("CREATE TABLE b (id INT PRIMARY KEY)")
        source.latest_offsets({}, Limits(10, 1000))
        assert asked == []
        now[0] += 1
        source.latest_offsets({}, Limits(10, 1000))
    finally:
        source.stop()
    (state,) = asked
    (task,) = connector.task_configs(parsed(SqlSource, given), given, 1)
    assert task["task.state"] == state


def test_rows_of_a_transaction_that_has_begun_last_and_is_still_open_are_not_skipped(database: Any) -> None:
    """Its number is greater than that of any transaction that has ended."""
    from penstock.source import Limits
    from penstock.testing._source_run import SourceRun

    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY); CREATE TABLE others (id INT PRIMARY KEY)")
    properties = {**database.properties, **BY_ID, "table.whitelist": "orders"}
    with (
        database.server.connect(database.name) as early,
        database.server.connect(database.name) as late,
        SourceRun(SqlSource, properties, {}) as run,
    ):
        early.execute("BEGIN; INSERT INTO others VALUES (1)")
        late.execute("BEGIN; INSERT INTO orders DEFAULT VALUES")  # 1
        early.execute("INSERT INTO orders DEFAULT VALUES; COMMIT")  # 2
        assert ids(run.all(Limits(100, 10_000_000), 5)) == []
        late.execute("PREPARE TRANSACTION 'late'")
        assert ids(run.all(Limits(100, 10_000_000), 5)) == []
        late.execute("COMMIT PREPARED 'late'")
        assert ids(run.all(Limits(100, 10_000_000), 5)) == [1, 2]


def test_rows_whose_number_was_taken_before_the_transaction_wrote_are_not_skipped(database: Any) -> None:
    from penstock.source import Limits
    from penstock.testing._source_run import SourceRun

    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY)")
    with (
        database.server.connect(database.name) as late,
        SourceRun(SqlSource, {**database.properties, **BY_ID}, {}) as run,
    ):
        database.run("INSERT INTO orders DEFAULT VALUES")  # 1, and the next numbers are written to the log
        late.execute("BEGIN; SELECT nextval('orders_id_seq')")  # 2
        database.run("INSERT INTO orders DEFAULT VALUES")  # 3
        assert ids(run.all(Limits(100, 10_000_000), 5)) == []
        late.execute("INSERT INTO orders VALUES (2); COMMIT")
        assert ids(run.all(Limits(100, 10_000_000), 5)) == [1, 2, 3]


@pytest.mark.parametrize("prepared", [False, True])
def test_the_transaction_that_delays_rows_is_logged_in_one_line_for_all_tables(
    database: Any, caplog: Any, prepared: bool
) -> None:
    from penstock import Limits
    from penstock.testing._making import make, parsed

    database.run("CREATE TABLE a (id SERIAL PRIMARY KEY); CREATE TABLE b (id SERIAL PRIMARY KEY)")
    source = make(SqlSource).source(parsed(SqlSource, {**database.properties, **BY_ID}))
    now = [0.0]
    source._clock = lambda: now[0]
    with database.server.connect(database.name) as late:
        late.execute("SET application_name = 'a report'")
        late.execute("BEGIN; INSERT INTO a DEFAULT VALUES")
        if prepared:
            late.execute("PREPARE TRANSACTION 'two'")
        database.run("INSERT INTO a DEFAULT VALUES; INSERT INTO b DEFAULT VALUES")
        source.start({})
        try:
            for seconds in (0, 59, 61, 120, 600, 662):
                now[0] = seconds
                assert source.latest_offsets({}, Limits(10, 1000)) == {}
                lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
                assert len(lines) == (seconds >= 61) + (seconds >= 662)
            assert all("New rows of public.a and 1 more have waited" in line for line in lines)
            wanted = "'two', prepared" if prepared else f"pid {late.info.backend_pid} of application a report (idle in"
            assert wanted in lines[0]
            late.execute("ROLLBACK PREPARED 'two'" if prepared else "ROLLBACK")
            now[0] = 700
            assert len(source.latest_offsets({}, Limits(10, 1000))) == 2
        finally:
            source.stop()


def test_a_look_that_finds_nothing_is_one_statement(database: Any, caplog: Any) -> None:
    from sqlalchemy import event

    from penstock import Limits
    from penstock.testing._making import make, parsed

    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now())")
    source = make(SqlSource).source(parsed(SqlSource, {**database.properties, **BY_TIME}))
    source.start({})
    try:
        assert source.latest_offsets({}, Limits(10, 1000)) == {}
        statements: list[str] = []
        connection = source._database.connection()
        event.listen(connection, "before_cursor_execute", lambda *given: statements.append(given[2]))
        own = connection.connection.driver_connection
        begun = database.rows("SELECT xact_start FROM pg_stat_activity WHERE application_name LIKE 'penstock source %'")
        assert source.latest_offsets({}, Limits(10, 1000)) == {}
        assert len(statements) == 1
        assert begun == [(None,)]
        assert own is not None
        assert not own.autocommit
    finally:
        source.stop()


def test_an_autovacuum_holds_no_rows_back(database: Any) -> None:
    """It is a transaction as others, and takes hours on a large table. Any user must see that it is none of theirs."""
    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY)")
    database.run(
        "CREATE TABLE others WITH (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_insert_threshold = 0, "
        "autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1) AS SELECT FROM generate_series(1, 500000)"
    )
    database.run("CREATE ROLE reader LOGIN PASSWORD 'secret'; GRANT pg_read_all_data TO reader")
    running = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'autovacuum worker'"
    database.run("ALTER SYSTEM SET autovacuum_naptime = '1s'")
    try:
        database.run("SELECT pg_reload_conf()")
        deadline = time.monotonic() + 60
        while not database.rows(f"{running} AND backend_xmin IS NOT NULL"):
            assert time.monotonic() < deadline, "no autovacuum has begun"
            time.sleep(0.05)
        database.run("INSERT INTO orders DEFAULT VALUES")
        assert [r.value for r in read(database, **{"connection.user": "reader", "table.whitelist": "orders"})] == [
            {"id": 1}
        ]
        assert database.rows(running), "it was there all the time"
    finally:
        database.run("ALTER SYSTEM RESET autovacuum_naptime")
        database.run("SELECT pg_reload_conf(); DROP OWNED BY reader; DROP ROLE reader")


def test_rows_of_a_commit_in_two_phases_are_not_skipped(database: Any) -> None:
    from penstock.source import Limits
    from penstock.testing._source_run import SourceRun

    database.run("CREATE TABLE orders (id SERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now())")
    with (
        database.server.connect(database.name) as late,
        SourceRun(SqlSource, {**database.properties, **BY_TIME}, {}) as run,
    ):
        late.execute("BEGIN; SELECT now()")
        database.run("INSERT INTO orders DEFAULT VALUES")  # 1
        assert ids(run.all(Limits(100, 10_000_000), 5)) == []
        late.execute("INSERT INTO orders DEFAULT VALUES; PREPARE TRANSACTION 'two'")  # 2, and earlier
        assert ids(run.all(Limits(100, 10_000_000), 5)) == []
        late.execute("COMMIT PREPARED 'two'")
        assert ids(run.all(Limits(100, 10_000_000), 5)) == [2, 1]


def test_rows_of_a_moment_that_is_not_over_yet_are_left(database: Any) -> None:
    """A column of whole seconds gives later transactions the same moment."""
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMPTZ(0) NOT NULL)")
    database.run(
        "INSERT INTO orders VALUES (1, now() - interval '1 minute'), (2, date_trunc('second', clock_timestamp()))"
    )
    found = read_all({**database.properties, **BY_TIME})
    assert [record.value["id"] for record in found] in ([1], [1, 2])
    late = database.rows("SELECT at > clock_timestamp() - interval '1 second' FROM orders WHERE id = 2")
    assert len(found) == 1 or late == [(False,)]


def test_an_offset_with_a_mistyped_name_is_refused(database: Any) -> None:
    from penstock.testing._making import make, parsed

    given = {**database.properties, **BY_ID}
    partition = SourcePartition({"protocol": "1", "table": "public.orders"})
    with pytest.raises(ConnectError, match="is not an offset of this connector"):
        make(SqlSource).alter_offsets(parsed(SqlSource, given), {partition: {"increment": 7}})
    with pytest.raises(ConnectError, match="64-bit integers"):
        make(SqlSource).alter_offsets(parsed(SqlSource, given), {partition: {"incrementing": 2**63}})


def test_times_without_a_zone_are_those_of_the_configuration(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMP NOT NULL)")
    database.run("INSERT INTO orders SELECT 1, clock_timestamp() AT TIME ZONE 'Asia/Tokyo' - interval '1 minute'")
    (record,) = read_all({**database.properties, **BY_TIME, "db.timezone": "Asia/Tokyo"})
    ((now,),) = database.rows("SELECT extract(epoch FROM clock_timestamp())::bigint")
    assert abs(record.value["at"] / 1000 - now + 60) < 30


def test_a_query_may_end_with_a_comment(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT); INSERT INTO orders VALUES (1)")
    assert len(read(database, query="SELECT id FROM orders -- all of them")) == 1


_INFINITE = (Instant(9_223_372_036_825_200_000), Instant(-9_223_372_036_832_400_000))


def test_infinity_is_read_like_the_jdbc_driver_and_in_dates_as_the_first_and_last_day(database: Any) -> None:
    database.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMPTZ, local TIMESTAMP, day DATE, ats TIMESTAMPTZ[], "
        "locals TIMESTAMP[], days DATE[])"
    )
    for number, word in enumerate(("infinity", "-infinity")):
        list_of = f"'{{NULL,{word}}}'"
        database.run(
            f"INSERT INTO orders VALUES ({number}, '{word}', '{word}', '{word}', {list_of}, {list_of}, {list_of})"
        )
    days = (Instant((2**31 - 1) * 86_400_000), Instant(-(2**31) * 86_400_000))
    for zone in ("UTC", "Asia/Tokyo"):
        assert [r.value for r in read(database, **{"db.timezone": zone})] == [
            {
                "id": n, "at": moment, "local": moment, "day": days[n],
                "ats": [None, moment], "locals": [None, moment], "days": [None, days[n]],
            }
            for n, moment in enumerate(_INFINITE)
        ]  # fmt: skip


_FAR = (
    "4714-11-24 00:00:00Z BC", "0045-12-31 23:30:00.999999Z BC", "0005-02-29 12:00:00.5Z BC", "0001-12-31 23:59:59.9999Z BC",
    "0001-01-01 00:00:00Z", "1582-10-15 00:00:00Z", "1969-12-31 23:59:59.9999Z", "9999-12-31 23:59:59.999999Z",
    "10000-01-01 00:00:00Z", "12000-02-29 01:02:03.004005Z", "100000-07-01 00:00:00Z", "294276-12-30 00:00:00Z",
)  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_moments_and_days_of_any_year_are_exact(database: Any, zone: str) -> None:
    database.run(f"ALTER DATABASE {database.name} SET TimeZone = '{zone}'")
    database.run(f"ALTER DATABASE {database.name} SET DateStyle = 'SQL, DMY'")
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMPTZ, utc TIMESTAMP, day DATE, days DATE[])")
    for number, text in enumerate(_FAR):
        database.run(
            f"SET DateStyle = ISO; INSERT INTO orders SELECT {number}, at, at AT TIME ZONE 'UTC', day, ARRAY[day] FROM "
            f"(SELECT timestamptz '{text}' AS at, (timestamptz '{text}' AT TIME ZONE 'UTC')::date AS day) t"
        )
    database.run("INSERT INTO orders (id, day) VALUES (100, '5874897-12-31'), (101, '1000-01-01')")
    wanted = database.rows(
        "SELECT floor(extract(epoch FROM at) * 1000)::bigint, (day - date '1970-01-01') * 86400000::bigint FROM orders "
        "ORDER BY id"
    )
    found = [r.value for r in read(database)]
    assert [(row["at"], row["day"]) for row in found] == wanted
    assert [row["utc"] for row in found] == [moment for moment, _ in wanted]
    assert [row["days"] for row in found[: len(_FAR)]] == [[day] for _, day in wanted[: len(_FAR)]]


def test_local_times_of_any_year_are_those_of_the_configuration(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, local TIMESTAMP, locals TIMESTAMP[])")
    days = ("2024-07-01", "9999-12-31", "10000-07-01", "10000-01-01")
    for number, day in enumerate(days):
        database.run(f"INSERT INTO orders SELECT {number}, '{day} 12:00', ARRAY[timestamp '{day} 12:00']")
    zone = "America/New_York"
    wanted = database.rows(
        f"SELECT extract(epoch FROM local AT TIME ZONE '{zone}')::bigint * 1000 FROM orders ORDER BY id"
    )
    found = [r.value for r in read(database, **{"db.timezone": zone})]
    assert [(row["local"],) for row in found] == wanted
    assert [(row["locals"][0],) for row in found] == wanted


@pytest.mark.parametrize("type_of", ["TIMESTAMPTZ", "TIMESTAMP"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", pytest.param("Asia/Tokyo", marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", ["timestamp", "timestamp+incrementing"])
def test_rows_before_year_1_are_read_first_and_rows_at_infinity_do_not_block_others(
    database: Any, type_of: str, zone: str, mode: str
) -> None:
    from penstock.source import Limits
    from penstock.testing._source_run import SourceRun

    database.run(f"ALTER DATABASE {database.name} SET TimeZone = '{zone}'")
    database.run(f"CREATE TABLE orders (id INT PRIMARY KEY, at {type_of} NOT NULL)")
    database.run("INSERT INTO orders SELECT n, '-infinity' FROM generate_series(101, 150) n")
    database.run(
        "INSERT INTO orders VALUES (9, '0044-03-15 BC'), (3, '0001-01-01'), (4, '0001-01-03'), (1, '0001-01-04'), "
        "(2, '2026-01-01'), (5, 'infinity'), (6, '20000-01-01')"
    )
    properties = {**database.properties, **BY_TIME, "mode": mode}
    if mode == "timestamp":
        del properties["incrementing.column.name"]
    with SourceRun(SqlSource, properties, {}) as run:
        found = ids(run.all(Limits(30, 10_000_000), 20))
        assert sorted(found) == [1, 2, 3, 4, 9, *range(101, 151)]
        assert found[-5:] == [9, 3, 4, 1, 2]
        database.run("INSERT INTO orders VALUES (7, now() - interval '1 day')")
        found = ids(run.all(Limits(30, 10_000_000), 20))
        assert found[-1] == 7
        assert len(found) in (1, 56)


def test_an_offset_whose_moment_no_place_has_is_refused(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMPTZ NOT NULL)")
    partition = SourcePartition({"protocol": "1", "table": "public.orders"})
    with pytest.raises(ConnectError, match=r"outside the years 1 to 9999.*alter the offset"):
        read_all(
            {**database.properties, **BY_TIME},
            offsets={partition: {"timestamp": _INFINITE[0], "incrementing": 1}},
        )


def test_a_query_whose_timestamp_is_none_is_reported(database: Any) -> None:
    given = {**database.properties, **BY_TIME, "query": "SELECT 1 AS id, 2 AS at"}
    with pytest.raises(ConnectError, match="at of the query is not a timestamp"):
        read_all(given)


def test_the_end_of_the_day_is_a_time_and_is_written_as_one(database: Any) -> None:
    database.run("CREATE TABLE orders (id SERIAL, closes TIME, exact TIME(3), all_days TIME[], zoned TIMETZ)")
    database.run("INSERT INTO orders VALUES (1, '24:00:00', '23:59:59.9999', '{24:00:00,00:00:00.001}', '24:00:00+02')")
    (record,) = read(database)
    end = Instant(86_400_000)
    assert record.value == {"id": 1, "closes": end, "exact": end, "all_days": [end, Instant(1)], "zoned": "24:00:00+02"}
    database.run("CREATE TABLE copies (closes TIME)")
    row = Record(topic="copies", value={"closes": end}, value_schema=struct({"closes": TIME}))
    assert run_writer(SqlSink, dict(database.properties), [[row]]) == []
    assert database.rows("SELECT closes::text FROM copies") == [("24:00:00",)]


@pytest.mark.parametrize(
    ("declared", "value", "words"),
    [
        ("REAL", "hidden", "a numeric column holds a value of type str"),
        ("INTEGER", "hidden", "an integer column holds a value of type str"),
        ("TEXT", b"\xff", "a text column holds bytes that are not UTF-8"),
    ],
)
def test_a_value_of_sqlite_that_its_column_does_not_declare_is_reported_by_table_and_column(
    tmp_path: Path, declared: str, value: Any, words: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
        database.execute(f"CREATE TABLE orders (id INTEGER PRIMARY KEY, x {declared})")
        database.execute("INSERT INTO orders (x) VALUES (?)", (value,))
    with pytest.raises(ConnectError, match=f"Column x of orders: {words}") as raised:
        read_all({"connection.url": f"jdbc:sqlite:{tmp_path}/shop.db", **BY_ID})
    assert "hidden" not in str(raised.value)
