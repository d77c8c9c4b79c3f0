"""The types of columns in MariaDB and MySQL. Pure.

`DATETIME`, not `TIMESTAMP`, which ends in 2038; six digits of a second everywhere, since the default is none. Texts have all
of Unicode, and are compared letter by letter: other collations take `a` and `A` for the same key.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import types as sql
from sqlalchemy.dialects import mysql

from penstock_sql.dialects.kinds import ColumnKind, Kind, kind_of

__all__ = ["column_type", "kind_of_column", "table_options"]

_EXACT: Final = {"charset": "utf8mb4", "collation": "utf8mb4_bin"}
_MOST_DIGITS: Final = 65
_DIGITS_BEHIND: Final = 30
"""Of numbers that have a scale each."""

_TYPES: Final[Mapping[type[Any], Callable[[Any], Any]]] = {
    sql.Text: lambda _: mysql.LONGTEXT(**_EXACT),
    sql.LargeBinary: lambda _: mysql.LONGBLOB(),
    sql.REAL: lambda _: mysql.FLOAT(),
    sql.DateTime: lambda _: mysql.DATETIME(fsp=6),
    sql.Time: lambda _: mysql.TIME(fsp=6),
    sql.Uuid: lambda _: mysql.CHAR(36, **_EXACT),
    sql.Numeric: lambda generic: mysql.DECIMAL(  # the server says if it is beyond what it has
        _MOST_DIGITS, _DIGITS_BEHIND if generic.scale is None else max(0, generic.scale)
    ),
    sql.ARRAY: lambda _: sql.JSON(),
}
_KEYS: Final[Mapping[type[Any], Any]] = {sql.Text: mysql.VARCHAR(255), sql.LargeBinary: mysql.VARBINARY(255)}
"""Texts and bytes need a length in a primary key."""
_WHOLE: Final = (mysql.TINYINT, mysql.SMALLINT, mysql.MEDIUMINT, mysql.INTEGER, mysql.BIGINT, mysql.YEAR)
"""Columns that would silently round numbers with a fraction."""


def column_type(generic: Any, *, key: bool) -> Any:
    """Return the type of a new column from SQLAlchemy's generic one."""
    if key and type(generic) in _KEYS:
        return _KEYS[type(generic)]
    made = _TYPES.get(type(generic))
    return generic if made is None else made(generic)


def kind_of_column(column: Any) -> ColumnKind:
    """Return what decides how values are written into a column, by its type in SQLAlchemy."""
    if isinstance(column, mysql.TIMESTAMP):
        return Kind.UTC_TIMESTAMP
    if isinstance(column, mysql.BIT):
        return Kind.BIT_NUMBER
    return Kind.WHOLE if isinstance(column, _WHOLE) else kind_of(column)


def table_options(*, is_mariadb: bool) -> Mapping[str, Any]:
    """Return SQLAlchemy's options for a new table. Texts of keys are compared to the last blank."""
    collation = "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"
    return {"mysql_engine": "InnoDB", "mysql_default_charset": "utf8mb4", "mysql_collate": collation}
