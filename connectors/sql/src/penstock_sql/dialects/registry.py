"""The dialects that there are."""

from typing import Final

from penstock_sql.dialects.mariadb.dialect import MariaDb
from penstock_sql.dialects.postgresql.dialect import PostgreSql
from penstock_sql.dialects.sqlite.dialect import Sqlite

__all__ = ["MARIADB", "POSTGRESQL", "SQLITE"]

MARIADB: Final = MariaDb()
POSTGRESQL: Final = PostgreSql()
SQLITE: Final = Sqlite()
