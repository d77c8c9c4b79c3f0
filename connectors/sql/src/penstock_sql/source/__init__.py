"""Source connector: reads rows of tables as records."""

from penstock_sql.source.connector import SqlSource

__all__ = ["SqlSource"]
