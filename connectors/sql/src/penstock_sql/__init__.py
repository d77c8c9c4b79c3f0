"""Connectors for SQL databases: PostgreSQL, MariaDB and MySQL, and SQLite."""
