"""What becomes of rows in MariaDB."""

import json
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from connectors.sql.tests.complete import SqlSourceSuite, read_all

from penstock import ConnectError, InputPartition, Instant, Record, RecordBatch, RetriableError, Schema, SourcePartition
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
    decimal,
)  # fmt: skip
from penstock.source import Limits
from penstock.testing._making import make, parsed
from penstock.testing._source_run import SourceRun
from penstock_sql.source import SqlSource

BY_ID = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "shop.", "poll.interval.ms": "0"}
BY_TIME = {
    "mode": "timestamp+incrementing",
    "timestamp.column.name": "at",
    **{k: v for k, v in BY_ID.items() if k != "mode"},
}


HUNDRED = Limits(100, 10_000_000)


def read(database: Any, offsets: Any = None, **properties: str) -> list[Record]:
    return read_all({**database.reading, **BY_ID, **properties}, offsets)


@pytest.mark.slow  # `TestTimestamp` reads by numbers, too, and a look at the transactions takes a tenth of a second
class TestIncrementing(SqlSourceSuite):
    @pytest.fixture
    def properties(self, maria: Any) -> Mapping[str, str]:
        maria.run("CREATE TABLE IF NOT EXISTS orders (id SERIAL PRIMARY KEY, name TEXT)")
        maria.run("CREATE TABLE IF NOT EXISTS customers (id SERIAL PRIMARY KEY, name TEXT)")
        maria.run("INSERT INTO orders (name) SELECT CONCAT('order ', seq) FROM seq_1_to_17")
        maria.run("INSERT INTO customers (name) VALUES ('Ada')")
        return {**maria.reading, **BY_ID}


class TestTimestamp(SqlSourceSuite):
    @pytest.fixture
    def properties(self, maria: Any) -> Mapping[str, str]:
        maria.run("CREATE TABLE IF NOT EXISTS orders (id SERIAL PRIMARY KEY, at DATETIME(6) NOT NULL)")
        maria.run(
            "INSERT INTO orders (at) "
            "SELECT TIMESTAMP'2026-01-01 00:00:00' + INTERVAL (seq DIV 5) MICROSECOND FROM seq_1_to_17"
        )
        return {**maria.reading, **BY_TIME}


def test_each_type_becomes_the_one_that_kafka_connect_has_for_it(maria: Any) -> None:
    maria.run(
        "CREATE TABLE orders (id BIGINT UNSIGNED PRIMARY KEY, done TINYINT(1), flag BIT(1), bits BIT(12), tiny TINYINT, "
        "tiny_u TINYINT UNSIGNED, small SMALLINT, small_u SMALLINT UNSIGNED, medium MEDIUMINT UNSIGNED, whole INT, "
        "whole_u INT(5) UNSIGNED ZEROFILL, big BIGINT, single FLOAT, dbl DOUBLE, price DECIMAL(10, 2) NOT NULL, "
        "long_price DECIMAL(65, 30), day DATE, at TIMESTAMP(3) NULL, local DATETIME(6), clock TIME(3), in_year YEAR, "
        "word VARCHAR(10) CHARACTER SET latin1, fixed CHAR(3), note LONGTEXT, raw VARBINARY(9), fixed_raw BINARY(3), "
        "blob_ BLOB, kind ENUM('a', 'b'), kinds SET('a', 'b'), doc JSON, code UUID, net INET6, net4 INET4, place POINT)"
    )
    maria.run(
        "INSERT INTO orders VALUES (9223372036854775807, 1, b'1', b'101', -128, 255, -32768, 65535, 16777215, -2147483648, "
        "42, -9223372036854775808, 16777217.5, 0.1, 9.5, 1e-30, '2023-11-14', '2023-11-14 22:13:20.123', "
        "'2023-11-14 22:13:20.123999', '01:00:00.001', 2026, 'é', 'x', '😀', X'00FF27', 'a', X'80', 'b', 'a,b', "
        """'{"a": [1, 1.10]}', '00000000-0000-0000-0000-000000000001', '::1', '10.0.0.1', POINT(1, 2))"""
    )
    maria.run("INSERT INTO orders (id, price) VALUES (2, 0)")
    empty, full = read(maria)
    moment = Instant(1_700_000_000_123)
    assert full.topic == "shop.orders"
    assert full.value == {
        "id": 2**63 - 1, "done": True, "flag": True, "bits": b"\0\5", "tiny": -128, "tiny_u": 255, "small": -32768,
        "small_u": 65535, "medium": 16777215, "whole": -(2**31), "whole_u": 42, "big": -(2**63), "single": 16777218.0,
        "dbl": 0.1, "price": Decimal("9.50"), "long_price": Decimal("1e-30"), "day": Instant(1_699_920_000_000),
        "at": moment, "local": moment, "clock": Instant(3_600_001), "in_year": 2026, "word": "é", "fixed": "x",
        "note": "😀", "raw": b"\0\xff'", "fixed_raw": b"a\0\0", "blob_": b"\x80", "kind": "b", "kinds": "a,b",
        "doc": '{"a": [1, 1.10]}', "code": "00000000-0000-0000-0000-000000000001", "net": "::1", "net4": "10.0.0.1",
        "place": struct.pack("<IBIdd", 0, 1, 1, 1.0, 2.0),
    }  # fmt: skip
    assert empty.value == {**dict.fromkeys(full.value), "id": 2, "price": Decimal("0.00")}
    types = {
        "id": INT64, "done": BOOLEAN, "flag": BOOLEAN, "bits": BYTES, "tiny": INT8, "tiny_u": INT16, "small": INT16,
        "small_u": INT32, "medium": INT32, "whole": INT32, "whole_u": INT64, "big": INT64, "single": FLOAT32,
        "dbl": FLOAT64, "price": decimal(2), "long_price": decimal(30), "day": DATE, "at": TIMESTAMP, "local": TIMESTAMP,
        "clock": TIME, "in_year": INT32, "word": STRING, "fixed": STRING, "note": STRING, "raw": BYTES,
        "fixed_raw": BYTES, "blob_": BYTES, "kind": STRING, "kinds": STRING, "doc": STRING, "code": STRING, "net": STRING,
        "net4": STRING, "place": BYTES,
    }  # fmt: skip
    assert full.value_schema is not None
    assert full.value_schema.name == "orders"
    for field in full.value_schema.fields:
        wanted = types[field.name]
        assert field.schema == (wanted if field.name in ("id", "price") else wanted.as_optional()), field.name


def test_no_digit_of_a_float_is_lost(maria: Any) -> None:
    """MariaDB itself writes six."""
    singles = [0.1, 16777216.0, 1.17549435e-38, 3.402823466e38, 1.5e-42, 123456.79, -0.3, 8388607.5, 1.00000012]
    doubles = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 2**53 + 2.0, -1e-7, 123456789.123456789, 1e22, -0.5]
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, single FLOAT, dbl DOUBLE)")
    for number, (single, double) in enumerate(zip(singles, doubles, strict=True)):
        maria.run(f"INSERT INTO orders VALUES ({number}, {single!r}, {double!r})")
    for query in (None, "SELECT * FROM orders"):
        found = [r.value for r in read(maria, **({} if query is None else {"query": query}))]
        assert [struct.pack("f", row["single"]) for row in found] == [struct.pack("f", each) for each in singles]
        assert found[0]["single"] == 0.1
        assert [row["dbl"] for row in found] == doubles


@pytest.mark.parametrize(
    ("mapping", "kinds"),
    [
        ("none", [decimal(0), decimal(0), decimal(0), decimal(2), decimal(2)]),
        ("precision_only", [INT8, INT64, decimal(0), decimal(2), decimal(2)]),
        ("best_fit", [INT8, INT64, decimal(0), FLOAT64, decimal(2)]),
        ("best_fit_eager_double", [INT8, INT64, decimal(0), FLOAT64, FLOAT64]),
    ],
)
def test_numbers_are_mapped_as_confluents_source_maps_them(maria: Any, mapping: str, kinds: list[Schema]) -> None:
    maria.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, a DECIMAL(2) NOT NULL, b DECIMAL(18) UNSIGNED NOT NULL, "
        "c DECIMAL(19) NOT NULL, d DECIMAL(18, 2) NOT NULL, e DECIMAL(19, 2) NOT NULL)"
    )
    maria.run("INSERT INTO orders VALUES (1, -99, 999999999999999999, 9999999999999999999, 9.5, 0.25)")
    (record,) = read(maria, **{"numeric.mapping": mapping})
    values = [-99, 10**18 - 1, 10**19 - 1, Decimal("9.5"), Decimal("0.25")]
    assert record.value == {"id": 1, **dict(zip("abcde", values, strict=True))}
    assert record.value_schema is not None
    assert [field.schema for field in record.value_schema.fields[1:]] == kinds


def test_a_date_of_zeros_is_null_where_the_column_may_be_null(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, day DATE, at DATETIME, moment TIMESTAMP NULL)")
    zeros = "INSERT INTO orders VALUES (1, '0000-00-00', '0000-00-00', '0000-00-00')"
    maria.run("SET sql_mode = ''", zeros)
    (record,) = read(maria)
    assert record.value == {"id": 1, "day": None, "at": None, "moment": None}


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (
            "DATE NOT NULL",
            "'0000-00-00'",
            "Column x of orders: a date has a month or day of zero, and the column is NOT NULL",
        ),
        ("DATETIME NOT NULL", "'0000-00-00'", "Column x of orders: .* NOT NULL"),
        ("TIMESTAMP NOT NULL", "'0000-00-00'", "Column x of orders: .* NOT NULL"),
        ("DATE", "'2026-00-00'", "Column x of orders: a date has a month or day of zero; correct it"),
        ("DATETIME", "'2026-05-00'", "Column x of orders: a date has a month or day of zero; correct it"),
        ("TIME", "'-00:00:01'", "Column x of orders: a TIME is negative or longer than 24 hours"),
        ("TIME(6)", "'24:00:00.000001'", "Column x of orders: a TIME is negative or longer than 24 hours"),
        ("TIME", "'838:59:59'", "Column x of orders: a TIME is negative or longer than 24 hours"),
        ("BIGINT UNSIGNED", "9223372036854775808", "Column x of orders: a number of BIGINT UNSIGNED"),
        ("TINYINT(1)", "2", r"Column x of orders: TINYINT\(1\) is read as a boolean"),
    ],
)
def test_unreadable_value_is_reported_with_table_and_column_and_readable_by_a_query(
    maria: Any, column: str, value: str, words: str
) -> None:
    maria.run(f"CREATE TABLE orders (id INT PRIMARY KEY, x {column})")
    maria.run("SET sql_mode = ''", f"INSERT INTO orders VALUES (1, {value})")
    with pytest.raises(ConnectError, match=words):
        read(maria)
    cast = {"BIGINT UNSIGNED": "CAST(x AS DECIMAL(20))", "TINYINT(1)": "x + 0"}.get(column, "CAST(x AS CHAR)")
    (record,) = read(maria, query=f"SELECT id, {cast} AS x FROM orders")
    assert str(record.value["x"]).startswith(value.strip("'"))


def test_moments_are_exact_in_every_zone(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMP(6) NOT NULL, local DATETIME(6), day DATE)")
    maria.run(
        "INSERT INTO orders VALUES (1, '2001-09-09 01:46:39.999999', '1969-12-31 23:59:59.9999', '1000-01-01'), "
        "(2, '2038-01-19 03:14:07', '9999-12-31 23:59:59.999999', '9999-12-31'), "
        "(3, '2026-07-01 00:00:00', '2026-07-01 00:00:00', '0001-01-01')"
    )
    for zone, shift in (("UTC", 0), ("Europe/Berlin", 7_200_000)):
        rows = [r.value for r in read(maria, **{"db.timezone": zone})]
        assert [row["at"] for row in rows] == [999_999_999_999, 2_147_483_647_000, 1_782_864_000_000]
        assert rows[2]["local"] == 1_782_864_000_000 - shift
        assert [row["day"] // 86_400_000 for row in rows] == [-354_285, 2_932_896, -719_162]
    assert [r.value["local"] for r in read(maria)][:2] == [-1, 253_402_300_799_999]


@contextmanager
def source_of(database: Any, properties: Mapping[str, str] = BY_ID, **more: str) -> Iterator[SourceRun]:
    with SourceRun(SqlSource, {**database.reading, **properties, **more}, {}) as run:
        yield run


def ids(run: SourceRun) -> list[int]:
    return [record.value["id"] for stream in run.streams.values() for record in stream]


def reads_nothing(run: SourceRun) -> bool:
    """Whether it waits, however often it is asked."""
    return not any(run.step(HUNDRED) for _ in range(4))


def ids_of(run: SourceRun, count: int, limits: Limits = HUNDRED) -> list[int]:
    """The ids of all rows, once there are so many."""
    until = time.monotonic() + 20
    while len(ids(run)) < count and time.monotonic() < until:
        run.step(limits)
    return ids(run)


@contextmanager
def session(database: Any) -> Iterator[Any]:
    with database.server.connect(database.name) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        yield cursor


FORMS = {
    "incrementing": BY_ID,
    "timestamp": {**BY_TIME, "mode": "timestamp"},
    "timestamp+incrementing": BY_TIME,
}
QUICK_FORMS = ["incrementing", pytest.param("timestamp", marks=pytest.mark.slow), "timestamp+incrementing"]
"""Those of which each must be proved again and again; `timestamp` is a part of the last one."""


@pytest.mark.parametrize("mode", FORMS)
@pytest.mark.parametrize("column", ["DATETIME(6)", pytest.param("TIMESTAMP(3)", marks=pytest.mark.slow)])
def test_rows_of_a_transaction_that_commits_late_are_not_skipped(maria: Any, mode: str, column: str) -> None:
    maria.run(f"CREATE TABLE orders (id SERIAL, at {column} NOT NULL)")
    with session(maria) as late, source_of(maria, FORMS[mode]) as run:
        late.execute("BEGIN")
        late.execute("INSERT INTO orders (at) VALUES ('2026-01-01 00:00:01')")  # 1
        maria.run("INSERT INTO orders (at) VALUES ('2026-01-01 00:00:02')")  # 2
        assert reads_nothing(run)
        maria.run("INSERT INTO orders (at) VALUES ('2026-01-01 00:00:03')")  # 3
        late.execute("COMMIT")
        assert ids_of(run, 3) == [1, 2, 3]


@pytest.mark.parametrize("mode", QUICK_FORMS)
def test_the_source_waits_for_a_statement_that_has_not_accessed_a_table_yet(maria: Any, mode: str) -> None:
    """And then for the transaction that it leaves open. InnoDB knows of none of that."""
    maria.run("CREATE TABLE orders (id SERIAL, at DATETIME(6) NOT NULL)")
    with session(maria) as late, session(maria) as holder, source_of(maria, FORMS[mode]) as run:
        holder.execute("SELECT GET_LOCK('the lock', 0)")
        late.execute("BEGIN")
        statement = "INSERT INTO orders (at) SELECT NOW(6) FROM (SELECT GET_LOCK('the lock', 60)) t"
        waiting = threading.Thread(target=late.execute, args=(statement,))
        waiting.start()
        _until(maria, "SELECT 1 FROM information_schema.processlist WHERE state = 'User lock'")
        maria.run("INSERT INTO orders (at) VALUES (NOW(6))")  # later, and committed
        if "timestamp" in mode:
            time.sleep(1.2)  # a moment counts a second later
        assert reads_nothing(run)
        holder.execute("SELECT RELEASE_LOCK('the lock')")
        waiting.join()
        assert reads_nothing(run)
        late.execute("COMMIT")
        assert len(set(ids_of(run, 2))) == 2


def _until(database: Any, statement: str) -> None:
    until = time.monotonic() + 20
    while not database.rows(statement):
        assert time.monotonic() < until, statement
        time.sleep(0.2)  # who asks for transactions more often than ten times a second is shown an old copy


@pytest.mark.parametrize("leaves", [False, True])
def test_rows_of_a_commit_in_two_phases_are_not_skipped(maria: Any, leaves: bool) -> None:
    """Whether or not the connection stays that has prepared it."""
    maria.run("CREATE TABLE orders (id SERIAL)")
    with source_of(maria) as run, session(maria) as other:
        with session(maria) as late:
            late.execute("XA START 'late'")
            late.execute("INSERT INTO orders VALUES (DEFAULT)")  # 1
            maria.run("INSERT INTO orders VALUES (DEFAULT)")  # 2
            assert reads_nothing(run)
            late.execute("XA END 'late'")
            late.execute("XA PREPARE 'late'")
            assert reads_nothing(run)
            if not leaves:
                late.execute("XA COMMIT 'late'")
                assert ids_of(run, 2) == [1, 2]
                return
        _until(maria, "SELECT 1 FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0")
        assert reads_nothing(run)
        with source_of(maria) as another:  # which has never seen its connection
            assert reads_nothing(another)
            other.execute("XA COMMIT 'late'")
            assert ids_of(another, 2) == [1, 2]
        assert ids_of(run, 2) == [1, 2]


def test_numbers_of_statements_that_insert_many_rows_together_may_be_mixed(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id SERIAL, w INT)")
    stopping = threading.Event()

    def insert(writer: int) -> None:
        with session(maria) as cursor:
            while not stopping.is_set():
                cursor.execute(f"INSERT INTO orders (w) VALUES {', '.join([f'({writer})'] * (1 + writer * 7))}")
                cursor.execute(f"INSERT INTO orders (w) SELECT {writer} FROM seq_1_to_{1 + writer * 11}")

    writers = [threading.Thread(target=insert, args=(n,)) for n in range(4)]
    for writer in writers:
        writer.start()
    with source_of(maria) as run:
        try:
            ids_of(run, 1_000, Limits(500, 10_000_000))
        finally:
            stopping.set()
            for writer in writers:
                writer.join()
        wanted: list[int] = [row[0] for row in maria.rows("SELECT id FROM orders ORDER BY id")]
        while len(ids(run)) < len(wanted) and run.step(Limits(100_000, 100_000_000)):
            pass
        assert ids(run) == wanted


@pytest.mark.parametrize("mode", QUICK_FORMS)
def test_each_row_is_read_once_for_any_order_of_commits(maria: Any, mode: str) -> None:
    """Some wait for locks, some are rolled back, and some take their time long before they write."""
    maria.run(
        "CREATE TABLE orders (id SERIAL, at DATETIME(6) NOT NULL DEFAULT NOW(6), w INT)", "CREATE TABLE locks (id INT)"
    )
    maria.run("INSERT INTO locks VALUES (1)")
    stopping = threading.Event()

    def insert(writer: int) -> None:
        number = 0
        with session(maria) as cursor:
            while not stopping.is_set():
                number += 1
                cursor.execute("BEGIN")
                cursor.execute(f"INSERT INTO orders (w) VALUES ({writer})")
                if number % 3 == 0:
                    cursor.execute("SELECT * FROM locks FOR UPDATE")
                stopping.wait(0.004 * (writer + number % 5))
                cursor.execute(f"INSERT INTO orders (at, w) SELECT NOW(), {writer} FROM (SELECT SLEEP(0.02)) t")
                cursor.execute("ROLLBACK" if number % 7 == 0 else "COMMIT")

    writers = [threading.Thread(target=insert, args=(n,)) for n in range(5)]
    for writer in writers:
        writer.start()
    with source_of(maria, FORMS[mode], **{"table.whitelist": "orders"}) as run:
        try:
            assert len(ids_of(run, 100)) >= 100, "rows are read while others are written"
        finally:
            stopping.set()
            for writer in writers:
                writer.join()
        ((count,),) = maria.rows("SELECT COUNT(*) FROM orders")
        found = ids_of(run, count)
        assert sorted(found) == [row[0] for row in maria.rows("SELECT id FROM orders ORDER BY id")]


def test_what_only_reads_holds_no_rows_back(maria: Any) -> None:
    """A transaction that is READ ONLY, and a SELECT by itself."""
    maria.run("CREATE TABLE orders (id SERIAL)", "INSERT INTO orders VALUES (DEFAULT)")
    with session(maria) as report, session(maria) as other, session(maria) as holder, source_of(maria) as run:
        report.execute("START TRANSACTION READ ONLY")
        report.execute("SELECT * FROM orders")
        holder.execute("SELECT GET_LOCK('the lock', 0)")
        long = threading.Thread(target=other.execute, args=("SELECT GET_LOCK('the lock', 60) FROM orders",))
        long.start()
        _until(maria, "SELECT 1 FROM information_schema.processlist WHERE state = 'User lock'")
        assert ids_of(run, 1) == [1]
        holder.execute("SELECT RELEASE_LOCK('the lock')")
        long.join()


def test_an_old_copy_of_the_list_of_transactions_is_not_believed(maria: Any) -> None:
    """The server does not bring it up to date while somebody reads it again and again."""
    maria.run("CREATE TABLE orders (id SERIAL)")
    stopping, begun = threading.Event(), threading.Event()

    def look() -> None:
        with session(maria) as monitor:
            while not stopping.is_set():
                monitor.execute("SELECT * FROM information_schema.innodb_trx")
                begun.set()
                stopping.wait(0.01)

    monitor = threading.Thread(target=look)
    monitor.start()
    begun.wait()
    with session(maria) as late, source_of(maria) as run:
        late.execute("BEGIN")
        late.execute("INSERT INTO orders VALUES (DEFAULT)")  # 1
        maria.run("INSERT INTO orders VALUES (DEFAULT)")  # 2
        assert reads_nothing(run)
        stopping.set()
        monitor.join()
        assert reads_nothing(run)
        late.execute("COMMIT")
        assert ids_of(run, 2) == [1, 2]


@pytest.mark.parametrize("prepared", [False, True])
def test_the_transaction_that_delays_rows_is_logged_in_one_line_for_all_tables(
    maria: Any, caplog: Any, prepared: bool
) -> None:
    maria.run("CREATE TABLE a (id SERIAL)", "CREATE TABLE b (id SERIAL)")
    source = make(SqlSource).source(parsed(SqlSource, {**maria.reading, **BY_ID}))
    now = [0.0]
    source._clock = lambda: now[0]
    late = maria.server.connect(maria.name)
    with late.cursor() as cursor, session(maria) as other:
        cursor.execute("XA START 'two'" if prepared else "BEGIN")
        cursor.execute("INSERT INTO a VALUES (DEFAULT)")
        if prepared:
            cursor.execute("XA END 'two'")
            cursor.execute("XA PREPARE 'two'")
            late.close()
            _until(maria, "SELECT 1 FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0")
        maria.run("INSERT INTO a VALUES (DEFAULT)", "INSERT INTO b VALUES (DEFAULT)")
        source.start({})
        try:
            for seconds in (0, 0, 59, 61, 120, 600, 662):
                now[0] = seconds
                assert source.latest_offsets({}, Limits(10, 1000)) == {}
                lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
                assert len(lines) == (seconds >= 61) + (seconds >= 662)
            assert all(f"New rows of {maria.name}.a and 1 more have waited" in line for line in lines)
            holder = f"connection {late.thread_id()} of user root (sleep, open for"
            wanted = "a prepared one, started" if prepared else holder
            assert wanted in lines[0]
            if prepared:
                other.execute("XA ROLLBACK 'two'")
            else:
                cursor.execute("ROLLBACK")
            now[0] = 700
            found: dict[Any, Any] = {}
            while len(found) < 2:
                found |= source.latest_offsets({}, Limits(10, 1000))
                now[0] += 1
        finally:
            source.stop()


def problems(properties: Mapping[str, str]) -> list[str]:
    return [str(p) for p in make(SqlSource).validate(parsed(SqlSource, properties))]


def test_what_to_grant_is_reported_to_a_user_who_may_not_see_transactions(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id SERIAL)", "INSERT INTO orders VALUES (DEFAULT)")
    assert problems({**maria.reading, **BY_ID}) == []
    given = {**maria.properties, **BY_ID}
    (found,) = problems(given)
    assert found.startswith("connection.user: ")
    assert "GRANT PROCESS ON *.* TO 'penstock'@'%'" in found
    with pytest.raises(ConnectError, match=r"GRANT PROCESS ON \*\.\* TO 'penstock'@'%'"):
        read_all(given)
    bulk = {**given, "mode": "bulk", "poll.interval.ms": "3600000"}
    assert problems(bulk) == []
    assert [r.value for r in read_all(bulk)] == [{"id": 1}]


def test_a_wrong_password_is_reported_immediately_but_not_an_unavailable_server(maria: Any) -> None:
    (found,) = problems({**maria.reading, **BY_ID, "connection.password": "hidden"})
    assert found.startswith("connection.password: cannot connect to 127.0.0.1:")
    assert "hidden" not in found
    away = {**BY_ID, "connection.url": "jdbc:mariadb://127.0.0.1:1/shop", "connection.user": "u"}
    assert problems(away) == []
    with pytest.raises(RetriableError):
        read_all(away)


def test_a_server_that_does_not_know_all_transactions_is_refused(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id SERIAL) ENGINE=MyISAM", "INSERT INTO orders VALUES (DEFAULT)")
    with pytest.raises(ConnectError, match=r"orders has the engine MyISAM, .* ALTER TABLE .* ENGINE=InnoDB"):
        read(maria)
    maria.run("ALTER TABLE orders ENGINE=InnoDB")
    maria.run("SET GLOBAL read_only = 1")
    try:
        with pytest.raises(ConnectError, match="replica or read-only"):
            read(maria)
        assert len(read(maria, mode="bulk", **{"poll.interval.ms": "3600000"})) == 1
    finally:
        maria.run("SET GLOBAL read_only = 0")
    assert len(read(maria)) == 1


@pytest.mark.parametrize("mode", ["incrementing", "timestamp+incrementing", "bulk"])
def test_names_are_quoted_with_any_content(maria: Any, mode: str) -> None:
    table, number, at, single = "a`b%s'; DROP TABLE x", 'i`d"%(x)s', "a:t %", "f`\\"

    def quoted(name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    maria.run(
        f"CREATE TABLE {quoted(table)} ({quoted(number)} SERIAL, {quoted(at)} DATETIME NOT NULL, {quoted(single)} FLOAT)",
        f"INSERT INTO {quoted(table)} ({quoted(at)}, {quoted(single)}) SELECT '2026-01-01', 0.5 FROM seq_1_to_50",
    )
    given = {"mode": mode, "incrementing.column.name": number, "timestamp.column.name": at, "topic.prefix": "shop."}
    found = read_all({**maria.reading, **given, "poll.interval.ms": "3600000"})
    assert [r.value for r in found] == [{number: n, at: 1_767_225_600_000, single: 0.5} for n in range(1, 51)]
    assert found[0].topic == "shop.a_b_s___DROP_TABLE_x"


def test_a_query_is_read_as_a_table(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT, name TEXT, odd TEXT)")
    maria.run("INSERT INTO orders VALUES (1, 'a', ':x %s'), (2, 'b', '%'), (3, 'c', 'c')")
    query = "SELECT id, UPPER(name) AS `na%me;`, odd FROM orders WHERE odd LIKE '%' AND odd <> ':none' -- all of them"
    records = read(maria, query=query, **{"topic.prefix": "queried"})
    assert [(r.topic, r.value) for r in records] == [
        ("queried", {"id": 1, "na%me;": "A", "odd": ":x %s"}),
        ("queried", {"id": 2, "na%me;": "B", "odd": "%"}),
        ("queried", {"id": 3, "na%me;": "C", "odd": "c"}),
    ]


@pytest.mark.parametrize("at", ["TIMESTAMP'2026-01-01 00:00:00'", "FROM_UNIXTIME(1767225600)"])
def test_a_query_may_be_read_by_a_timestamp_that_it_makes(maria: Any, at: str) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY)", "INSERT INTO orders VALUES (1), (2)")
    records = read(maria, query=f"SELECT id, {at} AS at FROM orders", **{k: v for k, v in BY_TIME.items() if k != "id"})
    assert [r.value for r in records] == [{"id": n, "at": 1_767_225_600_000} for n in (1, 2)]
    with pytest.raises(ConnectError, match="at of the query is not a timestamp"):
        read(maria, query="SELECT 1 AS id, 2 AS at", **BY_TIME)


def test_several_statements_are_refused(maria: Any) -> None:
    from penstock import ConfigError

    with pytest.raises(ConfigError, match="one SELECT"):
        read(maria, query="SELECT 1 AS id; DROP TABLE orders")
    with pytest.raises(ConnectError, match="does not understand the statement"):
        read(maria, query="SELECT 1 AS id) q; DROP TABLE orders; SELECT * FROM (SELECT 1 AS id".replace(";", " "))


def test_a_column_that_is_added_is_in_the_records_from_then_on(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id SERIAL)", "INSERT INTO orders VALUES (DEFAULT)")
    with source_of(maria) as run:
        assert ids_of(run, 1) == [1]
        maria.run("ALTER TABLE orders ADD COLUMN name TEXT DEFAULT 'x'", "INSERT INTO orders (id) VALUES (DEFAULT)")
        ids_of(run, 2)
    assert [r.value for stream in run.streams.values() for r in stream] == [{"id": 1}, {"id": 2, "name": "x"}]


def test_an_offset_of_confluents_connector_is_gone_on_from(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMP(6) NOT NULL)")
    maria.run(
        "INSERT INTO orders SELECT seq, TIMESTAMP'2026-01-01 00:00:00' + INTERVAL seq MICROSECOND FROM seq_1_to_9"
    )
    partition = SourcePartition({"protocol": "1", "table": f"{maria.name}.orders"})
    at = {"incrementing": 5, "timestamp": 1_767_225_600_000, "timestamp_nanos": 5_000}
    found = read_all({**maria.reading, **BY_TIME}, offsets={partition: at})
    assert [r.value["id"] for r in found] == [6, 7, 8, 9]


def test_tables_are_shared_among_tasks_and_chosen_by_name(maria: Any) -> None:
    for table in ("a", "b", "c"):
        maria.run(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
    maria.run("CREATE VIEW v AS SELECT * FROM a", "CREATE SEQUENCE s", "CREATE TABLE penstock_offsets (id INT)")
    other = f"{maria.name}_other"
    maria.run(
        f"CREATE DATABASE {other}",
        f"CREATE TABLE {other}.d (id INT PRIMARY KEY)",
        f"GRANT SELECT ON {other}.* TO reader",
    )

    def tasks(most: int, **more: str) -> list[list[str]]:
        given = {**maria.reading, **BY_ID, **more}
        found = make(SqlSource).task_configs(parsed(SqlSource, given), given, most)
        return [[".".join(t) for t in json.loads(task["task.tables"])] for task in found]

    try:
        own = maria.name
        assert tasks(2) == [[f"{own}.a", f"{own}.c"], [f"{own}.b"]]
        assert tasks(9, **{"table.whitelist": f"a,{other}.d"}) == [[f"{own}.a"], [f"{other}.d"]]
        assert tasks(1, **{"table.blacklist": "a", "schema.pattern": f"{own}%"}) == [
            [f"{own}.b", f"{own}.c", f"{other}.d"]
        ]
        assert tasks(1, **{"table.whitelist": "v"}) == [[f"{own}.v"]]
        with pytest.raises(ConnectError, match=r"table\.whitelist names nowhere"):
            tasks(1, **{"table.whitelist": "a,nowhere"})
        maria.run("INSERT INTO a VALUES (7)")
        assert [r.value for r in read(maria, **{"table.whitelist": "v", "validate.non.null": "false"})] == [{"id": 7}]
    finally:
        maria.run(f"DROP DATABASE {other}")


@pytest.mark.parametrize(
    ("table", "row", "properties", "words"),
    [
        ("id INT", "1", BY_ID, "Column id of .*orders may be null"),
        ("nr INT NOT NULL", "1", BY_ID, "has no column id"),
        ("id VARCHAR(9) NOT NULL", "1", BY_ID, "id of .*orders must hold whole numbers"),
        ("id DOUBLE NOT NULL", "1.5", BY_ID, "id of .*orders must hold whole numbers"),
        ("id INT NOT NULL, at VARCHAR(9) NOT NULL", "1, 'x'", BY_TIME, "must all be timestamps"),
        ("id INT NOT NULL, at DATE NOT NULL", "1, '2026-01-01'", BY_TIME, "must all be timestamps"),
    ],
)
def test_a_table_that_the_mode_cannot_read_is_reported(
    maria: Any, table: str, row: str, properties: Any, words: str
) -> None:
    maria.run(f"CREATE TABLE orders ({table})", f"INSERT INTO orders VALUES ({row})")
    with pytest.raises(ConnectError, match=words):
        read_all({**maria.reading, **properties})


def test_rows_are_read_up_to_the_largest_int64_and_a_larger_number_is_reported(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id BIGINT UNSIGNED PRIMARY KEY)")
    maria.run("INSERT INTO orders VALUES (1), (9223372036854775806)")
    with source_of(maria) as run:
        ids_of(run, 2)
        maria.run("INSERT INTO orders VALUES (9223372036854775807)")
        assert ids_of(run, 3) == [1, 2**63 - 2, 2**63 - 1]
        maria.run("INSERT INTO orders VALUES (18446744073709551615)")
        with pytest.raises(ConnectError, match="holds a number outside of 64 bits"):
            run.step()


def test_rows_whose_timestamp_is_zeros_come_first(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, at DATETIME NOT NULL)")
    maria.run(
        "SET sql_mode = ''",
        "INSERT INTO orders VALUES (5, '9999-12-31'), (4, '2026-01-01'), (3, '0001-01-01'), (2, '0000-01-01')",
        "INSERT INTO orders SELECT seq, '0000-00-00' FROM seq_101_to_150",
    )
    query = "SELECT id, at, 1 AS one FROM orders"
    with pytest.raises(ConnectError, match="Column at of orders: a date has a month or day of zero"):
        read_all({**maria.reading, **BY_TIME})
    found = [r.value["id"] for r in read_all({**maria.reading, **BY_TIME, "query": query})]
    assert found == [*range(101, 151), 2, 3, 4]


def test_a_moment_that_may_come_again_is_left(maria: Any) -> None:
    """NOW() has whole seconds, whatever the column has."""
    maria.run("CREATE TABLE orders (id SERIAL, at DATETIME(6) NOT NULL)")
    with source_of(maria, {**BY_TIME, "mode": "timestamp"}) as run:
        maria.run("INSERT INTO orders (at) VALUES (NOW(6))")
        assert not run.step()
        maria.run("INSERT INTO orders (at) VALUES (NOW())")
        assert sorted(ids_of(run, 2)) == [1, 2]


def test_rows_are_streamed_and_the_rest_is_not_sent_after_an_early_stop(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)")
    maria.run("INSERT INTO orders SELECT seq, REPEAT('x', 1000) FROM seq_1_to_100000")
    reader = make(SqlSource).reader(parsed(SqlSource, {**maria.reading, **BY_ID}))
    data = {"table": [maria.name, "orders"], "topic": "t", "zoned": True, "start": [None, None], "end": [None, 100_000]}
    batches = iter(reader.read(InputPartition(data)))
    first = next(batches)
    assert isinstance(first, RecordBatch)
    assert first.length == 2000
    running = f"SELECT state FROM information_schema.processlist WHERE user = 'reader' AND db = '{maria.name}'"
    ((state,),) = maria.rows(running)
    assert state in ("Writing to net", "Sending data")
    maria.run(  # and nobody waits for it meanwhile
        "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1",
        "INSERT INTO orders VALUES (0, 'new')",
        "UPDATE orders SET note = 'y' WHERE id = 100000",
    )
    batches.close()  # type: ignore[attr-defined]
    _until(maria, f"SELECT 1 WHERE NOT EXISTS ({running})")
    assert sum(batch.length for batch in reader.read(InputPartition(data)) if isinstance(batch, RecordBatch)) == 100_001
    reader.close()


def test_large_rows_are_held_one_at_a_time_and_make_batches_small(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, doc LONGTEXT)")
    maria.run("SET GLOBAL max_allowed_packet = 64000000")
    try:
        maria.run("INSERT INTO orders SELECT seq, 'x' FROM seq_1_to_2100")
        maria.run("INSERT INTO orders SELECT seq, REPEAT('x', 20000000) FROM seq_2101_to_2103")
        maria.run("INSERT INTO orders SELECT seq, 'x' FROM seq_2104_to_4300")
    finally:
        maria.run("SET GLOBAL max_allowed_packet = DEFAULT")
    reader = make(SqlSource).reader(parsed(SqlSource, {**maria.reading, **BY_ID}))
    data = {"table": [maria.name, "orders"], "topic": "t", "zoned": True, "start": [None, None], "end": [None, 4300]}
    counts = [batch.length for batch in reader.read(InputPartition(data)) if isinstance(batch, RecordBatch)]
    reader.close()
    assert counts == [2000, 101, 1, 1, 2000, 197]
    table = SourcePartition({"protocol": "1", "table": f"{maria.name}.orders"})
    with SourceRun(SqlSource, {**maria.reading, **BY_ID}, {table: {"incrementing": 2100}}) as run:
        run.step(Limits(1000, 10_000_000))
    assert 1 <= len(ids(run)) <= 4


@pytest.mark.parametrize("mode", FORMS)
def test_a_backlog_is_read_in_ranges_each_row_once(maria: Any, mode: str) -> None:
    maria.run("CREATE TABLE orders (id SERIAL, at DATETIME(6) NOT NULL, KEY (at, id))")
    maria.run(
        "INSERT INTO orders (at) "
        "SELECT TIMESTAMP'2026-01-01 00:00:00' + INTERVAL (seq DIV 3) MICROSECOND FROM seq_1_to_30000"
    )
    with source_of(maria, FORMS[mode], **{"backlog.ranges": "4"}) as run:
        assert run.step(Limits(20_000, 1 << 30))
        assert len(run.streams) == 4
        assert all(len(stream) > 4_000 for stream in run.streams.values())
        run.all(Limits(20_000, 1 << 30))
    assert sorted(ids(run)) == list(range(1, 30_001))


@pytest.mark.parametrize("mode", FORMS)
def test_the_index_is_used_for_what_lies_behind_a_place(maria: Any, mode: str) -> None:
    from sqlalchemy import event

    maria.run("CREATE TABLE orders (id SERIAL, at DATETIME(6) NOT NULL, note TEXT, KEY (at, id))")
    maria.run(
        "INSERT INTO orders (at, note) SELECT TIMESTAMP'2026-01-01 00:00:00' + INTERVAL (seq DIV 3) SECOND, 'x' "
        "FROM seq_1_to_60000",
        "ANALYZE TABLE orders",
    )
    partition = SourcePartition({"protocol": "1", "table": f"{maria.name}.orders"})
    start = {"incrementing": 59_900, "timestamp": 1_767_225_600_000 + 59_900 // 3 * 1000, "timestamp_nanos": 0}
    source = make(SqlSource).source(parsed(SqlSource, {**maria.reading, **FORMS[mode]}))
    source.start({partition: start})
    statements: list[tuple[str, Any]] = []
    connection = source._database.connection()
    event.listen(connection, "before_cursor_execute", lambda *given: statements.append((given[2], given[3])))
    try:
        source.latest_offsets({partition: start}, Limits(10, 1 << 20))
        looks = [
            (text, given) for text, given in statements if "LIMIT" in text and "orders" in text and "*" not in text
        ]
        assert looks
        for text, given in looks:
            driver = connection.connection.driver_connection
            assert driver is not None
            with driver.cursor() as cursor:
                before = _touched(cursor)
                cursor.execute(text, given)
                cursor.fetchall()
                assert _touched(cursor) - before < 300, text
    finally:
        source.stop()


def _touched(cursor: Any) -> int:
    """How many rows this session has touched, of indexes and tables."""
    cursor.execute("SHOW SESSION STATUS WHERE variable_name IN ('Handler_read_next', 'Handler_read_rnd_next')")
    return sum(int(value) for _, value in cursor.fetchall())


def test_a_task_holds_two_connections(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id SERIAL)", "INSERT INTO orders VALUES (DEFAULT)")
    with source_of(maria) as run:
        ids_of(run, 1)
        of = f"SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'reader' AND db = '{maria.name}'"
        assert maria.rows(of) == [(2,)]


def test_a_killed_connection_is_reopened_and_nothing_is_lost(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id SERIAL)", "INSERT INTO orders VALUES (DEFAULT)")
    with source_of(maria) as run:
        ids_of(run, 1)
        for number in range(2, 5):
            maria.run("INSERT INTO orders VALUES (DEFAULT)")
            for (connection,) in maria.rows("SELECT id FROM information_schema.processlist WHERE user = 'reader'"):
                maria.run(f"KILL {connection}")
            with pytest.raises(RetriableError):
                ids_of(run, number)
            while len(ids(run)) < number:
                try:
                    run.step()
                except RetriableError:
                    continue
        assert ids(run) == [1, 2, 3, 4]


def test_the_end_of_the_day_is_a_time(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id SERIAL, closes TIME, exact TIME(6))")
    maria.run("INSERT INTO orders (closes, exact) VALUES ('24:00:00', '24:00:00')")
    (record,) = read(maria)
    assert record.value["closes"] == record.value["exact"] == Instant(86_400_000)
