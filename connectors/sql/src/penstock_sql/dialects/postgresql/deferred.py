"""Checks of deferred constraints, and search for the rows of a transaction that violate one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import psycopg
from sqlalchemy import Connection

from penstock_sql.dialects.base import Place, Write
from penstock_sql.dialects.statements import driver, quoted, run
from penstock_sql.names import TableName

__all__ = ["check", "violators"]

_CONSTRAINT: Final = """
SELECT c.contype, c.confrelid::regclass::text, c.conrelid::regclass::text, names(c.conrelid, c.conkey),
  names(c.confrelid, c.confkey), roots(c.conrelid), roots(c.confrelid)
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE c.conname = %s AND t.relname = %s AND n.nspname = %s
"""
_NAMES: Final = (
    "ARRAY(SELECT a.attname::text FROM unnest({1}) WITH ORDINALITY AS k(number, place) JOIN pg_attribute a "
    "ON a.attrelid = {0} AND a.attnum = k.number ORDER BY k.place)"
)
_ROOTS: Final = "ARRAY(SELECT relid::oid FROM pg_partition_ancestors({0})) || {0}"


Staged = Callable[[Connection, Write, str, str, str], list[tuple[Any, ...]]]
"""Signature of `put.staged_rows`."""


class _Constraint(NamedTuple):
    kind: str
    parent: str
    child: str
    columns: list[str]
    referenced: list[str]
    child_ids: list[int]
    parent_ids: list[int]


class _Row(NamedTuple):
    place: Place
    key: str
    value: str


class _Batch(NamedTuple):
    """Written rows, and the function that reads them back with the types of their tables."""

    writes: Sequence[Write]
    mode: str
    form: Callable[[TableName], str]
    staged: Staged


def check(connection: Connection) -> None:
    """Check deferred constraints now instead of at the end of the transaction.

    Raises:
        psycopg.Error: a constraint is violated.
    """
    run(connection, "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def violators(
    connection: Connection,
    writes: Sequence[Write],
    mode: str,
    form: Callable[[TableName], str],
    error: BaseException,
    staged: Staged,
) -> set[Place]:
    """Return the records whose rows violate the constraint of an error of `check`. All rows must be in their tables.

    The result is empty for constraint triggers and exclusion constraints, whose rows cannot be found.

    Raises:
        psycopg.Error: the user may not read the tables.
    """
    constraint, batch = _constraint(connection, error), _Batch(writes, mode, form, staged)
    if constraint is None:
        return set()
    if constraint.kind != "f":
        return _duplicates(connection, constraint, batch)
    children: set[Place] = set()
    parents: set[Place] = set()
    for write in writes:
        if _is_one(connection, write.table, constraint.child_ids) and not write.delete:
            orphaned = f"NOT EXISTS (SELECT FROM {constraint.parent} p WHERE {{}})"
            pairs = zip(constraint.referenced, constraint.columns, strict=True)
            where = orphaned.format(_equal(connection, "p", "s", pairs))
            children |= {row.place for row in _rows(connection, batch, write, constraint.columns, where)}
        if _is_one(connection, write.table, constraint.parent_ids) and write.delete:
            pairs = zip(constraint.columns, constraint.referenced, strict=True)
            same = zip(constraint.referenced, constraint.referenced, strict=True)
            where = (
                f"EXISTS (SELECT FROM {constraint.child} c WHERE {_equal(connection, 'c', 's', pairs)}) AND NOT EXISTS "
                f"(SELECT FROM {constraint.parent} p WHERE {_equal(connection, 'p', 's', same)})"
            )
            parents |= {row.place for row in _rows(connection, batch, write, constraint.referenced, where)}
    return _later(children, parents)


def _later(some: set[Place], others: set[Place]) -> set[Place]:
    """Return the records of one group that follow all records of the other: only together do they violate a constraint.

    If a group is empty, return the other one.
    """
    if not some or not others:
        return some | others
    first, last = sorted((some, others), key=max)
    return {place for place in last if place > max(first)}


def _duplicates(connection: Connection, constraint: _Constraint, batch: _Batch) -> set[Place]:
    """Return all rows of a duplicate value except the first one; all rows if the value was already in the table."""
    values: dict[str, list[_Row]] = {}
    for write in batch.writes:
        if _is_one(connection, write.table, constraint.child_ids) and not write.delete:
            same = zip(constraint.columns, constraint.columns, strict=True)
            where = f"(SELECT count(*) FROM {constraint.child} c WHERE {_equal(connection, 'c', 's', same)}) > 1"
            for row in _rows(connection, batch, write, constraint.columns, where):
                values.setdefault(row.value, []).append(row)
    found: set[Place] = set()
    for rows in values.values():
        first = min(rows)
        others = {row.place for row in rows if row.key != first.key}
        found |= others or {row.place for row in rows}
    return found


def _constraint(connection: Connection, error: BaseException) -> _Constraint | None:
    found = getattr(error, "orig", None) or error
    if not isinstance(found, psycopg.Error) or not found.diag.constraint_name:
        return None
    statement = _CONSTRAINT
    for table, columns in (("c.conrelid", "c.conkey"), ("c.confrelid", "c.confkey")):
        statement = statement.replace(f"names({table}, {columns})", _NAMES.format(table, columns))
        statement = statement.replace(f"roots({table})", _ROOTS.format(table))
    of = (found.diag.constraint_name, found.diag.table_name, found.diag.schema_name)
    row = driver(connection).execute(statement, of).fetchone()
    return None if row is None or row[0] not in ("f", "p", "u") else _Constraint(*row)


def _is_one(connection: Connection, table: TableName, ids: Sequence[int]) -> bool:
    statement = "SELECT to_regclass(%s)::oid::int8 = ANY(%s::int8[])"
    found = driver(connection).execute(statement, (quoted(connection, table), list(map(int, ids)))).fetchone()
    return bool(found[0])


def _equal(connection: Connection, left: str, right: str, pairs: Iterable[tuple[str, str]]) -> str:
    return " AND ".join(f"{left}.{quoted(connection, a)} = {right}.{quoted(connection, b)}" for a, b in pairs)


def _rows(connection: Connection, batch: _Batch, write: Write, columns: Sequence[str], where: str) -> Iterator[_Row]:
    """Yield the rows whose values are still in the table, if they have these columns and match a condition on alias `s`."""
    if not set(columns) <= set(write.columns):
        return
    names = tuple(dict.fromkeys([*write.keys, *columns]))
    keyed = bool(write.keys) and batch.mode != "insert"
    if keyed and not write.delete:
        same = _equal(connection, "t", "s", zip(names, names, strict=True))
        where += f" AND EXISTS (SELECT FROM {quoted(connection, write.table)} t WHERE {same})"
    at = [write.columns.index(name) for name in names]
    part = Write(write.table, write.keys, names, delete=True)
    part.rows = [(place, tuple(row[n] for n in at)) for place, row in write.rows]
    key = _record(connection, write.keys) if keyed else "s.number::text"
    chosen = f"s.number, {key}, {_record(connection, columns)}"
    for number, key_text, value in batch.staged(connection, part, batch.form(write.table), chosen, where):
        yield _Row(part.rows[number][0], key_text, value)


def _record(connection: Connection, columns: Sequence[Any]) -> str:
    return f"ROW({', '.join(f's.{quoted(connection, name)}' for name in columns)})::text"
