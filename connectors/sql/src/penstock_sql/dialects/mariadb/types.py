"""The types of new columns in MariaDB and MySQL.

`DATETIME`, not `TIMESTAMP`, which ends in 2038; six digits of a second everywhere, since the default is none. Texts have all
of Unicode, and are compared letter by letter: other collations take `a` and `A` for the same key.
"""

from typing import Any, Final

from sqlalchemy import Dialect
from sqlalchemy import types as sql
from sqlalchemy.dialects import mysql

__all__ = ["BYTES", "DATETIME", "DECIMAL", "FLOAT", "TEXT", "TIME", "UUID", "decimal_type", "key_type", "new_table"]

_EXACT: Final = {"charset": "utf8mb4", "collation": "utf8mb4_bin"}
_KEY_LETTERS: Final = 255
_KEY_BYTES: Final = 255
_MOST_DIGITS: Final = 65

TEXT: Final = mysql.LONGTEXT(**_EXACT)
BYTES: Final = mysql.LONGBLOB()
FLOAT: Final = mysql.FLOAT()
DATETIME: Final = mysql.DATETIME(fsp=6)
TIME: Final = mysql.TIME(fsp=6)
UUID: Final = mysql.CHAR(36, **_EXACT)
DECIMAL: Final = mysql.DECIMAL(_MOST_DIGITS, 30)
"""Of numbers that have a scale each."""
_TEXT_KEY: Final = sql.Text().with_variant(mysql.VARCHAR(_KEY_LETTERS), "mysql")
_BYTES_KEY: Final = sql.LargeBinary().with_variant(mysql.VARBINARY(_KEY_BYTES), "mysql")


def new_table(dialect: Dialect) -> dict[str, Any]:
    """What a table that is made is told besides its columns. Texts of keys are compared to the last blank."""
    collation = "utf8mb4_nopad_bin" if getattr(dialect, "is_mariadb", False) else "utf8mb4_0900_bin"
    return {"mysql_engine": "InnoDB", "mysql_default_charset": "utf8mb4", "mysql_collate": collation}


def decimal_type(scale: int) -> Any:
    """For a Decimal of this scale. The server says if it is beyond what it has."""
    return mysql.DECIMAL(_MOST_DIGITS, max(0, scale))


def key_type(column: Any) -> Any:
    """The type of a column in a primary key: texts and bytes need a length there."""
    if isinstance(column, sql.Text):
        return _TEXT_KEY
    if isinstance(column, sql.LargeBinary):
        return _BYTES_KEY
    return column
