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
_SYSTEM_USER = "postgres"  # created by Debian's package, since PostgreSQL does not run as root
_PATIENCE = 60.0  # seconds; a server that was killed replays its log first
_PR_SET_PDEATHSIG = 1


def programs(say: Callable[[str], None]) -> Path:
    """Return the folder with the programs of the newest PostgreSQL. As root, install the package if it is missing.

    Raises:
        ConnectError: it is missing and cannot be installed. The message contains a remedy.
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
    """PostgreSQL server as a context manager. It also ends with this process, even if that is killed; its data is kept.

    Args:
        programs: the folder of its programs.
        folder: the folder of its data, created if it does not exist.
        host: the address on which it listens.
        port: the port on which it listens.
        settings: configuration parameters.

    Attributes:
        user: the superuser.
        password: the password of the user.
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
                start_new_session=True,  # Ctrl-C must reach only us, so that the last row arrives first
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
        """Connect to a database in autocommit mode."""
        return psycopg.connect(
            host=self._host,
            port=self._port,
            user=self.user,
            password=self.password,
            dbname=database,
            autocommit=True,
        )

    def make(self, database: LiteralString) -> None:
        """Create a database unless it exists."""
        with self.connect("postgres") as connection:
            if not connection.execute("SELECT FROM pg_database WHERE datname = %s", [database]).fetchall():
                connection.execute("CREATE DATABASE " + database)

    def rows(self, database: str, query: LiteralString) -> list[Row]:
        """Return the rows of a query, or no rows if one of its tables does not exist yet."""
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
        self._process.send_signal(signal.SIGINT)  # fast shutdown, which disconnects clients
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()


def _end_with_parent() -> None:
    """Make the kernel request a fast shutdown of PostgreSQL when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
