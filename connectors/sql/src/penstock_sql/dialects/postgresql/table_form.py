"""Fingerprint of a PostgreSQL table: its columns, and whether row-level security applies to this user."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from penstock_sql.dialects.statements import driver, quoted, run
from penstock_sql.names import TableName

__all__ = ["has_policies", "may_keep", "table_form"]

_POLICIES: Final = " with policies"
_FORM: Final = (
    "SELECT concat(md5(string_agg(concat_ws(' ', attname, atttypid, atttypmod), ',' ORDER BY attnum)), "
    f"CASE WHEN row_security_active(%(table)s::regclass) THEN '{_POLICIES}' END) FROM pg_attribute "
    "WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped"
)
_RIGHTS: Final = (
    "SELECT name FROM unnest(%(columns)s::text[]) WITH ORDINALITY AS c(name, place) "
    "WHERE has_column_privilege(%(table)s::regclass, name, 'SELECT') "
    "AND has_column_privilege(%(table)s::regclass, name, 'INSERT') ORDER BY place"
)


def may_keep(connection: Connection, table: TableName, columns: Sequence[str]) -> Sequence[str]:
    """Return those of the columns whose stored values this user may read and write."""
    if not columns:
        return columns
    given = {"columns": list(columns), "table": quoted(connection, table)}
    return [name for (name,) in driver(connection).execute(_RIGHTS, given).fetchall()]


def table_form(connection: Connection, table: TableName) -> str:
    """Return a fingerprint of a table's columns and types, and of whether row-level security applies to this user.

    The table cannot change until the transaction ends.

    Raises:
        psycopg.Error: there is no such table.
    """
    name = quoted(connection, table)
    run(connection, f"LOCK TABLE {name} IN ROW EXCLUSIVE MODE")
    found = driver(connection).execute(_FORM, {"table": name}).fetchone()
    return str(found[0])


def has_policies(form: str) -> bool:
    """Return whether row-level security applies to this user, by the fingerprint of the table."""
    return form.endswith(_POLICIES)
