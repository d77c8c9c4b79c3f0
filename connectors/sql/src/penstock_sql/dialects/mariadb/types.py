"""Column types of MariaDB and MySQL. Pure.

`DATETIME` is used instead of `TIMESTAMP`, which ends in 2038, and always with six fractional digits, since the default is
none. Texts support all of Unicode, with a binary collation: other collations treat `a` and `A` as the same key.
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
"""Scale of DECIMAL columns for numbers with varying scales."""

_TYPES: Final[Mapping[type[Any], Callable[[Any], Any]]] = {
    sql.Text: lambda _: mysql.LONGTEXT(**_EXACT),
    sql.LargeBinary: lambda _: mysql.LONGBLOB(),
    sql.REAL: lambda _: mysql.FLOAT(),
    sql.DateTime: lambda _: mysql.DATETIME(fsp=6),
    sql.Time: lambda _: mysql.TIME(fsp=6),
    sql.Uuid: lambda _: mysql.CHAR(36, **_EXACT),
    sql.Numeric: lambda generic: mysql.DECIMAL(  # the server reports an error if the scale is too large
        _MOST_DIGITS, _DIGITS_BEHIND if generic.scale is None else max(0, generic.scale)
    ),
    sql.ARRAY: lambda _: sql.JSON(),
}
_KEYS: Final[Mapping[type[Any], Any]] = {sql.Text: mysql.VARCHAR(255), sql.LargeBinary: mysql.VARBINARY(255)}
"""Types in a primary key, where texts and bytes need a length."""
_WHOLE: Final = (mysql.TINYINT, mysql.SMALLINT, mysql.MEDIUMINT, mysql.INTEGER, mysql.BIGINT, mysql.YEAR)
"""Types whose columns would silently round numbers with a fraction."""


def column_type(generic: Any, *, key: bool) -> Any:
    """Return the type of a new column for SQLAlchemy's generic type."""
    if key and type(generic) in _KEYS:
        return _KEYS[type(generic)]
    made = _TYPES.get(type(generic))
    return generic if made is None else made(generic)


def kind_of_column(column: Any) -> ColumnKind:
    """Return the kind of a column, which determines how values are written, by its type in SQLAlchemy."""
    if isinstance(column, mysql.TIMESTAMP):
        return Kind.UTC_TIMESTAMP
    if isinstance(column, mysql.BIT):
        return Kind.BIT_NUMBER
    return Kind.WHOLE if isinstance(column, _WHOLE) else kind_of(column)


def table_options(*, is_mariadb: bool) -> Mapping[str, Any]:
    """Return SQLAlchemy's options for a new table, with a collation that compares trailing blanks of text keys, too."""
    collation = "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"
    return {"mysql_engine": "InnoDB", "mysql_default_charset": "utf8mb4", "mysql_collate": collation}
