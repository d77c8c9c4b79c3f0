"""PostgreSQL with logical decoding, for Debezium."""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from connectors.sql.tests.conftest import Database, Server


@pytest.fixture(scope="session")
def logical_server() -> Iterator[Server]:
    """A PostgreSQL with `wal_level=logical`, shared."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-postgresql-"))
    server = Server(folder, wal_level="logical")
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture
def database(logical_server: Server) -> Iterator[Database]:
    """An empty database; its replication slots are dropped with it."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with logical_server.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    try:
        yield Database(logical_server, name)
    finally:
        # A walsender ends some time after its termination: wait for it.
        with logical_server.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots "
                f"WHERE database = '{name}' AND active".encode()
            )
            connection.execute(
                f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '{name}'".encode()
            )
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
