"""A PostgreSQL for connectors that run as processes."""

from connectors.sql.tests.conftest import database, server

__all__ = ["database", "server"]
