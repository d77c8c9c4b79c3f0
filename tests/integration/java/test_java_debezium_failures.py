"""Debezium's PostgreSQL connector while its database is killed, frozen, or no longer has what it needs."""

import json
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from connectors.sql.tests.conftest import Server

from ..reading import Reader, create
from ..running import PATIENCE, Processes, Running, manifest, new_name, until
from .plugins import debezium
from .probe_plugin import Probe, ProbeLab, await_jvm, probe, probe_lab

__all__ = ["Probe", "probe", "probe_lab"]

CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"
RESTART: Final = {"backoff": {"initial": "500ms", "max": "2s"}, "maxRestarts": 100}


@pytest.fixture(scope="session")
def archive() -> Path:
    """Debezium's archive, as Maven Central has it."""
    return debezium("postgres")


@pytest.fixture
def postgres() -> Iterator[Server]:
    """A PostgreSQL of this test, with logical decoding and a table."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-postgresql-"))
    server = Server(folder)
    with (server.data / "postgresql.conf").open("a") as settings:
        settings.write("wal_level = logical\n")
    server.start()
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY)")
        yield server
    finally:
        for process in processes_of(server):
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def processes_of(server: Server) -> list[psutil.Process]:
    """Its main process and that one's children."""
    file = server.data / "postmaster.pid"
    try:
        main = psutil.Process(int(file.read_text().splitlines()[0]))
        return [main, *main.children(recursive=True)]
    except (OSError, IndexError, psutil.Error):
        return []


class Cdc:
    """Debezium on a table of numbers."""

    def __init__(self, kafka: str, processes: Processes, server: Server, archive: Path) -> None:
        self.name = new_name("cdc")
        self.topic = f"{self.name}.public.t"
        self.server = server
        self._kafka, self._processes, self._archive = kafka, processes, archive
        self.written = 0
        create(kafka, self.topic)

    def manifest(self, **more: Any) -> dict[str, Any]:
        config = {
            "database.hostname": "127.0.0.1",
            "database.port": self.server.port,
            "database.user": "postgres",
            "database.password": "secret",
            "database.dbname": "postgres",
            "topic.prefix": self.name,
            "plugin.name": "pgoutput",
            "table.include.list": "public.t",
            "slot.name": re.sub(r"\W", "_", self.name),
            "retriable.restart.connector.wait.ms": "500",
            "value.converter": "JsonConverter",
            "value.converter.schemas.enable": "false",
            "key.converter": "JsonConverter",
            "key.converter.schemas.enable": "false",
        }
        return manifest(self.name, CLASS, config, restart=more.pop("restart", RESTART)) | more

    def run(self, **more: Any) -> Running:
        path = ("--plugin-path", str(self._archive))
        env = {"PENSTOCK_JAVA_HEAP": "256m"}
        return self._processes.run([self.manifest(**more)], self._kafka, *path, env=env)

    def write(self, count: int) -> None:
        """Insert the next numbers, each in a transaction of its own."""
        with self.server.connect() as connection:
            for number in range(self.written, self.written + count):
                connection.execute("INSERT INTO t VALUES (%s)", (number,))
        self.written += count

    def check(self, reader: Reader) -> None:
        """Wait for all numbers, and assert that each arrived once, in order."""
        reader.count(self.written, seconds=2 * PATIENCE)
        found = [json.loads(r.value or b"")["after"]["id"] for r in reader.to_end()]
        assert found == list(range(self.written))


@pytest.fixture
def cdc(kafka: str, processes: Processes, postgres: Server, archive: Path) -> Cdc:
    """Debezium on a PostgreSQL of its own."""
    return Cdc(kafka, processes, postgres, archive)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_of_database_jvm_and_task_leave_each_change_once(cdc: Cdc, kafka: str) -> None:
    run = cdc.run()
    with Reader(kafka, cdc.topic) as reader:
        cdc.write(100)
        cdc.check(reader)
        for victim in ("jvm", "task"):
            cdc.write(200)
            (await_jvm(run) if victim == "jvm" else run.tasks()[0]).kill()
            cdc.write(200)
            cdc.check(reader)
        cdc.write(100)
        processes = processes_of(cdc.server)
        processes[0].kill()
        psutil.wait_procs(processes, 30)
        cdc.server.start()
        cdc.write(100)
        cdc.check(reader)
        run.stop()
        cdc.check(reader)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_database_that_is_frozen_for_a_while_loses_nothing(cdc: Cdc, kafka: str) -> None:
    run = cdc.run()
    with Reader(kafka, cdc.topic) as reader:
        cdc.write(100)
        cdc.check(reader)
        processes = processes_of(cdc.server)
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        try:
            until(lambda: False, seconds=20, what="thaw")
        except AssertionError:
            pass
        finally:
            for process in processes:
                process.send_signal(signal.SIGCONT)
        cdc.write(100)
        cdc.check(reader)
        run.stop()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_slot_that_is_gone_is_reported_as_debezium_says_it(cdc: Cdc, kafka: str) -> None:
    run = cdc.run()
    with Reader(kafka, cdc.topic) as reader:
        cdc.write(100)
        cdc.check(reader)
    run.stop()
    with cdc.server.connect() as connection:
        connection.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
        connection.execute("SELECT pg_switch_wal()")
        connection.execute("CHECKPOINT")
    again = cdc.run(restart={"policy": "Never"})
    assert again.await_exit(2 * PATIENCE) == 1, again.last_words()
    ended = next(line for line in reversed(again.log_text().splitlines()) if "has ended" in line)
    assert f"cannot start {CLASS}: DebeziumException" in ended
    assert "The connector is trying to read change stream starting at" in ended
    assert "no longer available on the server" in ended


@pytest.mark.slow
def test_a_wrong_password_is_reported_under_a_property_and_not_shown(
    cdc: Cdc, probe_lab: ProbeLab, archive: Path, tmp_path: Path
) -> None:
    resource = cdc.manifest()
    resource["spec"]["config"]["database.password"] = "pa55-wrong-pa55"
    file = tmp_path / "manifest.yaml"
    file.write_text(json.dumps(resource))
    done = probe_lab.command("validate", str(file), "--plugin-path", str(archive))
    text = done.stdout + done.stderr
    assert done.returncode == 2, text
    assert "password authentication failed" in text
    assert "database.hostname" in text
    assert "pa55-wrong-pa55" not in text
    assert "Traceback" not in text
