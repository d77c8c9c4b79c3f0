"""Connectors for SQL databases: PostgreSQL, and SQLite in one file."""
