"""Configurations of Debezium's PostgreSQL connector."""

from collections.abc import Mapping
from typing import Final

from connectors.sql.tests.conftest import Database

__all__ = ["CLASS", "capture", "json_converters"]

CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"


def capture(database: Database, prefix: str, **more: str) -> dict[str, str]:
    """The properties that read all tables of a database; names in `more` have underscores for dots."""
    return {
        "database.hostname": "127.0.0.1",
        "database.port": str(database.server.port),
        "database.user": "postgres",
        "database.password": "secret",
        "database.dbname": database.name,
        "topic.prefix": prefix,
        "plugin.name": "pgoutput",
        "exactly.once.support": "required",
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def json_converters(*, schemas: bool) -> Mapping[str, str]:
    """JSON keys and values."""
    enable = str(schemas).lower()
    return {
        "key.converter": _JSON,
        "key.converter.schemas.enable": enable,
        "value.converter": _JSON,
        "value.converter.schemas.enable": enable,
    }
