"""A record that the database refuses is handed back by itself, and the reason says what is wrong without its value."""

import re
from typing import Any

import pytest
from connectors.sql.tests.targets import KEYED, Target

from penstock import ConnectError, Record
from penstock.testing import run_writer
from penstock.testing._sink_life import SinkLife
from penstock_sql.sink import SqlSink

INSERT = {"insert_mode": "insert", "pk_mode": "none", "pk_fields": "", "delete_enabled": "false"}


def record(key: Any, topic: str = "t", /, **fields: Any) -> Record:
    return Record(topic=topic, key=key, value=fields)


def tombstone(key: Any, topic: str = "t") -> Record:
    return Record(topic=topic, key=key, value=None)


# Texts that PostgreSQL looks up, or reads as a language of their own: their errors have the SQLSTATEs of statements.


LOOKED_UP = [
    ("tsquery", "a & b", "secret & & word"), ("tsquery", "a", "secret &"), ("regclass", "pg_class", "secret"),
    ("regclass", "pg_class", "secret.word"), ("regclass", "pg_class", "a.b.secret.word"),
    ("regclass", "pg_class", "x.y.secret"),
    ("regtype", "int4", "secret("), ("regproc", "now", "abs"), ("regprocedure", "now()", "secret(int)"),
    ("regrole", "postgres", "secret"), ("jsonpath", "$.a", "$.secret["), ("xml", "<a/>", "<secret"),
    ("hstore", "a=>b", "secret=>"), ("pg_node_tree", None, "secret"), ("regclass[]", "{pg_class}", "{secret}"),
]  # fmt: skip
LIKE_THEM = [
    ("regtype", "int4", "secret"), ("regproc", "now", "secret"), ("regprocedure", "now()", "secret"),
    ("regoper", "||/", "secret"), ("regoper", "||/", "#secret#"), ("regoperator", "+(int4,int4)", "secret(int4)"),
    ("regnamespace", "public", "secret"), ("regconfig", "english", "secret"), ("regdictionary", "simple", "secret"),
    ("regcollation", '"C"', "secret"), ("aclitem", "postgres=r/postgres", "secret=r/secret"),
    ("int4range", "[1,2)", "[secret"), ("tsquery[]", "{a}", "{secret & &}"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Did not recognize type")
@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        *(pytest.param(*each, id=f"{each[0]}-{each[2]}") for each in LOOKED_UP),
        *(pytest.param(*each, id=f"{each[0]}-{each[2]}", marks=pytest.mark.slow) for each in LIKE_THEM),
    ],
)
def test_only_the_row_with_an_unknown_regclass_name_is_handed_back_without_its_value(
    database: Any, column: str, good: str | None, bad: str
) -> None:
    if column == "hstore":
        database.run("CREATE EXTENSION hstore")
    target = Target(database)
    for table, properties in (("upserts", {}), ("inserts", INSERT)):
        target.make(f"k INT PRIMARY KEY, v {column}", table)
        batch = [record(k, table, k=k, v=text) for k, text in ((1, good), (2, bad), (3, good), (4, bad))]
        errors = target.write(*batch[:3], **properties) + target.write(batch[3], **properties)
        assert len(errors) == 2
        for error in errors:
            assert error.startswith(f"cannot write the row to table {table}: column v: ")
            assert "secret" not in error
            assert "abs" not in error
        assert target.rows("k", table) == [(1,), (3,)]


def test_only_the_row_that_names_an_inaccessible_object_is_handed_back(database: Any) -> None:
    database.run("CREATE SCHEMA secret; CREATE TABLE secret.word (id INT)")
    database.run("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN PASSWORD 'secret'")
    database.run("CREATE TABLE t (k INT PRIMARY KEY, v regclass); GRANT ALL ON t TO stranger")
    database.run("GRANT CREATE ON SCHEMA public TO stranger")
    properties = {**database.properties, **KEYED, "connection.user": "stranger"}
    try:
        batch = [record(1, v="pg_class"), record(2, v="secret.word")]
        ((_, error),) = run_writer(SqlSink, properties, [batch])
        assert "column v: it names an object that the user of the connection has no right to access" in str(error)
        assert database.rows("SELECT k FROM t") == [(1,)]
        database.run("REVOKE INSERT ON t FROM stranger")
        with pytest.raises(ConnectError, match="permission denied for table t"):
            run_writer(SqlSink, properties, [[record(1, v="pg_class"), record(2, v="secret.word")]])
    finally:
        database.run("DROP OWNED BY stranger; DROP ROLE stranger")


def test_a_statement_that_the_database_refuses_stops_the_task(target: Target) -> None:
    target.make("k INT, v INT")
    with pytest.raises(ConnectError) as e:
        target.write(record(1, v=1), record(2, v=2))
    assert "cannot write the row" not in str(e.value)


def test_a_renamed_column_is_detected_in_a_batch_with_an_invalid_regclass_text(database: Any) -> None:
    database.run("CREATE TABLE t (k INT PRIMARY KEY, v regclass, w INT)")
    with SinkLife(SqlSink, {**database.properties, **KEYED}) as life:
        life.write(life.following([record(1, v="pg_class")]))
        database.run("ALTER TABLE t ALTER COLUMN v TYPE TEXT")
        life.write(life.following([record(2, v="secret")]))
        life.commit()
    assert database.rows("SELECT k, v FROM t ORDER BY k") == [(1, "pg_class"), (2, "secret")]


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("sqlite", "v TEXT CHECK (json_extract(v, '$.a') IS NOT NULL)"),
        ("sqlite", "v TEXT, g TEXT AS (json_extract(v, '$.a')) STORED"),
        ("sqlite", "v INT CHECK (abs(v) > 0)"),
        ("mariadb", "v VARCHAR(99) CHECK (JSON_VALID(v))"),
    ],
)  # fmt: skip
def test_only_the_row_with_a_value_that_fails_in_an_expression_is_handed_back(
    request: Any, tmp_path: Any, kind: str, column: str
) -> None:
    from connectors.sql.tests.targets import File

    target = Target(File(tmp_path / "t.db") if kind == "sqlite" else request.getfixturevalue("maria"), kind)
    target.make(f"k INT PRIMARY KEY, {column}")
    fine, bad = ("1", -(2**63)) if "abs" in column else ('{"a": 1}', "secret[")
    batch = [record(1, v=fine), record(2, v=bad), record(3, v=fine)]
    (error,) = target.write(*batch)
    assert error.startswith("cannot write the row to table t: ")
    assert "secret" not in error
    assert target.rows("k") == [(1,), (3,)]


# Constraints that are checked at the end.


def orders(database: Any, *, more: str = "") -> Target:
    database.run(
        "CREATE TABLE t (k INT PRIMARY KEY, parent INT REFERENCES t DEFERRABLE INITIALLY DEFERRED, "
        f"n INT CHECK (n < 100), u INT UNIQUE DEFERRABLE INITIALLY DEFERRED{more})"
    )
    return Target(database)


BATCHES: dict[str, tuple[list[Record], list[int], list[int]]] = {
    # name: records, keys of those that are handed back, keys that are there
    "a child before its parent": (
        [record(1, parent=2), record(2, parent=None), record(3, parent=99)], [3], [1, 2],
    ),
    "a circle": ([record(1, parent=2), record(3, parent=99), record(2, parent=1), record(4, parent=98)], [3, 4], [1, 2]),
    "a circle and a value of a wrong type": ([record(1, parent=2), record(3, n="x"), record(2, parent=1)], [3], [1, 2]),
    "what refers to a bad one": (
        [record(1, parent=2), record(2, parent=3), record(3, parent=None, n=500), record(4, parent=5), record(5, parent=4)],
        [3, 2, 1], [4, 5],
    ),
    "a parent that goes": (
        [record(1, parent=None), record(2, parent=1), tombstone(1), record(3, parent=99), record(4, parent=5),
         record(5, n=1)],
        [1, 3], [1, 2, 4, 5],
    ),
    "a parent that went before": (
        [record(1, n=1), tombstone(1), record(2, parent=1), record(4, parent=5), record(5, n=1)], [2], [4, 5],
    ),
    "values that change places": (
        [record(1, u=1), record(2, u=2), record(1, u=2), record(2, u=1), record(3, u=3), record(4, u=3),
         record(5, parent=9)],
        [4, 5], [1, 2, 3],
    ),
    "a parent and its children that go": (
        [record(1, n=1), record(2, parent=1), tombstone(1), tombstone(2), record(3, parent=99)], [3], [],
    ),
    "a bad state that a later record mends": (
        [record(1, parent=99), record(1, parent=None), record(2, parent=98)], [2], [1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHES)
def test_only_rows_that_violate_a_deferred_constraint_are_handed_back(database: Any, name: str) -> None:
    target = orders(database)
    batch, bad, there = BATCHES[name]
    found = run_writer(SqlSink, {**database.properties, **KEYED}, [batch])
    assert sorted(each.key for each, _ in found) == sorted(bad)
    assert [k for (k,) in target.rows("k")] == there


def test_rows_without_a_key_are_distinguished_by_deferred_constraints(database: Any) -> None:
    target = orders(database)
    batch = [record(None, k=1, parent=2), record(None, k=2, parent=99), record(None, k=4, parent=3), record(None, k=3, u=1),
             record(None, k=5, u=1)]  # fmt: skip
    errors = target.write(*batch, **INSERT)
    assert [re.search("t_\\w+", error)[0] for error in errors] == ["t_parent_fkey", "t_parent_fkey", "t_u_key"]  # type: ignore[index]
    assert target.rows("k") == [(3,), (4,)]


def test_a_value_that_a_stored_row_has_is_reported_when_it_is_checked_at_the_end(database: Any) -> None:
    target = orders(database)
    database.run("INSERT INTO t VALUES (9, NULL, 1, 7), (8, NULL, 1, 8)")
    batch = [record(1, u=7), record(2, u=7), record(9, u=8), record(8, u=9), record(3, parent=4), record(4, u=10)]
    assert len(target.write(*batch)) == 1
    assert target.rows("k, u") == [(1, 7), (3, None), (4, 10), (8, 9), (9, 8)]


def test_tables_of_several_topics_are_checked_together_at_the_end(database: Any) -> None:
    database.run("CREATE TABLE p (k INT PRIMARY KEY, n INT)")
    database.run("CREATE TABLE c (k INT PRIMARY KEY, p INT REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
    batch = [record(1, "c", p=1), record(2, "c", p=2), record(1, "p", n=1), record(2, "p", n="x"), record(3, "p", n=3)]
    found = run_writer(SqlSink, {**database.properties, **KEYED}, [batch])
    assert [(each.topic, each.key) for each, _ in found] == [("c", 2), ("p", 2)]
    assert database.rows("SELECT k FROM c") == [(1,)]
    assert database.rows("SELECT k FROM p ORDER BY k") == [(1,), (3,)]


def test_rows_of_partitions_are_checked_at_the_end(database: Any) -> None:
    database.run("CREATE TABLE p (k INT PRIMARY KEY)")
    database.run(
        "CREATE TABLE t (k INT PRIMARY KEY, p INT REFERENCES p DEFERRABLE INITIALLY DEFERRED) PARTITION BY HASH (k)"
    )
    database.run("CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    batch = [record(1, p=1), record(2, p=2), record(1, "p", k=1)]
    found = run_writer(SqlSink, {**database.properties, **KEYED}, [batch])
    assert [(each.topic, each.key) for each, _ in found] == [("t", 2)]
    assert database.rows("SELECT k FROM t") == [(1,)]


def test_a_trigger_that_looks_at_the_end_refuses_only_its_row(database: Any) -> None:
    target = orders(database)
    database.run(
        "CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF NEW.n = 7 THEN RAISE EXCEPTION 'too late for %', NEW.n; END IF; RETURN NULL; END $$"
    )
    database.run(
        "CREATE CONSTRAINT TRIGGER look AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION look()"
    )
    (error,) = target.write(record(1, n=1), record(2, n=7), record(3, n=3))
    assert error == "cannot write the row to table t: function look() of the database refuses it: too late for ..."
    assert target.rows("k") == [(1,), (3,)]


def test_each_record_is_reported_once_where_the_end_of_the_transaction_refuses_one(database: Any) -> None:
    orders(database)
    batch = [Record(topic="t", key=1, value="no row"), record(2, parent=99), record(3, parent=4), record(4, n=1)]
    found = run_writer(SqlSink, {**database.properties, **KEYED}, [batch])
    assert [each.key for each, _ in found] == [1, 2]


# What the reason says.


def test_postgresql_names_the_column_of_a_value_that_it_refuses(database: Any) -> None:
    database.run("CREATE DOMAIN few AS INT CHECK (VALUE < 10)")
    target = Target(database)
    target.make(
        'k INT PRIMARY KEY, n INT, d DATE, p NUMERIC(3, 1), j JSONB, a INT[], s VARCHAR(3), "x: ""y" INT, f few, t TEXT'
    )
    wrong = {
        "n": "secret", "d": "2026-02-30", "p": "12345", "j": "{secret", "a": "{secret}", "s": "secret", 'x: "y': "secret",
        "f": 77, "t": "secret\0",
    }  # fmt: skip
    errors = target.write(
        *(record(n, **{name: value}) for n, (name, value) in enumerate(wrong.items())), record(99, n=1)
    )
    assert [error.split(": column ")[1].startswith(f"{name}: ") for error, name in zip(errors, wrong, strict=True)] == (
        [True] * len(wrong)
    )
    assert not [error for error in errors for value in wrong.values() if str(value) in error or "secret" in error]
    errors = target.write(*(record(None, **{name: value}) for name, value in wrong.items()), **INSERT)
    assert [f": column {name}: " in error for error, name in zip(errors, wrong, strict=True)] == [True] * len(wrong)


def test_a_text_that_is_no_unicode_is_reported_with_its_column(target: Target) -> None:
    target.make("k INT PRIMARY KEY, v INT, w VARCHAR(99)")
    (error,) = target.write(record(1, v=1, w="secret \ud800"), record(2, v=2, w="a"))
    assert error.startswith("cannot write the row to table t: column w: a string is not valid Unicode")


def test_postgresql_names_the_constraint_and_the_column_that_may_not_be_null(database: Any) -> None:
    target = Target(database)
    target.make("k INT PRIMARY KEY, v INT NOT NULL, w INT CONSTRAINT small CHECK (w < 10), x INT CONSTRAINT one UNIQUE")
    errors = target.write(record(1, v=None), record(2, v=1, w=77), record(3, v=1, x=77), record(4, v=1, x=77))
    assert 'null value in column "v"' in errors[0]
    assert '"small"' in errors[1]
    assert '"one"' in errors[2]
    assert "77" not in "".join(errors)


RAISES = {
    "'orders are closed'": "refuse() of the database refuses it: orders are closed",
    "'it''s 100%% %', NEW.w": "refuse() of the database refuses it: it's 100% ...",
    "'% is % of %', NEW.w, NEW.k, upper(NEW.w)": "refuse() of the database refuses it: ... is ... of ...",
    "USING MESSAGE = 'no more', ERRCODE = '23514'": "refuse() of the database refuses it: no more",
    "USING MESSAGE = 'no ' || NEW.w, HINT = NEW.w, ERRCODE = '22000'": "refuse() of the database refuses it",
    "USING MESSAGE = NEW.w, ERRCODE = '42P01'": "refuse() of the database refuses it",
    "USING MESSAGE = NEW.w, ERRCODE = '23505', COLUMN = NEW.w, CONSTRAINT = NEW.w": "refuse() of the database refuses it",
}


@pytest.mark.parametrize("raised", RAISES)
def test_the_function_that_refuses_a_row_is_named_with_its_text_but_no_value(database: Any, raised: str) -> None:
    target = Target(database)
    target.make("k INT PRIMARY KEY, w TEXT")
    how = "RAISE EXCEPTION" if raised.startswith("'") else "RAISE"
    database.run(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN IF NEW.k = 2 THEN {how} {raised}; END IF; RETURN NEW; END $$"
    )
    database.run("CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse()")
    (error,) = target.write(record(1, w="secret"), record(2, w="secret"), record(3, w="secret"))
    assert error == f"cannot write the row to table t: function {RAISES[raised]}"
    assert target.rows("k") == [(1,), (3,)]


def test_rows_that_a_deferred_trigger_requires_together_are_accepted_together(database: Any) -> None:
    """An order has lines, and each line an order. Of those that have not, only they are handed back."""
    database.run("CREATE TABLE o (k INT PRIMARY KEY, n INT)")
    database.run("CREATE TABLE l (k INT PRIMARY KEY, o INT REFERENCES o DEFERRABLE INITIALLY DEFERRED)")
    database.run(
        "CREATE FUNCTION has_lines() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NOT EXISTS (SELECT FROM l WHERE o = NEW.k) THEN "
        "RAISE EXCEPTION 'order % has no line', NEW.k; END IF; RETURN NULL; END $$"
    )
    database.run(
        "CREATE CONSTRAINT TRIGGER has_lines AFTER INSERT ON o DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "EXECUTE FUNCTION has_lines()"
    )
    batch = []
    for n in range(40):
        batch.append(record(n, "o", n="x" if n == 30 else n))
        if n % 10 != 3:
            batch += [record(10 * n + line, "l", o=n) for line in range(n % 4 + 1)]
    found = run_writer(SqlSink, {**database.properties, **KEYED}, [batch])
    assert [(each.topic, each.key) for each, _ in found] == [
        ("o", 3), ("o", 13), ("o", 23), ("o", 30), ("l", 300), ("l", 301), ("l", 302), ("o", 33),
    ]  # fmt: skip
    assert str(found[0][1]).endswith("function has_lines() of the database refuses it: order ... has no line")
    assert database.rows("SELECT count(*) FROM o") == [(35,)]
    assert database.rows("SELECT count(*) FROM l") == [(sum(n % 4 + 1 for n in range(40) if n % 10 != 3 and n != 30),)]


def test_ranges_that_overlap_at_the_end_are_handed_back_with_those_that_change_places(database: Any) -> None:
    target = Target(database)
    target.make("k INT PRIMARY KEY, r INT4RANGE, EXCLUDE USING gist (r WITH &&) DEFERRABLE INITIALLY DEFERRED")
    database.run("INSERT INTO t VALUES (1, '[1,5)'), (2, '[5,9)')")
    batch = [record(1, r="[5,9)"), record(2, r="[1,5)"), record(3, r="[4,6)"), record(4, r="[10,12)")]
    (error,) = target.write(*batch)
    assert '"t_r_excl"' in error
    assert target.rows("k, r::text") == [(1, "[5,9)"), (2, "[1,5)"), (4, "[10,12)")]


@pytest.mark.parametrize("number", ["", ", MYSQL_ERRNO = 1048", ", MYSQL_ERRNO = 1146", ", MYSQL_ERRNO = 9999"])
def test_a_value_that_a_trigger_of_mariadb_reports_is_not_passed_on(maria: Any, number: str) -> None:
    target = Target(maria, "mariadb")
    target.make("k INT PRIMARY KEY, w VARCHAR(99)")
    maria.run(
        "CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW BEGIN IF NEW.k = 2 THEN BEGIN DECLARE said VARCHAR(99) DEFAULT "
        f"CONCAT('no ', NEW.w); SIGNAL SQLSTATE '45001' SET MESSAGE_TEXT = said{number}; END; END IF; END"
    )
    (error,) = target.write(record(1, w="secret word"), record(2, w="secret word"), record(3, w="secret word"))
    assert error.startswith("cannot write the row to table t: ")
    assert "secret" not in error
    assert target.rows("k") == [(1,), (3,)]


def test_a_function_of_a_trigger_that_fails_is_named(database: Any) -> None:
    target = Target(database)
    target.make("k INT PRIMARY KEY, v TEXT")
    database.run(
        "CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ DECLARE found regclass; BEGIN found := NEW.v::regclass; RETURN NEW; END $$"
    )
    database.run("CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION look()")
    (error,) = target.write(record(1, v="t"), record(2, v="secret"), record(3, v="t"))
    assert error == "cannot write the row to table t: relation ... does not exist (in function look() of the database)"
    assert target.rows("k") == [(1,), (3,)]


def test_a_table_that_a_trigger_of_mariadb_lacks_stops_the_task(maria: Any) -> None:
    target = Target(maria, "mariadb")
    target.make("k INT PRIMARY KEY, v INT")
    target.make("v INT", "audit")
    maria.run("CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW INSERT INTO audit VALUES (NEW.v)", "DROP TABLE audit")
    with pytest.raises(ConnectError, match=r"audit' doesn't exist"):
        target.write(record(1, v=1), record(2, v=2))
