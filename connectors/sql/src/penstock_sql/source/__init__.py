"""The source: records from the rows of tables."""

from penstock_sql.source.connector import SqlSource

__all__ = ["SqlSource"]
