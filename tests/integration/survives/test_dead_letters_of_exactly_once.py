"""A sink of exactly once that hands back records: `kill -9` at any point loses no dead letter and doubles no row."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from penstock_cli.plugin.new_project import new_project

from ..lab import STRING, Lab
from ..running import manifest, new_name, next_life

DYING = """
import os, signal
from ledger import Ledger, LedgerSink, LedgerWriter

def die(where):
    if os.environ.get("DIE") == where:
        os.kill(os.getpid(), signal.SIGKILL)

class DyingSink(LedgerSink):
    def commit(self, messages, offsets):
        die("before commit")
        stored = super().commit(messages, offsets)
        die("after commit")
        return stored

class DyingWriter(LedgerWriter):
    def write(self, batches, report):
        made = super().write(batches, report)
        die("after write")
        return made

class Dying(Ledger):
    def sink(self, config):
        return DyingSink(config, self.context.connector)

    def writer(self, config):
        return DyingWriter()
"""


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database of the sink that `penstock plugin init --kind sink --form class` writes, which dies where it is told."""
    source = new_project("ledger", "sink", tmp_path, form="class") / "src"
    (source / "dying_ledger.py").write_text(DYING)
    monkeypatch.syspath_prepend(source)
    monkeypatch.setenv("PYTHONPATH", str(source))
    for module in ("ledger", "dying_ledger"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("where", ["after write", "before commit", "after commit"])
def test_a_kill_loses_no_dead_letter_and_doubles_no_row(where: str, lab: Lab, ledger: Path) -> None:
    topic, queue = lab.topic(), lab.topic("dlq")
    lab.produce(topic, "a", None, "b", None, "c")
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": queue}
    given = {**STRING, **tolerant, "topics": topic, "database": str(ledger)}
    spec = lab.spec(manifest(new_name("ledger"), "dying_ledger:Dying", given))
    assert lab.processes.task(spec, env={"DIE": where}).await_exit() == -9
    task = lab.processes.task(next_life(spec))
    lab.wait_committed(spec.connector, topic, 5)
    task.stop()
    with closing(sqlite3.connect(ledger)) as database:
        assert [*database.execute("SELECT value FROM records ORDER BY rowid")] == [("a",), ("b",), ("c",)]
    letters = len(lab.records(queue))
    assert letters == {"after write": 2, "before commit": 4, "after commit": 2}[where]
