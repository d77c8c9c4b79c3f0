"""PostgreSQL on this machine, from the distribution's package."""

import ctypes
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import LiteralString, Self

import psycopg
from comparison import Row

from penstock.errors import ConnectError

__all__ = ["PostgreSQL", "programs"]

_PACKAGE = "postgresql"
_SYSTEM_USER = "postgres"  # as Debian's package makes it: PostgreSQL does not run as root
_PATIENCE = 60.0  # seconds; a server that was killed reads its log again first
_PR_SET_PDEATHSIG = 1


def programs(say: Callable[[str], None]) -> Path:
    """Return the folder of PostgreSQL's programs, of the newest version. As root, install the package if it is missing.

    Raises:
        ConnectError: it is missing and cannot be installed; the message says what to do.
    """
    if found := _newest():
        return found
    apt_get = shutil.which("apt-get")
    if os.geteuid() or apt_get is None:
        raise ConnectError(f"PostgreSQL is missing: install it (Debian, Ubuntu: apt-get install {_PACKAGE})")
    say(f"Installing {_PACKAGE} (apt-get, once)...")
    install = [apt_get, "install", "--yes", "--no-install-recommends", _PACKAGE]
    for command in (install, [apt_get, "update"], install):
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        if found := _newest():
            return found
    raise ConnectError(f"cannot install {_PACKAGE}: {(done.stderr or done.stdout).strip()[-1000:]}")


def _newest() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class PostgreSQL:
    """A server that runs inside of `with`, and ends with this process however that ends; its data stays.

    Args:
        programs: the folder of its programs.
        folder: where its data is, made when there is none.
        host: the address at which it listens.
        port: where it listens there.
        settings: of its configuration.

    Attributes:
        user: may do everything.
        password: that of the user.
    """

    user = "penstock"

    def __init__(
        self, programs: Path, folder: Path, host: str, port: int = 5432, settings: Mapping[str, str] | None = None
    ) -> None:
        self._programs, self._folder, self._host, self._port = programs, folder, host, port
        self._settings = {**(settings or {}), "listen_addresses": host, "unix_socket_directories": ""}
        self._system_user = None if os.geteuid() else _SYSTEM_USER
        self._data, self._log = folder / "data", folder / "log"
        password = folder / "password"
        if not password.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            password.write_text(secrets.token_urlsafe())
            if self._system_user is not None:
                for path in (folder, password):
                    shutil.chown(path, self._system_user)
        self.password = password.read_text()

    def __enter__(self) -> Self:
        if not (self._data / "PG_VERSION").exists():
            initdb: list[str | Path] = [self._programs / "initdb", "--pgdata", self._data, "--username", self.user]
            initdb += ["--auth", "scram-sha-256", "--pwfile", self._folder / "password"]
            made = subprocess.run(initdb, user=self._system_user, cwd="/", capture_output=True, text=True, check=False)
            if made.returncode:
                raise ConnectError(f"PostgreSQL's initdb: {made.stderr.strip()}")
            with (self._data / "pg_hba.conf").open("a") as file:
                file.write("host all all all scram-sha-256\n")
        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-p", str(self._port), *settings],
                user=self._system_user,
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
                raise ConnectError(
                    f"PostgreSQL does not start at {self._host}, port {self._port}:\n{self._log.read_text()[-2000:]}"
                )
            time.sleep(0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def connect(self, database: str) -> "psycopg.Connection[Row]":
        """A connection to a database; each statement is a transaction."""
        return psycopg.connect(
            host=self._host,
            port=self._port,
            user=self.user,
            password=self.password,
            dbname=database,
            autocommit=True,
        )

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
