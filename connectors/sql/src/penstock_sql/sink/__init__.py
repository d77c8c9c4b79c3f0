"""Sink connectors: write records as rows of a database."""

from penstock_sql.sink.connector import SqlSink

__all__ = ["SqlSink"]
