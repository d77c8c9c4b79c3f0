"""What becomes of records in MariaDB."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from penstock import ConnectError, Instant, Record, Schema
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock.testing import run_writer
from penstock_sql.sink import SqlSink
from penstock_sql.sink.debezium.connector import DebeziumSqlSink

UPSERT = {"insert_mode": "upsert", "pk_mode": "record_value", "pk_fields": "id"}
KEYED = {"insert_mode": "upsert", "pk_mode": "record_key", "pk_fields": "id", "delete_enabled": "true"}


def moment_of(*parts: int) -> datetime.datetime:
    """As the driver gives it, without a zone."""
    return datetime.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def row(value: Any, key: Any = None, topic: str = "orders") -> Record:
    return Record(topic=topic, key=key, value=value)


def write(database: Any, *batches: list[Record], **properties: str) -> list[str]:
    """Write batches; the errors of the records that were handed back."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return [str(error) for _, error in run_writer(SqlSink, {**database.properties, **given}, list(batches))]


def with_schema(value: Mapping[str, Any], **fields: Schema) -> Record:
    return Record(topic="orders", value=value, value_schema=struct(fields))


def test_maps_without_a_schema_take_the_types_of_the_table(maria: Any) -> None:
    maria.run(
        "CREATE TABLE orders (id INT, price NUMERIC(20, 4), at TIMESTAMP(3), day DATE, clock TIME(3), local DATETIME(3),"
        " raw BLOB, doc JSON, kind ENUM('a', 'b'), done BOOLEAN, flag BIT(1), note TEXT, size DOUBLE, at2 TIMESTAMP(6))"
    )
    value = {
        "id": "1", "price": "9.50", "at": 1_700_000_000_123, "day": 19_675, "clock": 3_600_001, "local": 1_700_000_000_123,
        "raw": "aGk=", "doc": {"a": [1, None]}, "kind": "b", "done": True, "flag": True, "note": {"free": "t'ext\\"},
        "size": 1.5, "at2": "2026-01-31T10:00:00.000001+02:00",
    }  # fmt: skip
    assert write(maria, [row(value)], db_timezone="Europe/Berlin") == []
    (found,) = maria.rows("SELECT * FROM orders")
    moment = moment_of(2023, 11, 14, 22, 13, 20, 123_000)
    assert found == (
        1, Decimal("9.5000"), moment, moment.date(), datetime.timedelta(hours=1, milliseconds=1), moment.replace(hour=23),
        b"hi", '{"a": [1, null]}', "b", 1, b"\1", '{"free": "t\'ext\\\\"}', 1.5,
        moment_of(2026, 1, 31, 8, 0, 0, 1),
    )  # fmt: skip


def test_a_missing_table_is_created_by_the_schema_and_widened_by_a_later_one(maria: Any) -> None:
    fields = {
        "id": STRING, "small": INT8, "price": decimal(2), "day": DATE, "clock": TIME, "at": TIMESTAMP, "raw": BYTES,
        "tags": array_of(STRING), "map": map_of(STRING, INT32), "done": BOOLEAN, "rate": FLOAT32,
    }  # fmt: skip
    value = {
        "id": "😀", "small": 2, "price": Decimal("1" * 63 + ".25"), "day": Instant(86_400_000), "clock": Instant(1),
        "at": Instant(4_102_444_800_001), "raw": b"\0\xff'", "tags": ["a"], "map": {"k": 1}, "done": False, "rate": 0.5,
    }  # fmt: skip
    first = with_schema(value, **fields)
    second = with_schema({**value, "id": "😀 ", "note": "x😀"}, **fields, note=STRING)
    assert write(maria, [first], [second], auto_create="true", auto_evolve="true", **UPSERT) == []
    types = maria.rows(
        "SELECT column_name, column_type, is_nullable FROM information_schema.columns WHERE table_schema = DATABASE() AND "
        "table_name = 'orders' ORDER BY ordinal_position"
    )
    assert types == [
        ("id", "varchar(255)", "NO"), ("small", "smallint(6)", "NO"), ("price", "decimal(65,2)", "NO"),
        ("day", "date", "NO"),
        ("clock", "time(6)", "NO"), ("at", "datetime(6)", "NO"), ("raw", "longblob", "NO"), ("tags", "longtext", "NO"),
        ("map", "longtext", "NO"), ("done", "tinyint(1)", "NO"), ("rate", "float", "NO"), ("note", "longtext", "YES"),
    ]  # fmt: skip
    assert maria.rows("SELECT id, price, at, raw, tags, map, note FROM orders ORDER BY note") == [
        (key, value["price"], moment_of(2100, 1, 1, 0, 0, 0, 1000), b"\0\xff'", '["a"]', '{"k": 1}', note)
        for key, note in (("😀", None), ("😀 ", "x😀"))
    ]


def test_a_decimal_keeps_all_its_digits_or_is_handed_back(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT, price DECIMAL(65, 30))")
    fitting = Decimal("1" * 35 + "." + "7" * 30)
    given = [fitting, Decimal("1E+30"), Decimal("1" * 36), Decimal("9" * 80), Decimal("NaN")]
    refused = write(maria, [row({"id": n, "price": each}) for n, each in enumerate(given)])
    assert maria.rows("SELECT id, price FROM orders ORDER BY id") == [(0, fitting), (1, Decimal(10**30))]
    assert len(refused) == 3
    assert "Out of range value for column 'price'" in refused[0]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("VARCHAR(3)", "four"),
        ("TINYINT", 128),
        ("INT UNSIGNED", -1),
        ("INT", "1abc"),
        ("INT", 1.5),
        ("INT", "1.5"),
        ("DATE", "0000-00-00"),
        ("DATE", "2026-02-30"),
        ("DATETIME", "gestern"),
        ("TIMESTAMP", "2300-01-01T00:00:00Z"),
        ("ENUM('a', 'b')", "neither"),
        ("DOUBLE", float("inf")),
        ("VARCHAR(9) CHARACTER SET latin1", "😀"),
        ("VARCHAR(9)", "half \ud83d"),
        ("JSON", "{no json"),
        ("INT NOT NULL", None),
        ("INT CHECK (c <> 7)", 7),
        ("BLOB", "no base64!"),
        ("TINYTEXT", "x" * 300),
        ("BIT(1)", 2),
        ("YEAR", 1800),
        ("TIME", "900:00:00"),
        ("SET('a','b')", "a,c"),
        ("BINARY(3)", b"four"),
        ("BIGINT", 2**63),
        ("FLOAT", 1e300),
    ],
)
def test_what_a_column_does_not_take_is_handed_back_and_never_cut(maria: Any, column: str, value: Any) -> None:
    maria.run(f"CREATE TABLE orders (id INT, c {column})")
    fitting = {"c": 1} if column.startswith("INT") else {}
    refused = write(maria, [row({"id": 0, "c": value}), row({"id": 1, **fitting})])
    assert len(refused) == 1
    assert maria.rows("SELECT id FROM orders") == [(1,)]
    if isinstance(value, str):
        assert value not in refused[0]


def test_an_upsert_leaves_the_last_state_of_each_key_and_a_tombstone_deletes(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, name TEXT, size INT)")
    batch = [
        row({"name": "a", "size": 1}, key=1),
        row({"name": "b"}, key=2),
        row(None, key=1),
        row({"name": "c", "size": 3}, key=3),
        row({"size": 9}, key=2),
        row(None, key=3),
        row({"name": "again"}, key=1),
        row({"name": "b2"}, key=2),
    ]
    assert write(maria, batch, **KEYED) == []
    assert maria.rows("SELECT id, name, size FROM orders ORDER BY id") == [(1, "again", None), (2, "b2", 9)]


def test_keys_that_the_collation_takes_for_the_same_are_one_row_with_the_last_state(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id VARCHAR(9) PRIMARY KEY, name TEXT, size INT) COLLATE utf8mb4_uca1400_ai_ci")
    batch = [
        row({"name": "1"}, key="e"),
        row({"size": 1}, key="É"),
        row({"name": "2"}, key="E"),
        row({"name": "3"}, key="é"),
    ]
    assert write(maria, batch, **KEYED) == []
    assert maria.rows("SELECT name, size FROM orders") == [("3", 1)]
    assert (
        write(maria, [row({"name": "4"}, key="e"), row({"name": "5"}, key="È")], **{**KEYED, "insert_mode": "update"})
        == []
    )
    assert maria.rows("SELECT name, size FROM orders") == [("5", 1)]
    batch = [row({"name": "a", "size": 2}, key="e"), row({"size": 3}, key="é"), row({"name": "b", "size": 4}, key="e")]
    assert write(maria, batch, **KEYED) == []
    assert maria.rows("SELECT name, size FROM orders") == [("b", 4)]
    assert write(maria, [row({"name": "6"}, key="ê"), row(None, key="è")], **KEYED) == []
    assert maria.rows("SELECT name, size FROM orders") == []


def test_a_tombstone_deletes_by_the_type_of_the_key_and_not_by_what_looks_like_it(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY)", "INSERT INTO orders VALUES (1), (2)")
    refused = write(maria, [row(None, key="1abc"), row(None, key="2")], **KEYED)
    assert len(refused) == 1
    assert maria.rows("SELECT id FROM orders") == [(1,)]
    maria.run("CREATE TABLE texts (id VARCHAR(9) PRIMARY KEY)", "INSERT INTO texts VALUES ('1'), ('01'), ('1x')")
    assert write(maria, [row(None, key=1, topic="texts")], **KEYED) == []
    assert maria.rows("SELECT id FROM texts ORDER BY id") == [("01",), ("1x",)]


def test_an_update_changes_rows_that_are_there_and_adds_none(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, name TEXT)", "INSERT INTO orders VALUES (1, 'a')")
    batch = [row({"id": 1, "name": "b"}), row({"id": 2, "name": "c"}), row({"id": 1, "name": "d"})]
    assert write(maria, batch, **{**UPSERT, "insert_mode": "update"}) == []
    assert maria.rows("SELECT id, name FROM orders") == [(1, "d")]


@pytest.mark.parametrize("key", ["INT PRIMARY KEY", "INT AUTO_INCREMENT PRIMARY KEY", "INT NOT NULL UNIQUE"])
def test_an_upsert_that_meets_another_unique_key_is_refused_and_changes_no_other_row(maria: Any, key: str) -> None:
    maria.run(
        f"CREATE TABLE orders (id {key}, code VARCHAR(9) UNIQUE, size INT)",
        "INSERT INTO orders VALUES (1, 'a', 1), (2, 'b', 2)",
    )
    batch = [
        row({"id": 3, "code": "a", "size": 3}),  # would change the row of 1
        row({"id": 2, "code": "a", "size": 3}),
        row({"id": 4, "code": "d", "size": 4}),
        row({"id": 1, "code": "z", "size": 5}),
        row({"id": 5, "code": None, "size": 6}),
    ]
    refused = write(maria, batch, **UPSERT)
    assert len(refused) == 2
    assert all("Duplicate entry for key 'code'" in error for error in refused)
    found = maria.rows("SELECT id, code, size FROM orders ORDER BY id")
    assert found == [(1, "z", 5), (2, "b", 2), (4, "d", 4), (5, None, 6)]


def test_an_upsert_without_a_column_names_the_unique_key_that_it_meets(maria: Any) -> None:
    maria.run(
        "CREATE TABLE orders (id INT NOT NULL UNIQUE, code VARCHAR(9) PRIMARY KEY, size INT NOT NULL)",
        "INSERT INTO orders VALUES (1, 'a', 1), (2, 'b', 2)",
    )
    refused = write(maria, [row({"id": 2, "code": "a"}), row({"id": 1, "code": "c"})], **UPSERT)
    assert len(refused) == 1
    assert "Duplicate entry for key 'PRIMARY'" in refused[0]
    assert maria.rows("SELECT * FROM orders ORDER BY id") == [(1, "c", 1), (2, "b", 2)]


@pytest.mark.parametrize("at", ["INSERT", "UPDATE"])
def test_a_trigger_whose_subquery_has_two_rows_is_not_taken_for_another_key(maria: Any, at: str) -> None:
    maria.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, code VARCHAR(9) UNIQUE, size INT)",
        "INSERT INTO orders VALUES (1, 'a', 1), (2, 'b', 2)",
        f"CREATE TRIGGER twice BEFORE {at} ON orders FOR EACH ROW "
        "SET NEW.size = IF(NEW.size = 9, (SELECT 1 UNION ALL SELECT 2), NEW.size)",
    )
    batch = [row({"id": 2, "code": "c", "size": 9}), row({"id": 1, "code": "a", "size": 3})]
    (refused,) = write(maria, batch, **UPSERT)
    assert refused == "cannot write the row to table orders: Subquery returns more than 1 row"
    assert maria.rows("SELECT * FROM orders ORDER BY id") == [(1, "a", 3), (2, "b", 2)]
    both = [row({"id": 3, "code": "a", "size": 4}), row({"id": 2, "code": "c", "size": 9})]
    assert [error.partition(": ")[2] for error in write(maria, both, **UPSERT)] == [
        "Duplicate entry for key 'code'",
        "Subquery returns more than 1 row",
    ]


def test_an_upsert_by_a_unique_key_of_a_table_with_an_auto_increment_key(maria: Any) -> None:
    maria.run("CREATE TABLE orders (nr INT AUTO_INCREMENT PRIMARY KEY, id VARCHAR(9) NOT NULL UNIQUE, size INT)")
    for size in range(2):
        assert write(maria, [row({"id": "a", "size": size}), row({"id": "b", "size": size})], **UPSERT) == []
    assert maria.rows("SELECT id, size FROM orders ORDER BY id") == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("key", ["INT", "INT UNIQUE", "INT NOT NULL, k INT, PRIMARY KEY (id, k)"])
def test_an_upsert_needs_a_unique_key_of_its_columns(maria: Any, key: str) -> None:
    maria.run(f"CREATE TABLE orders (id {key})")
    with pytest.raises(ConnectError, match="needs a primary or unique key of exactly the columns id"):
        write(maria, [row({"id": 1})], **UPSERT)


def test_zero_is_a_number_like_any_other_and_null_is_no_key(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, name TEXT)")
    refused = write(maria, [row({"id": 0, "name": "zero"}), row({"id": None, "name": "null"})], **UPSERT)
    assert len(refused) == 1
    assert maria.rows("SELECT id, name FROM orders") == [(0, "zero")]


def test_rows_that_are_refused_are_handed_back_and_the_others_of_the_batch_are_there(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY CHECK (id <> 7), name VARCHAR(9) NOT NULL)")
    batch = [row({"id": n, "name": f"n{n}"}) for n in range(10)]
    batch[3] = row({"id": 3, "name": None})
    batch[5] = row({"id": "five", "name": "x"})
    batch[8] = row({"id": 8, "name": "secret value"})
    refused = write(maria, batch)
    assert len(refused) == 4
    assert "secret" not in " ".join(refused)
    assert [n for (n,) in maria.rows("SELECT id FROM orders ORDER BY id")] == [0, 1, 2, 4, 6, 9]
    (refused_again,) = write(maria, [row({"id": 0, "name": "n"})])
    assert refused_again.endswith("Duplicate entry for key 'PRIMARY'")


def test_special_characters_in_names_are_quoted(maria: Any) -> None:
    name = "x` INT); DROP TABLE victims; -- '\"%s"
    maria.run("CREATE TABLE victims (id INT)")
    record = Record(topic="t", value={name: "'; DROP TABLE victims; -- \\"}, value_schema=struct({name: STRING}))
    properties = {"table_name_format": '"o`rders; DROP TABLE victims"', "auto_create": "true"}
    assert write(maria, [record], **properties) == []
    assert maria.rows("SELECT * FROM `o``rders; DROP TABLE victims`") == [("'; DROP TABLE victims; -- \\",)]
    assert maria.rows("SELECT count(*) FROM victims") == [(0,)]


@pytest.mark.parametrize("name", ["n" * 65, "ends with a blank ", "😀"])
def test_a_name_that_the_database_would_cut_or_change_is_refused(maria: Any, name: str) -> None:
    record = Record(topic="orders", value={name: 1}, value_schema=struct({name: INT32}))
    (refused,) = write(maria, [record], auto_create="true")
    assert "64 characters" in refused


def test_a_column_that_differs_in_capitals_only_is_reported(maria: Any) -> None:
    maria.run("CREATE TABLE orders (Name INT)")
    (refused,) = write(maria, [with_schema({"name": 1}, name=INT32)], auto_evolve="true")
    assert "cannot add column name to table" in refused
    assert "considers Name to be the same name" in refused


@pytest.mark.parametrize("engine", ["MyISAM", "Aria", "MEMORY"])
def test_a_table_that_cannot_roll_back_is_refused(maria: Any, engine: str) -> None:
    maria.run(f"CREATE TABLE orders (id INT) ENGINE={engine}")
    with pytest.raises(ConnectError, match=f"table orders: it has the engine {engine}, which cannot roll back"):
        write(maria, [row({"id": 1})])
    assert maria.rows("SELECT * FROM orders") == []


def test_a_table_of_offsets_that_cannot_roll_back_is_refused(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT)")
    assert write(maria, [row({"id": 1})]) == []
    maria.run("ALTER TABLE penstock_offsets ENGINE=Aria")
    with pytest.raises(ConnectError, match="table penstock_offsets: it has the engine Aria"):
        write(maria, [row({"id": 1})])


def test_a_view_is_refused(maria: Any) -> None:
    maria.run("CREATE TABLE o (id INT)", "CREATE VIEW orders AS SELECT * FROM o")
    with pytest.raises(ConnectError, match="orders: it is a view"):
        write(maria, [row({"id": 1})])


def test_a_row_beyond_the_largest_packet_is_handed_back_with_what_to_do(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT, raw LONGTEXT)")
    refused = write(maria, [row({"id": 1, "raw": "x" * 17_000_000}), row({"id": 2, "raw": "x" * 15_000_000})])
    assert len(refused) == 1
    assert "increase max_allowed_packet of the server" in refused[0]
    assert maria.rows("SELECT id, length(raw) FROM orders") == [(2, 15_000_000)]


def test_a_column_with_points_of_time_of_debezium_keeps_its_microseconds(maria: Any) -> None:
    micro = Schema(INT64.type, name="io.debezium.time.MicroTimestamp")
    clock = Schema(INT64.type, name="io.debezium.time.MicroTime")
    zoned = Schema(STRING.type, name="io.debezium.time.ZonedTimestamp")
    code = Schema(STRING.type, name="io.debezium.data.Uuid")
    uuid = "7c6e8a1e-1a2b-4c3d-9e8f-0123456789ab"
    value = {"m": 1_700_000_000_123_456, "c": 1_000_001, "z": "2026-01-31T10:00:00.123456+01:00", "u": uuid, "f": 0.1}
    record = with_schema(value, m=micro, c=clock, z=zoned, u=code, f=FLOAT64)
    assert write(maria, [record], auto_create="true") == []
    assert maria.rows("SELECT * FROM orders") == [
        (
            moment_of(2023, 11, 14, 22, 13, 20, 123_456),
            datetime.timedelta(seconds=1, microseconds=1),
            moment_of(2026, 1, 31, 9, 0, 0, 123_456),
            uuid,
            0.1,
        )
    ]


def test_change_events_of_debezium_are_rows(maria: Any) -> None:
    maria.run("CREATE TABLE shop_orders (id INT PRIMARY KEY, name TEXT)")
    events = [
        Record(topic="shop.orders", key={"id": n}, value={"before": None, "after": after, "source": {}, "op": op})
        for n, after, op in [
            (1, {"id": 1, "name": "a"}, "c"),
            (2, {"id": 2, "name": "b"}, "r"),
            (1, {"id": 1, "name": "c"}, "u"),
            (2, None, "d"),
        ]
    ]
    url = maria.properties["connection.url"].replace("jdbc:mariadb:", "jdbc:mysql:")
    properties = {
        "connection.url": url, "connection.username": "penstock", "connection.password": "secret",
        "insert.mode": "upsert", "primary.key.mode": "record_key", "delete.enabled": "true",
    }  # fmt: skip
    assert run_writer(DebeziumSqlSink, properties, [events]) == []
    assert maria.rows("SELECT id, name FROM shop_orders") == [(1, "c")]


def test_a_value_that_looks_like_the_end_of_a_message_is_not_repeated(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id INT PRIMARY KEY, v VARCHAR(99), g INT AS (v + 0) STORED)")
    given = {**maria.properties, "insert.mode": "insert"}
    records = [Record(topic="orders", value={"id": 1, "v": "x for column secret"})]
    (refused,) = run_writer(SqlSink, given, [records])
    assert "secret" not in str(refused[1])
