"""Keys that are written differently and are the same to the database: the last record of a key wins, in its order."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from connectors.sql.tests.targets import KEYED, Target

from penstock import Record
from penstock.schema import FLOAT64
from penstock.testing import run_writer
from penstock_sql.sink import SqlSink

pytestmark = pytest.mark.filterwarnings("ignore:Did not recognize type 'inet6'")


POSTGRESQL = [
    ("CITEXT", "Bob", "bob"),
    ("TEXT COLLATE folded", "Bob", "bób"),
    ("VARCHAR(3)", "abc", "abc  "),
    ("CHAR(5)", "ab", "ab   "),
    ("TIMESTAMPTZ", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"),
    ("TIMESTAMP(0)", "2026-01-01T00:00:00.4", "2026-01-01T00:00:00.1"),
    ("TIMESTAMPTZ(0)", 1_700_000_000_100, 1_700_000_000_200),
    ("DATE", "2026-01-01", "Jan 1, 2026"),
    ("TIME(0)", "10:00:00.1", "10:00"),
    ("INTERVAL", "24 hours", "1 day"),
    ("INT", "7", "007"),
    ("BIGINT", 7, " 7 "),
    ("NUMERIC", "1.0", "1.00"),
    ("NUMERIC(5,1)", "1.04", "0.96"),
    ("FLOAT4", "0.1", "0.10000000001"),
    ("FLOAT8", "0", "-0"),
    ("FLOAT8", 0.0, -0.0),
    ("UUID", "0000000a-0000-0000-0000-00000000000b", "{0000000A-0000-0000-0000-00000000000B}"),
    ("INET", "10.0.0.1", "10.0.0.1/32"),
    ("INET", "::1", "0:0:0:0:0:0:0:1"),
    ("CIDR", "10.0.0.0/8", "10/8"),
    ("MACADDR", "08:00:2b:01:02:03", "08002B-010203"),
    ("JSONB", '{"a": 1, "b": 2}', '{"b":2,"a":1.0}'),
    ("BYTEA", "aGk=", b"hi"),
    ("BOOLEAN", "true", "yes"),
    ("INT[]", "{1,2}", "{ 1, 2 }"),
    ("INT4RANGE", "[1,2]", "[1,3)"),
]

MARIADB = [
    ("VARCHAR(9)", "Bob", "bob"),
    ("VARCHAR(9) COLLATE utf8mb4_uca1400_ai_ci", "Bob", "bób"),
    ("VARCHAR(9) COLLATE utf8mb4_bin", "ab", "ab "),
    ("VARCHAR(9) COLLATE utf8mb4_general_ci", "ss", "SS"),
    ("VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_german2_ci", "straße", "strasse"),
    ("CHAR(5)", "ab", "ab   "),
    ("BINARY(4)", "aGk=", b"hi\0\0"),
    ("VARBINARY(4)", "aGk=", b"hi"),
    ("INT", "7", "007"),
    ("BIGINT", 7, "7.0"),
    ("DECIMAL(5,1)", "1.04", "0.96"),
    ("DECIMAL(5,1)", "1.0", "1"),
    ("FLOAT", "0.1", "0.10000000001"),
    ("DOUBLE", "0", "-0"),
    ("DATETIME", "2026-01-01T00:00:00.4", "2026-01-01 00:00:00"),
    ("TIMESTAMP", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"),
    ("DATE", "2026-01-01", "2026-1-1"),
    ("TIME", "10:00:00.1", "10:00"),
    ("YEAR", 2001, "2001"),
    ("UUID", "0000000a-0000-0000-0000-00000000000b", "0000000A000000000000-00000000000B"),
    ("INET6", "::1", "0:0:0:0:0:0:0:1"),
    ("ENUM('a', 'b')", "a", "A"),
]

SQLITE = [
    ("TEXT COLLATE NOCASE", "Bob", "bob"),
    ("TEXT COLLATE RTRIM", "ab", "ab  "),
    ("INTEGER", "7", "007"),
    ("INTEGER", 7, "7.0"),
    ("NUMERIC", "1.0", "1.00"),
    ("REAL", "0", "-0"),
    ("REAL", 1, "1e0"),
    ("TEXT", 1, "1"),
    ("BLOB", "aGk=", b"hi"),
    ("DATETIME", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"),
    ("", 1, 1.0),
]


def row(key: Any, **value: Any) -> Record:
    return Record(topic="t", key=key, value=value)


def tomb(key: Any) -> Record:
    return Record(topic="t", key=key, value=None)


def kinds_of(target: Target) -> list[tuple[str, Any, Any]]:
    found: dict[str, list[tuple[str, Any, Any]]] = {"postgresql": POSTGRESQL, "mariadb": MARIADB, "sqlite": SQLITE}
    return found[target.kind]


def folding(target: Target) -> str:
    """A type of column that takes Bob and bob for the same."""
    return next(column for column, one, _ in kinds_of(target) if one == "Bob")


def failures(
    target: Target, *, expected: list[tuple[Any, ...]], batch: Any, before: Any = None, **how: str
) -> list[Any]:
    """The types of columns for which a batch of keys that are the same does not leave the expected rows.

    One batch has the records of all types, each in a table of its own.
    """
    kinds = [kind for column, one, other in kinds_of(target) for kind in ((column, one, other), (column, other, one))]
    for n, (column, _, _) in enumerate(kinds):
        target.make(f"k {column} PRIMARY KEY, v TEXT, w TEXT", f"t{n}")
    given = [batch(one, other) for _, one, other in kinds]
    records = [records[at].replace(topic=f"t{n}") for at in range(len(given[0])) for n, records in enumerate(given)]
    if before is not None:
        assert target.write(*(before(one).replace(topic=f"t{n}") for n, (_, one, _) in enumerate(kinds))) == []
    errors = target.write(*records, **how)
    found = {n: target.rows(table=f"t{n}") for n in range(len(kinds))}
    return [(kinds[n], rows) for n, rows in found.items() if rows != expected] + errors


def test_the_last_upsert_of_a_key_wins_however_the_key_is_written(target: Target) -> None:
    def batch(one: Any, other: Any) -> list[Record]:
        return [row(one, v="1"), row(other, v="2"), row(one, v="3")]

    assert failures(target, batch=batch, expected=[("3", None)]) == []


def test_an_upsert_after_a_tombstone_is_stored_for_every_notation_of_the_key(target: Target) -> None:
    def batch(one: Any, other: Any) -> list[Record]:
        return [row(one, v="1"), tomb(one), row(other, v="3")]

    assert failures(target, batch=batch, expected=[("3", None)]) == []


def test_a_tombstone_deletes_however_the_key_is_written(target: Target) -> None:
    def batch(one: Any, other: Any) -> list[Record]:
        return [tomb(other), row(one, v="1"), row(other, v="2"), tomb(one)]

    assert failures(target, batch=batch, expected=[], before=lambda one: row(one, v="0")) == []


def test_fields_of_a_key_add_up_however_the_key_is_written(target: Target) -> None:
    def batch(one: Any, other: Any) -> list[Record]:
        return [row(one, v="1", w="1"), row(other, v="2"), row(one, w="3"), row(other, v="4")]

    assert failures(target, batch=batch, expected=[("4", "3")]) == []


def test_the_last_update_of_a_key_wins_however_the_key_is_written(target: Target) -> None:
    def batch(one: Any, other: Any) -> list[Record]:
        return [
            row(one, v="1"),
            row(other, v="2"),
            row(one, w="w"),
            row(one, v="3"),
            row(other, w="x"),
            row(other, v="5"),
        ]

    def before(one: Any) -> Record:
        return row(one, v="0")

    assert failures(target, batch=batch, expected=[("5", "x")], before=before, insert_mode="update") == []


def test_the_last_good_record_of_a_key_wins_in_a_batch_with_bad_ones(target: Target) -> None:
    folded = folding(target)
    target.make(f"k {folded} PRIMARY KEY, v INT CHECK (v < 10), w TEXT")
    batch = [
        row("Bob", v=1), row("bob", v=2), row("Bob", v=99), row("Al", v=3), tomb("al"), row("AL", v=4), row("aL", v=99),
        row("Eve", v=5), row("eve", w="w"), row("EVE", v=98), tomb("none"), row("Zoe", v=6), row("zoe", v=97), tomb("ZOE"),
    ]  # fmt: skip
    assert len(target.write(*batch)) == 4
    assert target.rows("v, w") == [(2, None), (4, None), (5, "w")]


def test_only_a_key_that_no_column_takes_is_handed_back(target: Target) -> None:
    if target.kind == "sqlite":
        target.make("k INTEGER PRIMARY KEY, v TEXT, w TEXT")
    else:
        target.make("k DATE PRIMARY KEY, v TEXT, w TEXT")
    good = 5 if target.kind == "sqlite" else "2026-01-01"
    batch = [row(good, v="1"), row("no key", v="2"), tomb(good), row("no key", w="3"), row(good, w="4")]
    assert len(target.write(*batch)) == 2
    assert target.rows() == [(None, "4")]


def test_composite_keys_are_compared_by_each_column(target: Target) -> None:
    folded = folding(target)
    target.make(f"a {folded}, b INT, v TEXT, PRIMARY KEY (a, b)")
    batch = [
        row({"a": "Bob", "b": "7"}, v="1"), row({"b": 7, "a": "bob"}, v="2"), row({"a": "Bob", "b": 8}, v="3"),
        tomb({"a": "BOB", "b": "08"}), row({"b": "7", "a": "Bob"}, v="4"), row({"a": "Al", "b": 7}, v="5"),
        row({"b": "8", "a": "boB"}, v="6"),
    ]  # fmt: skip
    assert target.write(*batch, pk_fields="a,b") == []
    assert target.rows("v") == [("4",), ("5",), ("6",)]


def states_after(batch: list[Record]) -> list[tuple[Any, ...]]:
    """The rows as if each record were a batch of its own, with keys in lower case."""
    states: dict[str, dict[str, str]] = {}
    for record in batch:
        key = record.key.lower()
        if record.value is None:
            states.pop(key, None)
        else:
            states.setdefault(key, {}).update(record.value)
    return sorted((key, state.get("v"), state.get("w")) for key, state in states.items())


KINDS: list[Callable[[str, str], Record]] = [
    lambda key, n: row(key, v=n),
    lambda key, n: row(key, w=n),
    lambda key, _: tomb(key),
]


def test_every_order_of_writes_and_tombstones_leaves_the_last_state_of_each_key(target: Target) -> None:
    target.make(f"k {folding(target)} PRIMARY KEY, v TEXT, w TEXT")
    orders = list(itertools.product(KINDS, repeat=4))
    spellings = ("bob", "Bob", "al", "BOB")
    batch = [order[at](f"{name}{of}", str(at)) for at, name in enumerate(spellings) for of, order in enumerate(orders)]
    assert target.write(*batch) == []
    assert sorted(target.rows("lower(k), v, w")) == states_after(batch)


def test_long_keys_are_compared_to_their_end(target: Target) -> None:
    target.make("k VARCHAR(760) PRIMARY KEY, v TEXT, w TEXT")
    chosen = random.Random(1)
    batch = [chosen.choice(KINDS)("é" * 755 + chosen.choice("abcdefgh"), str(n)) for n in range(500)]
    assert target.write(*batch) == []
    assert sorted(target.rows("lower(k), v, w")) == states_after(batch)


def test_floats_with_a_schema_that_differ_only_in_their_sign_are_one_key(database: Any) -> None:
    database.run("CREATE TABLE t (k FLOAT8 PRIMARY KEY, n INT)")
    records = [
        Record(topic="t", key=key, key_schema=FLOAT64, value={"n": n})
        for n, key in enumerate([0.0, -0.0, float("nan"), float("nan"), 0.0])
    ]
    assert run_writer(SqlSink, {**database.properties, **KEYED}, [records]) == []
    assert database.rows("SELECT n FROM t ORDER BY n") == [(3,), (4,)]
