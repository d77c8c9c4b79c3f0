"""Records that lack columns of their table: stored values stay, the database makes what it makes itself."""

from typing import Any

import pytest
from connectors.sql.tests.targets import KEYED, File, Target

from penstock import Record
from penstock.schema import INT32, STRING, struct
from penstock.testing import run_writer
from penstock.testing._sink_life import SinkLife
from penstock_sql.sink import SqlSink


def record(key: Any, **fields: Any) -> Record:
    return Record(topic="t", key=key, value=fields)


def tombstone(key: Any) -> Record:
    return Record(topic="t", key=key, value=None)


def test_fields_that_a_record_lacks_keep_their_value_where_the_column_may_not_be_null(target: Target) -> None:
    target.make("k INT PRIMARY KEY, v INT NOT NULL, w VARCHAR(9) NOT NULL, x INT")
    target.database.run("INSERT INTO t VALUES (1, 1, 'a', 1), (2, 2, 'b', 2), (3, 3, 'c', 3)")
    assert target.write(record(1, v=10), record(2, w="bb"), record(3, x=None)) == []
    assert target.rows("k, v, w, x") == [(1, 10, "a", 1), (2, 2, "bb", 2), (3, 3, "c", None)]


def test_only_a_new_row_without_a_column_that_may_not_be_null_is_handed_back(target: Target) -> None:
    target.make("k INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL")
    target.database.run("INSERT INTO t VALUES (1, 1, 1)")
    (error,) = target.write(record(1, v=2), record(2, v=2), record(3, v=3, w=3))
    assert error.startswith("cannot write the row to table t: ")
    assert "w" in error.removeprefix("cannot write the row to table t: ")
    assert target.rows("k, v, w") == [(1, 2, 1), (3, 3, 3)]


def test_records_of_one_batch_make_a_row_and_change_it_field_by_field(target: Target) -> None:
    target.make("k INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL, x INT NOT NULL DEFAULT 7")
    batch = [
        record(1, v=1, w=1), record(1, v=2), record(2, v=1, w=1, x=1), record(1, w=3), record(2, x=5), tombstone(1),
        record(2, v=4), record(3, v=1, w=2), record(3, w=9), record(1, v=8, w=8), record(1, w=9),
    ]  # fmt: skip
    assert target.write(*batch) == []
    assert target.rows("k, v, w, x") == [(1, 8, 9, 7), (2, 4, 1, 5), (3, 1, 9, 7)]
    assert len(target.write(tombstone(1), record(1, v=1), record(2, v=5), record(9, v="x"))) == 2
    assert target.rows("k, v, w, x") == [(2, 5, 1, 5), (3, 1, 9, 7)]


def test_fields_that_a_record_lacks_keep_their_value_with_keys_of_several_columns_and_with_schemas(
    target: Target,
) -> None:
    target.make("a INT, b VARCHAR(9), v INT NOT NULL, w INT NOT NULL, PRIMARY KEY (b, a)")
    target.database.run("INSERT INTO t VALUES (1, 'x', 1, 1), (2, 'x', 2, 2), (1, 'y', 3, 3)")
    schema = struct({"a": INT32, "b": STRING, "v": INT32})
    batch = [
        Record(topic="t", value={"a": a, "b": b, "v": 9}, value_schema=schema)
        for a, b in ((1, "x"), (1, "y"), (3, "x"))
    ]
    keyed = {"pk_mode": "record_value", "pk_fields": "a,b", "delete_enabled": "false"}
    assert len(target.write(*batch, **keyed)) == 1
    assert target.rows("b, a, v, w") == [("x", 1, 9, 1), ("x", 2, 2, 2), ("y", 1, 9, 3)]


def test_a_record_of_only_a_key_leaves_the_row_as_it_is(target: Target) -> None:
    target.make("k INT PRIMARY KEY, v INT NOT NULL")
    target.database.run("INSERT INTO t VALUES (1, 1)")
    keyed = {"pk_mode": "record_value", "delete_enabled": "false"}
    batch = [Record(topic="t", value={"k": 1}), Record(topic="t", value={"k": 2})]
    assert len(target.write(*batch, **keyed)) == 1
    assert target.rows("k, v") == [(1, 1)]


def test_a_constraint_over_several_columns_sees_the_stored_values(target: Target) -> None:
    target.make("k INT PRIMARY KEY, v INT, w INT, CHECK (v IS NOT NULL AND v < w)")
    target.database.run("INSERT INTO t VALUES (1, 1, 5), (2, 2, 6)")
    assert len(target.write(record(1, v=2), record(1, v=3), record(2, v=9), record(3, w=2))) == 2
    assert target.rows("k, v, w") == [(1, 3, 5), (2, 2, 6)]


def test_what_a_new_row_has_by_default_stays_as_it_is_when_a_row_is_handed_back(target: Target) -> None:
    target.make("k INT PRIMARY KEY, v INT NOT NULL, w INT DEFAULT 7, x INT NOT NULL DEFAULT 8, y INT")
    target.database.run("INSERT INTO t VALUES (1, 1, 1, 1, 1)")
    assert len(target.write(record(1, v=2), record(2, v=2), record(3, v=None))) == 1
    assert target.rows("k, v, w, x, y") == [(1, 2, 1, 1, 1), (2, 2, 7, 8, None)]


def test_a_domain_that_may_not_be_null_keeps_its_value(database: Any) -> None:
    database.run("CREATE DOMAIN needed AS INT NOT NULL; CREATE DOMAIN given AS INT NOT NULL DEFAULT 4")
    target = Target(database)
    target.make("k INT PRIMARY KEY, v INT, w needed, x given")
    database.run("INSERT INTO t VALUES (1, 1, 1, 1)")
    assert target.write(record(1, v=2), record(2, v=2, w=2)) == []
    assert target.rows("k, v, w, x") == [(1, 2, 1, 1), (2, 2, 2, 4)]


def test_an_enumeration_without_a_default_is_what_it_was_in_mariadb(maria: Any) -> None:
    target = Target(maria, "mariadb")
    target.make(
        "k INT PRIMARY KEY, v INT NOT NULL, w ENUM('a', 'b') NOT NULL, x INT NOT NULL, n INT AUTO_INCREMENT UNIQUE"
    )
    maria.run("INSERT INTO t VALUES (1, 1, 'b', 1, 1)")
    assert target.write(record(1, v=2), record(2, v=2, x=2)) == []
    assert target.rows("k, v, w, x") == [(1, 2, "b", 1), (2, 2, "a", 2)]
    assert target.rows("n")[0] == (1,)


def test_a_number_of_the_database_s_own_next_to_a_unique_key_stays(tmp_path: Any) -> None:
    target = Target(File(tmp_path / "t.db"), "sqlite")
    target.make("id INTEGER PRIMARY KEY NOT NULL, k INT NOT NULL UNIQUE, v INT NOT NULL, w INT NOT NULL")
    target.database.run("INSERT INTO t VALUES (5, 1, 1, 1)")
    assert target.write(record(1, v=2), record(2, v=2, w=2)) == []
    assert target.rows("id, k, v, w") == [(5, 1, 2, 1), (6, 2, 2, 2)]


GENERATED = {
    "postgresql": "n INT GENERATED ALWAYS AS IDENTITY, m INT GENERATED BY DEFAULT AS IDENTITY, s SERIAL, "
    "g INT GENERATED ALWAYS AS (v * 2) STORED",
    "mariadb": "n INT NOT NULL AUTO_INCREMENT UNIQUE, g INT AS (v * 2) STORED, h INT AS (v + 1) VIRTUAL",
    "sqlite": "g INT AS (v * 2) STORED, h INT AS (v + 1)",
}


@pytest.mark.parametrize(
    "properties", [{}, {"insert_mode": "insert", "delete_enabled": "false"}], ids=["upsert", "insert"]
)
def test_a_new_row_has_what_the_database_generates(target: Target, properties: dict[str, str]) -> None:
    target.make(f"k INT PRIMARY KEY, v INT, w INT NOT NULL, {GENERATED[target.kind]}")
    assert target.write(record(1, v=1, w=1), record(2, v=2, w=2), **properties) == []
    assert len(target.write(record(4, v=4, w=None), record(3, v=3, w=3), **properties)) == 1
    assert target.rows("k, g") == [(1, 2), (2, 4), (3, 6)]
    if not properties:
        assert target.write(record(1, v=5), record(2, w=5)) == []
        assert target.rows("k, w, g") == [(1, 1, 10), (2, 5, 4), (3, 3, 6)]
    if target.kind != "sqlite":
        assert [n for (n,) in target.rows("n")][:2] == [1, 2]


MODES: list[dict[str, str]] = [
    {}, {"insert_mode": "insert", "delete_enabled": "false"}, {"insert_mode": "update"},
]  # fmt: skip


@pytest.mark.parametrize("properties", MODES, ids=["upsert", "insert", "update"])
def test_a_field_for_a_generated_column_is_an_error_of_its_record(target: Target, properties: dict[str, str]) -> None:
    target.make(f"k INT PRIMARY KEY, v INT, {GENERATED[target.kind]}")
    computed = ["g"] if target.kind == "postgresql" else ["g", "h"]
    for column in computed:
        errors = target.write(record(1, v=1), record(2, v=2, **{column: 77}), record(3, v=3), **properties)
        (error,) = errors
        assert error == (
            f"cannot write column {column} of table t: the database computes it (GENERATED ALWAYS AS); omit the field with "
            "fields.whitelist or ReplaceField"
        )
        if properties.get("insert_mode") != "update":
            assert target.rows("k, v") == [(1, 1), (3, 3)]
        target.database.run("DELETE FROM t")


def test_an_identity_that_is_no_key_takes_the_number_of_a_new_row_and_keeps_it(database: Any) -> None:
    target = Target(database)
    target.make("k INT PRIMARY KEY, n INT GENERATED ALWAYS AS IDENTITY, v INT NOT NULL")
    assert target.write(record(1, n=7, v=1), record(2, v=2), record(3, n=9, v=3)) == []
    assert target.rows("k, n, v") == [(1, 7, 1), (2, 1, 2), (3, 9, 3)]
    assert target.write(record(1, n=7, v=4), record(2, v=5), record(3, n=9)) == []
    (error,) = target.write(record(1, n=7, v=5), record(2, n=88, v=6), record(4, n=4, v=6))
    assert error.startswith(
        "cannot write the row to table t: column n is GENERATED ALWAYS AS IDENTITY, and its value cannot be"
    )
    assert "ReplaceField" in error
    assert "88" not in error
    assert target.rows("k, n, v") == [(1, 7, 5), (2, 1, 5), (3, 9, 3), (4, 4, 6)]
    assert len(target.write(record(1, n=7, v=8), record(2, n=88, v=9), insert_mode="update")) == 1
    assert target.rows("k, n, v")[:2] == [(1, 7, 8), (2, 1, 5)]


def test_a_column_that_may_no_longer_be_null_is_noticed_while_the_task_runs(target: Target) -> None:
    if target.kind == "sqlite":
        pytest.skip("SQLite cannot change a column")
    target.make("k INT PRIMARY KEY, v INT, w INT")
    with SinkLife(SqlSink, {**target.database.properties, **KEYED}) as life:
        life.write(life.following([record(1, v=1, w=1)]))
        change = "ALTER COLUMN w SET NOT NULL" if target.kind == "postgresql" else "MODIFY w INT NOT NULL"
        target.database.run(f"ALTER TABLE t {change}")
        life.write(life.following([record(1, v=2)]))
        life.commit()
    assert target.rows("k, v, w") == [(1, 2, 1)]


def test_a_constraint_over_a_column_with_a_default_sees_the_stored_value(target: Target) -> None:
    target.make("k INT PRIMARY KEY, v INT NOT NULL, s INT NOT NULL DEFAULT 0, CHECK (s > 0 OR v < 10)")
    target.database.run("INSERT INTO t VALUES (1, 50, 1), (2, 5, 0), (3, 5, 1)")
    batch = [record(1, v=60), record(2, v=60), record(3, v=60), record(4, v=60), record(5, v=6), record(3, v=None)]
    assert len(target.write(*batch)) == 3
    assert target.rows("k, v, s") == [(1, 60, 1), (2, 5, 0), (3, 60, 1), (5, 6, 0)]


DEFAULTS = {
    "INT DEFAULT nextval(s)": "1",
    "INT INVISIBLE DEFAULT 7": "7",
    "VARCHAR(9) DEFAULT (CONCAT('a', 'b'))": "ab",
    "BIT(4) DEFAULT b'101'": "101",
    "INT NOT NULL INVISIBLE DEFAULT 3": "3",
    "VARCHAR(9) NOT NULL DEFAULT (CONCAT('a', 'b'))": "ab",
    "TEXT NOT NULL DEFAULT 'a''b'": "a'b",
}


@pytest.mark.parametrize(("column", "value"), DEFAULTS.items())
def test_a_new_row_of_mariadb_has_the_default_whatever_else_is_in_the_batch(
    maria: Any, column: str, value: str
) -> None:
    maria.run("CREATE SEQUENCE s", f"CREATE TABLE t (k INT PRIMARY KEY, v INT CHECK (v < 100), c {column})")
    target = Target(maria, "mariadb")
    batch = [Record(topic="t", key=k, value={"v": v}) for k, v in ((1, 1), (2, 300), (3, 3))]
    assert len(target.write(*batch)) == 1
    shown = "BIN(c)" if "BIT" in column else "c"
    found = maria.rows(f"SELECT k, {shown} FROM t ORDER BY k")
    assert [k for k, _ in found] == [1, 3]
    assert None not in [c for _, c in found]
    if "nextval" not in column:
        assert [str(c) for _, c in found] == [value, value]


def test_a_trigger_of_mariadb_may_fill_a_column_that_a_new_row_lacks(maria: Any) -> None:
    maria.run("CREATE TABLE t (k INT PRIMARY KEY, v INT, w INT NOT NULL)")
    maria.run("CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW SET NEW.w = COALESCE(NEW.w, 42)")
    target = Target(maria, "mariadb")
    assert target.write(*(Record(topic="t", key=k, value={"v": v}) for k, v in ((7, 1), (7, 2), (8, 3)))) == []
    assert maria.rows("SELECT k, v, w FROM t ORDER BY k") == [(7, 2, 42), (8, 3, 42)]


def test_a_new_row_of_mariadb_without_a_timestamp_that_must_be_there_is_handed_back(maria: Any) -> None:
    maria.run("CREATE TABLE t (k INT PRIMARY KEY, v INT, c TIMESTAMP NOT NULL)")
    maria.run("INSERT INTO t VALUES (1, 0, '2026-01-01')")
    target = Target(maria, "mariadb")
    refused = target.write(*(Record(topic="t", key=k, value={"v": 5}) for k in (1, 2)))
    assert len(refused) == 1
    assert maria.rows("SELECT k, v, CAST(c AS CHAR) FROM t") == [(1, 5, "2026-01-01 00:00:00")]


def test_a_user_with_rights_on_some_columns_writes_good_records_around_a_bad_one(database: Any) -> None:
    database.run("DROP ROLE IF EXISTS narrow")
    database.run("CREATE ROLE narrow LOGIN PASSWORD 'secret'")
    database.run("CREATE TABLE t (k INT PRIMARY KEY, v INT, own INT)")
    database.run("GRANT SELECT, INSERT (k, v), UPDATE (v), DELETE ON t TO narrow")
    database.run("GRANT CREATE ON SCHEMA public TO narrow")
    try:
        given = {**database.properties, **KEYED, "connection.user": "narrow"}
        batch = [Record(topic="t", key=k, value={"v": v}) for k, v in ((3, 1), (4, "x"), (5, 2))]
        assert len(run_writer(SqlSink, given, [batch])) == 1
        assert database.rows("SELECT k, v FROM t ORDER BY k") == [(3, 1), (5, 2)]
    finally:
        database.run("DROP OWNED BY narrow")
        database.run("DROP ROLE narrow")


def test_a_message_of_mariadb_names_no_table_of_the_sinks_own(maria: Any) -> None:
    maria.run(
        "CREATE TABLE t (k INT PRIMARY KEY, v INT CHECK (v < 100), w INT NOT NULL)", "INSERT INTO t VALUES (1, 1, 1)"
    )
    (refused,) = Target(maria, "mariadb").write(Record(topic="t", key=1, value={"v": 300}))
    assert "CONSTRAINT `v` failed" in refused
    assert "penstock_" not in refused
