"""Registry of the supported dialects."""

from collections.abc import Sequence
from typing import Final

from penstock_sql.dialects.base import Dialect
from penstock_sql.dialects.mariadb.dialect import MariaDb
from penstock_sql.dialects.postgresql.dialect import PostgreSql
from penstock_sql.dialects.sqlite.dialect import Sqlite

__all__ = ["DIALECTS"]

DIALECTS: Final[Sequence[Dialect]] = (PostgreSql(), MariaDb(), Sqlite())
