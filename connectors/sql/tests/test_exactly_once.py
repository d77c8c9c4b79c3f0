"""Each record is one row: what is stored, handed back, taken over, altered."""

import threading
from typing import Any

import psycopg
import pytest

import penstock_sql.sink.connector
import penstock_sql.sink.writer
from penstock import ConnectError, DataError, Record, RetriableError, SourcePartition, TopicPartition
from penstock.schema import INT32, struct
from penstock.testing._harness import sink_batch
from penstock.testing._making import make, parsed
from penstock.testing._sink_life import T0, SinkLife, placed
from penstock_sql.dialects.error_meaning import Meaning
from penstock_sql.dialects.postgresql.errors import meaning
from penstock_sql.sink import SqlSink

SCHEMA = struct({"id": INT32})


def records(*ids: object, of: TopicPartition = T0, begin: int = 0) -> list[Record]:
    return placed([Record(topic="orders", value={"id": n}) for n in ids], of, begin)


def write(life: SinkLife, given: list[Record]) -> tuple[list[object], Any]:
    """Write records; the ids that were handed back, and the message for `commit`."""
    refused: list[object] = []
    message = life.writer().write([sink_batch(given)], lambda record, error: refused.append(record.value["id"]))
    return refused, message


@pytest.fixture
def orders(database: Any) -> Any:
    database.run("CREATE TABLE orders (id INT)")
    return database


def ids(database: Any) -> list[object]:
    return [row[0] for row in database.rows("SELECT id FROM orders ORDER BY id")]


def test_a_record_that_was_handed_back_is_handed_back_again_after_a_crash_before_its_dead_letter(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as life:
        refused, _ = write(life, records(0, 1, "two", 3, "four"))
        assert refused == ["two", "four"]
        life.kill()  # the process ends before the dead letters are in Kafka
    with SinkLife(SqlSink, orders.properties) as life:
        assert life.opened == {T0: 2}
        refused, first = write(life, records("two", 3, begin=2))
        assert refused == ["two"]
        life.sink.commit([first], {T0: 4})  # the dead letter is in Kafka
        assert life.reopen() == {T0: 4}
        refused, second = write(life, records("four", 5, begin=4))
        assert refused == ["four"]
        life.sink.commit([second], {T0: 6})
        assert life.reopen() == {T0: 6}
    assert ids(orders) == [0, 1, 3, 5]


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
        for _ in range(2):
            assert connector.alter_offsets(parsed(SqlSink, orders.properties), {partition: offset})
        with pytest.raises(ConnectError, match="its offset was altered"):
            write(frozen, records(2, 3, begin=2))
    with SinkLife(SqlSink, orders.properties) as life:
        assert life.opened == ({T0: 1} if offset else {})
        start = 1 if offset else 0
        write(life, records(*range(start, 4), begin=start))
    assert ids(orders) == sorted([0, 1, *range(start, 4)])


def test_a_record_that_the_task_may_not_pass_over_leaves_nothing_of_its_batch(orders: Any) -> None:
    def refuse(record: Record, error: Exception) -> None:
        raise ConnectError("errors.tolerance is none") from error

    with SinkLife(SqlSink, orders.properties) as life:
        with pytest.raises(ConnectError, match="tolerance is none"):
            life.writer().write([sink_batch(records(0, "one", 2))], refuse)
        assert life.reopen() == {}
    assert ids(orders) == []


def test_a_server_that_takes_no_writes_for_a_while_is_waited_for(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as life:
        orders.run(f"ALTER DATABASE {orders.name} SET default_transaction_read_only = on")
        with pytest.raises(RetriableError, match=r"cannot execute .* in a read-only transaction"):
            write(life, records(0))
        with orders.server.connect() as other:
            other.execute(f"ALTER DATABASE {orders.name} RESET default_transaction_read_only".encode())
        write(life, records(0))
    assert ids(orders) == [0]


def test_a_table_that_somebody_holds_is_waited_for_and_not_for_ever(orders: Any, monkeypatch: Any) -> None:
    from penstock_sql.dialects.postgresql import put as postgresql

    monkeypatch.setattr(postgresql, "_BOUNDS", postgresql._BOUNDS.replace("'60s'", "'100ms'", 1))
    monkeypatch.setattr(postgresql, "_DEFINITION_SECONDS", 0.1)
    with SinkLife(SqlSink, orders.properties) as life, orders.server.connect(orders.name) as other:
        other.execute("BEGIN; LOCK TABLE orders")
        with pytest.raises(RetriableError, match="lock timeout"):
            write(life, records(0))
        other.execute("COMMIT")
        write(life, records(0))
    assert ids(orders) == [0]


def test_a_table_whose_type_exists_already_is_one_that_another_task_creates(database: Any) -> None:
    """PostgreSQL's answer if the other task commits between its two checks."""
    database.run("CREATE DOMAIN orders AS INT")
    with pytest.raises(psycopg.errors.DuplicateObject) as refused:
        database.run("CREATE TABLE IF NOT EXISTS orders (id INT)")
    assert meaning(refused.value) is Meaning.SCHEMA


def test_two_tasks_that_upsert_the_same_keys_lose_nothing(database: Any, monkeypatch: Any) -> None:
    """Also where they create the table, and get in each other's way."""
    for module in (penstock_sql.sink.connector, penstock_sql.sink.writer):  # each thread is a task
        monkeypatch.setattr(module, "writers_name", lambda context: f"penstock {threading.get_ident()}")
    properties = {
        **database.properties, "insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", "auto.create": "true",
    }  # fmt: skip
    partitions = [TopicPartition("t", n) for n in range(2)]
    failures: list[BaseException] = []

    def task(of: TopicPartition, rounds: int = 20) -> None:
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
    assert ids(database) == list(range(100))
    assert database.rows("SELECT part, next FROM penstock_offsets ORDER BY part") == [(0, 2000), (1, 2000)]


def _no_report(record: Record, error: Exception) -> None:
    raise DataError(f"refused {record}: {error}")


def test_a_table_has_as_many_columns_as_the_database_can_have(database: Any) -> None:
    properties = {**database.properties, "auto.create": "true"}
    with SinkLife(SqlSink, properties) as life:
        for count, fits in ((1600, True), (1601, False)):
            schema = struct({f"c{n}": INT32 for n in range(count)})
            value = dict.fromkeys((f"c{n}" for n in range(count)), 1)
            record = Record(topic=f"t{count}", value=value, value_schema=schema)
            batch = sink_batch(life.following([record]))
            if fits:
                life.write_batches([batch])
            else:
                with pytest.raises(ConnectError, match="at most 1600 columns"):
                    life.write_batches([batch])
    assert database.rows("SELECT count(*) FROM t1600") == [(1,)]


def test_a_large_row_is_written_as_any_other(database: Any) -> None:
    database.run("CREATE TABLE orders (id TEXT)")
    with SinkLife(SqlSink, database.properties) as life:
        write(life, records("x" * 50_000_000))
    assert database.rows("SELECT length(id) FROM orders") == [(50_000_000,)]


def test_all_records_of_a_batch_may_be_refused(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as life:
        refused, _ = write(life, records(*(f"bad {n}" for n in range(1000))))
    assert len(refused) == 1000


def test_an_earlier_start_frozen_within_copy_does_not_block_later_ones(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as earlier:
        write(earlier, records(0))
        frozen = orders.server.connect(orders.name)
        frozen.execute("SET application_name = 'penstock 0 suite'")
        frozen.execute("BEGIN; SELECT 1 FROM penstock_offsets FOR UPDATE")
        frozen.pgconn.exec_(b"COPY orders FROM STDIN")  # and nothing more
        with SinkLife(SqlSink, orders.properties) as later:
            write(later, records(1, begin=1))
        frozen.close()
    assert ids(orders) == [0, 1]


def test_handed_back_records_stay_pending_until_settled_regardless_of_later_writes(orders: Any) -> None:
    with SinkLife(SqlSink, orders.properties) as life:
        write(life, records(0, "one"))
        write(life, records(2, "three", begin=2))
        assert life.reopen() == {T0: 1}


def test_a_column_whose_type_was_changed_gets_values_of_the_new_type(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, price NUMERIC(10, 2), at TIMESTAMP)")
    modes = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", "db.timezone": "Asia/Tokyo"}
    with SinkLife(SqlSink, {**database.properties, **modes}) as life:
        writer = life.writer()
        for offset in range(2):
            value = {"id": offset, "price": "1.2345", "at": 1_700_000_000_000}
            writer.write([sink_batch(placed([Record(topic="orders", value=value)], T0, offset))], _no_report)
            database.run("ALTER TABLE orders ALTER price TYPE NUMERIC(10, 4), ALTER at TYPE timestamptz")
    found = database.rows("SELECT price::text, extract(epoch FROM at)::bigint FROM orders WHERE id = 1")
    assert found == [("1.2345", 1_700_000_000)]
