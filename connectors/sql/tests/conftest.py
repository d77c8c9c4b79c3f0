"""A PostgreSQL of the tests' own, from the distribution's package."""

import base64
import hashlib
import hmac
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from connectors.sql.tests import mariadb
from connectors.sql.tests.targets import File, Target


def _programs() -> Path:
    found = [Path(path).parent for path in [shutil.which("initdb")] if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    if not found:
        pytest.fail("PostgreSQL is missing: install it (Debian, Ubuntu: apt-get install postgresql)")
    return found[0]


class Server:
    """A PostgreSQL server on a socket and a port of its own; `more` are settings of its configuration file."""

    def __init__(self, folder: Path, listen: str = "127.0.0.1", **more: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.bin = _programs()
        self.user = "postgres" if os.geteuid() == 0 else None  # PostgreSQL does not run as root
        if self.user:
            shutil.chown(folder, self.user, self.user)
        password = folder / "password"
        password.write_text("secret")
        password.chmod(0o444)
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "scram-sha-256", f"--pwfile={password}")
        self.port = _free_port()
        settings = f"port = {self.port}\nlisten_addresses = '{listen}'\nunix_socket_directories = ''\n"
        settings += "fsync = off\nmax_prepared_transactions = 5\n"
        settings += "".join(f"{name} = '{value}'\n" for name, value in more.items())
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(settings)
        with (self.data / "pg_hba.conf").open("a") as file:
            file.write("host all all all scram-sha-256\n")

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self.data), "-l", str(self.folder / "log"), "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop")

    def url(self, database: str = "postgres") -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str, template: str = "template1") -> None:
        with self.connect() as connection:
            # The write-ahead log of a copy costs twice as much as the copy. Before PostgreSQL 15 there was no other way.
            how = " STRATEGY file_copy" if connection.info.server_version >= 150_000 else ""
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}{how}".encode())

    @contextmanager
    def database(self, template: str = "template1") -> Iterator["Database"]:
        """A database while a test runs."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        self.create_database(name, template)
        try:
            yield Database(self, name)
        finally:
            with self.connect() as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, dbname=database, user="postgres", password="secret", autocommit=True
        )

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.bin / program, *arguments],
            text=True,
            user=self.user,
            cwd="/",
            stdout=subprocess.DEVNULL if program == "pg_ctl" else subprocess.PIPE,
            stderr=subprocess.STDOUT if program != "pg_ctl" else subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout


def _verifier(password: str) -> str:
    """What PostgreSQL keeps of a password, by one iteration: the usual 4,096 are half of what a connection takes.

    libpq takes it, pgjdbc does not.
    """
    salt = b"0123456789abcdef"
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    parts = (base64.b64encode(each).decode() for each in (salt, stored, hmac.digest(salted, b"Server Key", "sha256")))
    return "SCRAM-SHA-256$1:{}${}:{}".format(*parts)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server that runs; shared, so leave it as it was."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-postgresql-"))
    server = Server(folder)
    server.start()
    try:
        with server.connect() as connection:
            connection.execute(f"ALTER USER postgres PASSWORD '{_verifier('secret')}'".encode())
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


class Database:
    """A database of one test."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name
        self.properties = {
            "connection.url": server.url(name),
            "connection.user": "postgres",
            "connection.password": "secret",
        }

    def run(self, statement: str) -> None:
        with self.server.connect(self.name) as connection:
            connection.execute(statement.encode())

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        with self.server.connect(self.name) as connection:
            return connection.execute(statement.encode()).fetchall()


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    """An empty database."""
    with server.database() as database:
        yield database


@pytest.fixture(scope="session")
def folding(server: Server) -> str:
    """A database to be copied, with types and collations that take texts for the same which are written differently."""
    server.create_database("folding")
    database = Database(server, "folding")
    database.run("CREATE EXTENSION citext")
    database.run("CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    return database.name


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[mariadb.Server]:
    """A MariaDB that runs; shared, so leave it as it was."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-mariadb-"))
    server = mariadb.Server(folder, _free_port())
    server.start()
    try:
        with server.connect("mysql") as connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER penstock IDENTIFIED BY 'secret'")
            cursor.execute("CREATE USER reader IDENTIFIED BY 'secret'")
            cursor.execute("GRANT PROCESS ON *.* TO reader")
        yield server
    finally:
        server.stop()


@pytest.fixture
def maria(mariadb_server: mariadb.Server) -> Iterator[mariadb.Database]:
    """An empty database of it."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with mariadb_server.connect("mysql") as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        cursor.execute(f"GRANT ALL ON {name}.* TO penstock")
        cursor.execute(f"GRANT SELECT ON {name}.* TO reader")
    try:
        yield mariadb.Database(mariadb_server, name)
    finally:
        with mariadb_server.connect("mysql") as connection, connection.cursor() as cursor:
            cursor.execute("XA RECOVER")  # what a test that failed has left prepared holds its tables
            for *_, prepared in cursor.fetchall():
                cursor.execute("XA ROLLBACK %s", (prepared,))
            cursor.execute(f"DROP DATABASE {name}")


@pytest.fixture(params=["postgresql", "mariadb", "sqlite"])
def target(request: Any, tmp_path: Path) -> Iterator[Target]:
    match request.param:
        case "postgresql":
            with request.getfixturevalue("server").database(request.getfixturevalue("folding")) as database:
                yield Target(database)
        case "mariadb":
            yield Target(request.getfixturevalue("maria"), "mariadb")
        case _:
            yield Target(File(tmp_path / "t.db"), "sqlite")
