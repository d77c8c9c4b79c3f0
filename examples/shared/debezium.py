"""Debezium's connectors for PostgreSQL, from Maven Central."""

from collections.abc import Callable
from pathlib import Path

from penstock_runtime.java_home import find_java
from penstock_runtime.maven import fetch_archive

__all__ = ["EARLIER", "LATEST", "archive"]

LATEST, EARLIER = "3.6.1.Final", "3.5.0.Final"
_SHA256 = {
    LATEST: "408b00c073b27ddaa7af34684f60fcf5bbf6605de68a8662ec9462f2a88880d2",
    EARLIER: "cf32d3dbc52ad89ce4f539173f4fe7ca62485f64ce218d9f674bfd24be96cd21",
}


def archive(version: str, say: Callable[[str], None]) -> Path:
    """Return the archive of a version, which is fetched once.

    Raises:
        ConnectError: it cannot be fetched. The message contains a remedy.
    """
    return fetch_archive(find_java(), "io.debezium", "debezium-connector-postgres", version, _SHA256[version], say)
