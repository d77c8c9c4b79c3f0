"""A database whose disk is full while a sink writes: the task waits, and each record is one row once there is room."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from connectors.sql.tests.conftest import Database

from ..lab import Lab
from ..running import until
from .test_sink import count, fill, holds_each_once, sql_sink


class Disk:
    """A device of its own, in which a tablespace is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._mount("size=8m", "-t", "tmpfs", "tmpfs")
        self.space = folder / "space"
        self.space.mkdir()
        shutil.chown(self.space, "postgres", "postgres")

    def grow(self) -> None:
        self._mount("remount,size=512m")

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", self.folder], check=True)

    def _mount(self, options: str, *what: str) -> None:
        subprocess.run(["mount", "-o", options, *what, self.folder], check=True)


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A device of 8 MB, until it grows. PostgreSQL must see it, which has no way into the folders of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-disk-"))
    folder.chmod(0o755)
    disk = Disk(folder / "mounted")
    try:
        yield disk
    finally:
        disk.unmount()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a device, which only root can")
@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_a_full_disk_is_waited_for_and_each_record_is_a_row_once_there_is_room(
    lab: Lab, database: Database, disk: Disk, mode: str
) -> None:
    space = f"space_{database.name}"
    database.run(f"CREATE TABLESPACE {space} LOCATION '{disk.space}'")
    try:
        key = " PRIMARY KEY" if mode == "upsert" else ""
        database.run(f"SET default_tablespace = {space}; CREATE TABLE events (id INT{key}, name TEXT)")
        keys = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"} if mode == "upsert" else {}
        topic, written = lab.topic(), 250_000
        fill(lab, topic, 0, written)
        _, task = lab.start(sql_sink(database, topic, **keys, **{"batch.max.records": "20000"}))
        until(lambda: "No space left on device" in (task.trouble or ""), what=task.last_words)
        assert 0 < count(database) < written
        disk.grow()
        until(lambda: count(database) >= written, what=task.last_words, moving=lambda: count(database))
        until(lambda: task.trouble is None, what=task.last_words)
        task.stop()
        holds_each_once(database, written)
    finally:
        database.run("DROP TABLE events")
        database.run(f"DROP TABLESPACE {space}")
