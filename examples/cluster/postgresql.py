"""A PostgreSQL on this machine, by the distribution's package, since no image of one is at hand on the cluster."""

import ctypes
import pwd
import secrets
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import LiteralString, Self

import psycopg
from command import Failed
from comparison import Row

__all__ = ["PostgreSQL", "programs"]

_USER = "penstock"
_SYSTEM_USER = "postgres"  # as Debian's package makes it: PostgreSQL does not run as root
_PATIENCE = 60.0  # seconds; a server that was killed reads its log again first
_PR_SET_PDEATHSIG = 1


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, of the newest version; None: it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    try:
        pwd.getpwnam(_SYSTEM_USER)
    except KeyError:
        return None
    return found[-1].parent if found else None


class PostgreSQL:
    """A server that runs inside of `with`, and ends with this process however that ends; its data stays.

    Args:
        programs: the folder of its programs.
        folder: where its data is, made when there is none.
        host: the address at which it listens, on PostgreSQL's port.

    Attributes:
        password: that of its user penstock, who may do everything.
    """

    def __init__(self, programs: Path, folder: Path, host: str) -> None:
        self._programs, self._folder, self._host = programs, folder, host
        self._data, self._log = folder / "data", folder / "log"
        password = folder / "password"
        if not password.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            password.write_text(secrets.token_urlsafe())
            for path in (folder, password):
                shutil.chown(path, _SYSTEM_USER)
        self.password = password.read_text()

    def __enter__(self) -> Self:
        if not (self._data / "PG_VERSION").exists():
            initdb: list[str | Path] = [self._programs / "initdb", "--pgdata", self._data, "--username", _USER]
            initdb += ["--auth", "scram-sha-256", "--pwfile", self._folder / "password"]
            made = subprocess.run(initdb, user=_SYSTEM_USER, cwd="/", capture_output=True, text=True, check=False)
            if made.returncode:
                raise Failed(f"PostgreSQL's initdb: {made.stderr.strip()}")
            with (self._data / "pg_hba.conf").open("a") as file:
                file.write("host all all all scram-sha-256\n")
        settings = ("-c", f"listen_addresses={self._host}", "-c", "unix_socket_directories=")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *settings],
                user=_SYSTEM_USER,
                cwd="/",
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us: the last row comes through first
                preexec_fn=_end_with_parent,
            )
        end = time.monotonic() + _PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                self._stop()
                raise Failed(f"PostgreSQL does not start at {self._host}, port 5432:\n{self._log.read_text()[-2000:]}")
            time.sleep(0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def connect(self, database: str) -> "psycopg.Connection[Row]":
        """A connection to a database; each statement is a transaction."""
        return psycopg.connect(host=self._host, user=_USER, password=self.password, dbname=database, autocommit=True)

    def make(self, database: LiteralString) -> None:
        """Make a database that is missing."""
        with self.connect("postgres") as connection:
            if not connection.execute("SELECT FROM pg_database WHERE datname = %s", [database]).fetchall():
                connection.execute("CREATE DATABASE " + database)

    def rows(self, database: str, query: LiteralString) -> list[Row]:
        """What a query finds; nothing while a table of it is missing."""
        with self.connect(database) as connection:
            try:
                return connection.execute(query).fetchall()
            except psycopg.errors.UndefinedTable:
                return []

    def _answers(self) -> bool:
        try:
            self.connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def _stop(self) -> None:
        self._process.send_signal(signal.SIGINT)  # its fast shutdown: clients are sent away
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()


def _end_with_parent() -> None:
    """Have the kernel ask PostgreSQL for its fast shutdown when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
