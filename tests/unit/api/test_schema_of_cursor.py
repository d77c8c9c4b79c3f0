"""Schemas of the rows of a DB-API cursor: of sqlite3 itself, and of what other drivers give by PEP 249."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from typing import Any

import pytest

from penstock import DataError, Schema, SchemaBuilderError, schema_of_cursor, value_of
from penstock.schema import BYTES, INT64, OPTIONAL_STRING, STRING, TIMESTAMP, decimal, struct

TYPES = {20: INT64, 25: STRING, datetime: TIMESTAMP}


class Kind:
    """One of PEP 249's type objects: equal to the codes that it stands for, and not hashable, as psycopg's."""

    def __init__(self, *codes: int) -> None:
        self._codes = codes

    def __eq__(self, other: object) -> bool:
        return other in self._codes

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as made:
        made.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, paid REAL)")
        made.execute("INSERT INTO orders VALUES (1, NULL, 9.5)")
        yield made


def column(name: str, code: Any, null_ok: Any = None) -> tuple[Any, ...]:
    return (name, code, None, None, None, None, null_ok)


def test_columns_without_types_in_sqlite_have_those_that_are_given_in_the_order_of_the_query(
    database: sqlite3.Connection,
) -> None:
    cursor = database.execute("SELECT customer AS who, id FROM orders")
    schema = schema_of_cursor(cursor.description, {}, columns={"id": INT64, "who": OPTIONAL_STRING}, name="Order")
    assert schema == struct({"who": OPTIONAL_STRING, "id": INT64}, name="Order")
    (row,) = cursor
    assert value_of(dict(zip([f.name for f in schema.fields], row, strict=True)), schema) == {"who": None, "id": 1}


def test_one_schema_may_be_given_for_all_columns_without_a_type(database: sqlite3.Connection) -> None:
    cursor = database.execute("SELECT customer, hex(id) FROM orders")
    assert schema_of_cursor(cursor.description, {None: STRING}) == struct(
        {"customer": OPTIONAL_STRING, "hex(id)": OPTIONAL_STRING}
    )


@pytest.mark.parametrize(
    ("null_ok", "schema"),
    [
        (None, INT64.as_optional()),
        (True, INT64.as_optional()),
        (1, INT64.as_optional()),
        (False, INT64),
        (0, INT64),
    ],
)
def test_a_field_is_optional_unless_the_driver_says_that_it_is_never_null(null_ok: Any, schema: Schema) -> None:
    assert schema_of_cursor([column("id", 20, null_ok)], TYPES) == struct({"id": schema})


def test_a_schema_that_is_given_as_optional_stays_so() -> None:
    assert schema_of_cursor([column("a", 25, False)], {25: OPTIONAL_STRING}) == struct({"a": OPTIONAL_STRING})


def test_what_is_given_for_a_column_counts_more_than_its_type_and_is_taken_as_it_is() -> None:
    description = [column("id", 20), column("price", 1700), column("at", datetime)]
    columns = {"id": INT64, "price": decimal(2)}
    assert schema_of_cursor(description, TYPES, columns=columns) == struct(
        {"id": INT64, "price": decimal(2), "at": TIMESTAMP.as_optional()}
    )


def test_a_type_code_that_is_an_object_is_compared_as_pep_249_says() -> None:
    assert schema_of_cursor([column("a", Kind(17, 18), False)], {20: INT64, 17: BYTES}) == struct({"a": BYTES})


def test_all_that_is_wrong_is_reported_together_with_what_to_do(database: sqlite3.Connection) -> None:
    description = [
        column("id", 20),
        column("price", 1700),
        column("id", 20),
        column("tags", "_text"),
        column("x", None),
    ]
    with pytest.raises(SchemaBuilderError) as raised:
        schema_of_cursor(description, TYPES, columns={"prise": decimal(2)})
    assert str(raised.value) == (
        "cannot derive a schema from the cursor: "
        "'id' is the name of 2 columns: rename them in the query (SELECT ... AS ...); "
        "'price' has an unknown type code 1700: add a schema for it to types or columns; "
        "'tags' has an unknown type code '_text': add a schema for it to types or columns; "
        "'x' has no type code: add a schema for the column to columns; "
        "columns contains unknown 'prise'; the query returns 'id', 'price', 'tags', 'x'"
    )


def test_a_join_that_gives_two_columns_one_name_loses_none_silently(database: sqlite3.Connection) -> None:
    cursor = database.execute("SELECT a.id, b.id FROM orders a JOIN orders b USING (id)")
    with pytest.raises(SchemaBuilderError, match="'id' is the name of 2 columns: rename them in the query"):
        schema_of_cursor(cursor.description, {}, columns={"id": INT64})


@pytest.mark.parametrize("statement", ["UPDATE orders SET paid = 0", "DELETE FROM orders"])
def test_a_statement_without_rows_has_no_schema(database: sqlite3.Connection, statement: str) -> None:
    with pytest.raises(SchemaBuilderError, match="the cursor has no description; execute a query first"):
        schema_of_cursor(database.execute(statement).description, {})


def test_a_column_without_a_name_is_reported() -> None:
    with pytest.raises(SchemaBuilderError, match="a field of a struct must have a non-empty name"):
        schema_of_cursor([column("", 20)], TYPES)


def test_a_value_of_another_type_than_the_columns_is_reported_with_its_name(database: sqlite3.Connection) -> None:
    cursor = database.execute("SELECT paid FROM orders")
    schema = schema_of_cursor(cursor.description, {}, columns={"paid": INT64})
    with pytest.raises(DataError, match=re.escape("paid is of type float, not int64")):
        value_of({"paid": next(cursor)[0]}, schema)
