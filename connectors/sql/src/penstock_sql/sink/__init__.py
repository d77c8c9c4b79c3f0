"""The sinks: rows of a database from records."""

from penstock_sql.sink.connector import SqlSink

__all__ = ["SqlSink"]
