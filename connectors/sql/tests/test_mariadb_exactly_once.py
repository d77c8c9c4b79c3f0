"""Each record is one row of MariaDB, whatever ends in between."""

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pymysql
import pytest
from connectors.sql.tests import mariadb

import penstock_sql.dialects.mariadb.put
import penstock_sql.sink.connector
import penstock_sql.sink.writer
from penstock import ConnectError, DataError, Password, Record, RetriableError, SourcePartition, TopicPartition
from penstock.schema import INT32, INT64, STRING, struct
from penstock.testing import SinkSuite
from penstock.testing._harness import sink_batch
from penstock.testing._making import make, parsed
from penstock.testing._sink_life import T0, SinkLife, placed
from penstock_sql.sink import SqlSink

SCHEMA = struct({"id": INT32})
ROW = struct({"id": INT64, "name": STRING})
RECORDS = tuple(
    Record(topic="t", key=str(n), key_schema=STRING, value={"id": n, "name": f"name {n}"}, value_schema=ROW, offset=n)
    for n in range(9)
)
UPSERT = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}


class TestInsert(SinkSuite):
    plugin = SqlSink
    exactly_once = True
    records = RECORDS

    @pytest.fixture
    def properties(self, maria: Any) -> Mapping[str, str]:
        maria.run("CREATE TABLE t (at SERIAL, id BIGINT, name TEXT)")
        self.database = maria
        return dict(maria.properties)

    def stored(self, properties: Mapping[str, str]) -> list[Any]:
        return self.database.rows("SELECT id, name FROM t ORDER BY at")  # type: ignore[no-any-return]


class TestUpsert(TestInsert):
    @pytest.fixture
    def properties(self, maria: Any) -> Mapping[str, str]:
        self.database = maria
        return {**maria.properties, **UPSERT, "auto.create": "true"}

    def stored(self, properties: Mapping[str, str]) -> list[Any]:
        if not self.database.rows("SHOW TABLES LIKE 't'"):
            return []
        return self.database.rows("SELECT id, name FROM t ORDER BY id")  # type: ignore[no-any-return]


def records(*ids: object, of: TopicPartition = T0, begin: int = 0) -> list[Record]:
    return placed([Record(topic="orders", value={"id": n}) for n in ids], of, begin)


def write(life: SinkLife, given: list[Record]) -> tuple[list[object], Any]:
    """Write records; the ids that were handed back, and the message for `commit`."""
    refused: list[object] = []
    message = life.writer().write([sink_batch(given)], lambda record, error: refused.append(record.value["id"]))
    return refused, message


@pytest.fixture
def orders(maria: Any) -> Any:
    maria.run("CREATE TABLE orders (id INT)")
    return maria


def ids(database: Any) -> list[object]:
    return [row[0] for row in database.rows("SELECT id FROM orders ORDER BY id")]


def test_a_record_that_was_handed_back_is_handed_back_again_after_a_crash_before_its_dead_letter(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as life:
        assert write(life, records(0, 1, "two", 3, "four"))[0] == ["two", "four"]
        life.kill()
    with SinkLife(SqlSink, orders.properties) as life:
        assert life.opened == {T0: 2}
        refused, first = write(life, records("two", 3, begin=2))
        assert refused == ["two"]
        life.sink.commit([first], {T0: 4})
        assert life.reopen() == {T0: 4}
    assert ids(orders) == [0, 1, 3]


def test_a_writer_of_an_earlier_start_writes_nothing_once_a_later_one_has_opened(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as earlier:
        write(earlier, records(0, 1))
        with SinkLife(SqlSink, orders.properties) as later:
            refusal = "cannot write records of t-0: another process of connector suite has opened the partition"
            with pytest.raises(ConnectError, match=refusal):
                write(earlier, records(2, 3, begin=2))
            write(later, records(2, 3, begin=2))
    assert ids(orders) == [0, 1, 2, 3]


@pytest.mark.parametrize("offset", [{"kafka_offset": 1}, None])
def test_a_writer_that_was_frozen_while_offsets_were_altered_writes_nothing(orders: Any, offset: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as frozen:
        write(frozen, records(0, 1))
        connector = make(SqlSink)
        object.__setattr__(connector, "context", type(connector.context)("suite"))
        partition = SourcePartition({"kafka_topic": "t", "kafka_partition": 0})
        assert connector.alter_offsets(parsed(SqlSink, orders.properties), {partition: offset})
        with pytest.raises(ConnectError, match="its offset was altered"):
            write(frozen, records(2, 3, begin=2))
    assert ids(orders) == [0, 1]


def test_an_earlier_start_frozen_in_its_transaction_does_not_block_later_ones(orders: Any, monkeypatch: Any) -> None:
    frozen = threading.Event()
    woken = threading.Event()
    put = penstock_sql.dialects.mariadb.put.put

    def freeze(*given: Any) -> None:
        put(*given)
        if threading.current_thread() is not threading.main_thread():
            frozen.set()
            woken.wait()

    monkeypatch.setattr(penstock_sql.dialects.mariadb.put, "put", freeze)
    failures: list[Exception] = []

    def run() -> None:
        try:
            write(earlier, records(1, 2, begin=1))
        except Exception as e:  # noqa: BLE001 (told by the test)
            failures.append(e)

    with SinkLife(SqlSink, orders.properties) as earlier:
        write(earlier, records(0))
        thread = threading.Thread(target=run)
        thread.start()
        frozen.wait()
        begun = time.monotonic()
        with SinkLife(SqlSink, orders.properties) as later:
            assert later.opened == {T0: 1}
            write(later, records(1, begin=1))
        assert time.monotonic() - begun < 5
        woken.set()
        thread.join()
    (failure,) = failures
    assert isinstance(failure, RetriableError)
    assert ids(orders) == [0, 1]


def test_a_connection_that_is_killed_between_write_and_commit_leaves_nothing_of_its_batch(
    orders: Any, monkeypatch: Any
) -> None:
    put = penstock_sql.dialects.mariadb.put.put

    def kill(connection: Any, *given: Any) -> None:
        put(connection, *given)
        monkeypatch.undo()
        orders.run(f"KILL {connection.connection.driver_connection.thread_id()}")

    with SinkLife(SqlSink, orders.properties) as life:
        monkeypatch.setattr(penstock_sql.dialects.mariadb.put, "put", kill)
        writer = life.writer()
        with pytest.raises(RetriableError):
            writer.write([sink_batch(records(0, 1))], _no_report)
        assert ids(orders) == []
        writer.write([sink_batch(records(0, 1))], _no_report)
        assert ids(orders) == [0, 1]


@pytest.fixture
def own_server(tmp_path: Any) -> Iterator[mariadb.Server]:
    """A server that is killed and starts again."""
    from connectors.sql.tests.conftest import _free_port

    server = mariadb.Server(tmp_path, _free_port())
    server.start()
    yield server
    server.kill()


def test_a_server_that_is_killed_between_write_and_commit_and_after_it_has_each_row_once(
    own_server: mariadb.Server, monkeypatch: Any
) -> None:
    with own_server.connect("mysql") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE USER penstock IDENTIFIED BY 'secret'")
        cursor.execute("GRANT ALL ON shop.* TO penstock")
    database = mariadb.Database(own_server, "shop")
    database.run("CREATE TABLE orders (id INT)")
    put = penstock_sql.dialects.mariadb.put.put

    def kill(*given: Any) -> None:
        put(*given)
        monkeypatch.undo()
        own_server.kill()

    with SinkLife(SqlSink, database.properties) as life:
        writer = life.writer()
        writer.write([sink_batch(records(0, 1))], _no_report)
        monkeypatch.setattr(penstock_sql.dialects.mariadb.put, "put", kill)
        with pytest.raises(RetriableError):
            writer.write([sink_batch(records(2, 3, begin=2))], _no_report)
        with pytest.raises(RetriableError):
            writer.write([sink_batch(records(2, 3, begin=2))], _no_report)
        own_server.start()
        writer.write([sink_batch(records(2, 3, begin=2))], _no_report)
        own_server.kill()
        own_server.start()
        with pytest.raises(RetriableError):  # its connection is lost
            writer.write([sink_batch(records(2, 3, begin=2))], _no_report)
        writer.write([sink_batch(records(2, 3, begin=2))], _no_report)  # as after an answer that was lost
        life.kill()
    with SinkLife(SqlSink, database.properties) as life:
        assert life.opened == {T0: 4}
    assert ids(database) == [0, 1, 2, 3]


def test_a_server_that_takes_no_writes_for_a_while_is_waited_for(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as life:
        orders.run("SET GLOBAL read_only = 1")
        try:
            with pytest.raises(RetriableError, match="read-only"):
                write(life, records(0))
        finally:
            orders.run("SET GLOBAL read_only = 0")
        write(life, records(0))
    assert ids(orders) == [0]


def test_a_table_that_somebody_holds_is_waited_for_and_not_for_ever(orders: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(penstock_sql.dialects.mariadb.put, "_SECONDS", 1)
    monkeypatch.setattr(penstock_sql.dialects.mariadb.put, "_DEFINITION_SECONDS", 1)
    with SinkLife(SqlSink, orders.properties) as life, orders.server.connect(orders.name) as other:
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLE orders WRITE")
            with pytest.raises(RetriableError, match="Lock wait timeout"):
                write(life, records(0))
            cursor.execute("UNLOCK TABLES")
        write(life, records(0))
    assert ids(orders) == [0]


def test_a_deadlock_is_tried_again_and_loses_nothing(maria: Any, monkeypatch: Any) -> None:
    """Somebody else locks row 2 and then row 1, while the sink has row 1 and waits for row 2."""
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, n INT)", "INSERT INTO orders VALUES (1, 0), (2, 0)")
    put = penstock_sql.dialects.mariadb.put.put
    between = threading.Barrier(2, timeout=20)

    def met(connection: Any, of: Any, rows: Any, *given: Any) -> None:
        for row in rows:
            put(connection, of, [row], *given)
            if row[0] == 1:
                monkeypatch.setattr(penstock_sql.dialects.mariadb.put, "put", put)
                between.wait()
                time.sleep(0.3)

    def other() -> None:
        with maria.server.connect(maria.name) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE filler (id SERIAL)")  # the larger transaction survives
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO filler SELECT seq FROM seq_1_to_1000")
            cursor.execute("UPDATE orders SET n = n + 10 WHERE id = 2")
            between.wait()
            cursor.execute("UPDATE orders SET n = n + 10 WHERE id = 1")
            cursor.execute("COMMIT")

    properties = {**maria.properties, **UPSERT}
    given = placed([Record(topic="orders", value={"id": n, "n": 1}) for n in (1, 2)], T0, 0)
    with SinkLife(SqlSink, properties) as life:
        writer = life.writer()
        monkeypatch.setattr(penstock_sql.dialects.mariadb.put, "put", met)
        thread = threading.Thread(target=other)
        thread.start()
        with pytest.raises(RetriableError, match="Deadlock"):
            writer.write([sink_batch(given)], _no_report)
        thread.join()
        assert maria.rows("SELECT id, n FROM orders") == [(1, 10), (2, 10)]
        writer.write([sink_batch(given)], _no_report)
    assert maria.rows("SELECT id, n FROM orders") == [(1, 1), (2, 1)]


def test_two_tasks_that_upsert_the_same_keys_lose_nothing(maria: Any, monkeypatch: Any) -> None:
    """Also where they create the table, and get in each other's way."""
    for module in (penstock_sql.sink.connector, penstock_sql.sink.writer):  # each thread is a task
        monkeypatch.setattr(module, "writers_name", lambda context: f"penstock {threading.get_ident()}")
    properties = {**maria.properties, **UPSERT, "auto.create": "true"}
    partitions = [TopicPartition("t", n) for n in range(2)]
    failures: list[BaseException] = []

    def task(of: TopicPartition, rounds: int = 10) -> None:
        with SinkLife(SqlSink, properties, partitions=[of]) as life:
            writer = life.writer()
            for number in range(rounds):
                ordered = range(100) if of.partition else range(99, -1, -1)
                given = [Record(topic="orders", value={"id": n}, value_schema=SCHEMA) for n in ordered]
                batch = sink_batch(placed(given, of, number * 100))
                while True:
                    try:
                        writer.write([batch], _no_report)
                        break
                    except RetriableError:
                        continue
                    except BaseException as e:  # noqa: BLE001 (told by the test)
                        failures.append(e)
                        return

    threads = [threading.Thread(target=task, args=(of,)) for of in partitions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert ids(maria) == list(range(100))
    assert maria.rows("SELECT part, next FROM penstock_offsets ORDER BY part") == [(0, 1000), (1, 1000)]


def _no_report(record: Record, error: Exception) -> None:
    raise DataError(f"refused {record}: {error}")


def test_a_column_whose_type_was_changed_gets_values_of_the_new_type(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, price NUMERIC(10, 2), at DATETIME)")
    with SinkLife(SqlSink, {**maria.properties, **UPSERT, "db.timezone": "Asia/Tokyo"}) as life:
        writer = life.writer()
        for offset in range(2):
            value = {"id": offset, "price": "1.2345", "at": 1_700_000_000_000}
            writer.write([sink_batch(placed([Record(topic="orders", value=value)], T0, offset))], _no_report)
            maria.run("ALTER TABLE orders MODIFY price NUMERIC(10, 4), MODIFY at TIMESTAMP")
    assert maria.rows("SELECT CAST(price AS CHAR), UNIX_TIMESTAMP(at) FROM orders WHERE id = 1") == [
        ("1.2345", 1_700_000_000)
    ]


def problems(properties: Mapping[str, str]) -> list[str]:
    return [str(p) for p in make(SqlSink).validate(parsed(SqlSink, properties))]


def test_a_wrong_password_user_or_database_is_reported_immediately(maria: Any) -> None:
    assert problems(maria.properties) == []
    (found,) = problems({**maria.properties, "connection.password": "hidden"})
    assert found.startswith("connection.password: cannot connect to 127.0.0.1:")
    assert "Access denied" in found
    assert "hidden" not in found
    (found,) = problems({**maria.properties, "connection.url": maria.server.url("nowhere")})
    assert found.startswith("connection.url: ")
    assert "nowhere" in found


def test_a_database_that_does_not_exist_is_waited_for_and_named(maria: Any) -> None:
    name = f"{maria.name}_later"
    given = {**maria.properties, "connection.url": maria.server.url(name)}
    maria.run(f"GRANT ALL ON {name}.* TO penstock")
    assert problems(given) == []
    with pytest.raises(RetriableError, match=f"Unknown database '{name}'"), SinkLife(SqlSink, given):
        pass
    maria.run(f"CREATE DATABASE {name}")
    with SinkLife(SqlSink, given):
        pass


def test_a_server_that_is_unavailable_is_no_fault_of_the_configuration() -> None:
    away = {"connection.url": "jdbc:mariadb://127.0.0.1:1,127.0.0.1:2/shop", "connection.user": "u"}
    assert problems(away) == []
    with pytest.raises(RetriableError, match="Can't connect"), SinkLife(SqlSink, away):
        pass


def test_a_server_without_tls_is_refused_where_tls_is_wanted(maria: Any) -> None:
    for mode in ("trust", "verify-ca", "verify-full"):
        url = maria.properties["connection.url"].replace("disable", mode)
        (found,) = problems({**maria.properties, "connection.url": url})
        assert "SSL is required" in found
    prefer = maria.properties["connection.url"].partition("?")[0]
    assert problems({**maria.properties, "connection.url": prefer}) == []


@pytest.mark.slow
def test_tls_is_spoken_and_verified_as_the_url_says(tmp_path: Any) -> None:
    """MariaDB has a certificate of its own making, which no authority vouches for."""
    from connectors.sql.tests.conftest import _free_port

    from penstock_sql.address import address
    from penstock_sql.dialects.mariadb.session import connect

    server = mariadb.Server(tmp_path, _free_port())
    server.start("--ssl")
    try:
        with server.connect("mysql") as connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER penstock IDENTIFIED BY 'secret'")
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("GRANT ALL ON shop.* TO penstock")
        url = server.url("shop").partition("?")[0]
        for mode, speaks in (("disable", False), ("trust", True), ("REQUIRED", True), (None, True)):
            given = url if mode is None else f"{url}?sslMode={mode}"
            with (
                connect(address(given, "penstock", Password("secret")).parameters, "test") as one,
                one.cursor() as cursor,
            ):
                cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
                assert bool(cursor.fetchone()[1]) is speaks
        for mode in ("verify-ca", "verify-full"):
            own = {"connection.url": f"{url}?sslMode={mode}", "connection.user": "penstock"}
            (found,) = problems({**own, "connection.password": "secret"})
            assert "certificate verify failed" in found
    finally:
        server.kill()


def test_error_for_a_user_without_create_right_has_the_statement_to_run(orders: Any) -> None:
    orders.run("CREATE USER writer IDENTIFIED BY 'secret'", "GRANT SELECT, INSERT ON orders TO writer")
    try:
        given = {**orders.properties, "connection.user": "writer"}
        with (
            pytest.raises(ConnectError, match="cannot create table penstock_offsets") as raised,
            SinkLife(SqlSink, given),
        ):
            pass
        orders.run(str(raised.value).partition("run: ")[2].partition("; GRANT")[0])
        orders.run("GRANT SELECT, INSERT, UPDATE, DELETE ON penstock_offsets TO writer")
        with SinkLife(SqlSink, given) as life:
            write(life, records(1))
        assert ids(orders) == [1]
    finally:
        orders.run("DROP USER writer")


def test_all_records_of_a_batch_may_be_refused(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as life:
        assert len(write(life, records(*(f"bad {n}" for n in range(300))))[0]) == 300


def test_a_lost_connection_is_distinguished_from_a_row(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as life:
        writer = life.writer()
        writer.write([sink_batch(records(0))], _no_report)
        for (number,) in orders.rows("SELECT id FROM information_schema.processlist WHERE user = 'penstock'"):
            try:
                orders.run(f"KILL {number}")
            except pymysql.Error:
                continue
        with pytest.raises(RetriableError):
            writer.write([sink_batch(records(1, begin=1))], _no_report)
        writer.write([sink_batch(records(1, begin=1))], _no_report)
    assert ids(orders) == [0, 1]
