"""SparkSinks and others that write to one folder: every row whose offset is committed is there, whatever happens."""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from ..lab import STRING, Lab, failed
from ..pod.test_process import NOBODY, as_root
from ..running import manifest, new_name, next_life, until

pytestmark = pytest.mark.slow

SCHEMA = {"type": "struct", "fields": [{"field": "id", "type": "int64"}, {"field": "text", "type": "string"}]}
SMALL = {"consumer.override.max.poll.records": "20", "batch.max.ms": "200"}


def produce(lab: Lab, topic: str, numbers: range, texts: Sequence[str] = ("x", "y", "z")) -> None:
    producer = Producer({"bootstrap.servers": lab.servers, "acks": "all", "linger.ms": 5})
    for n in numbers:
        row = {"id": n, "text": texts[n % len(texts)]}
        producer.produce(topic, json.dumps({"schema": SCHEMA, "payload": row}), partition=0)
    assert producer.flush(30) == 0
    producer.close()


def sink(topic: str, path: str | Path, name: str | None = None, **config: str) -> dict[str, Any]:
    given = {**STRING, "value.converter": "JsonConverter", "topics": topic, "path": str(path), **config}
    return manifest(name or new_name("files"), "SparkSink", given, spark="Eager")


def ids(folder: Path) -> list[int]:
    """What a reader finds, who passes over names that begin with `_` or `.`."""
    files = (f for f in folder.rglob("*.parquet") if not f.relative_to(folder).parts[0].startswith((".", "_")))
    return [n for f in files for n in pq.ParquetFile(f).read(["id"])["id"].to_pylist()]


def staged(folder: Path) -> list[Path]:
    """All files that lie in folders of tasks."""
    return [f for f in folder.glob("_penstock-*/**/*") if f.is_file()]


@contextmanager
def foreign(folder: Path) -> Iterator[list[str]]:
    """Somebody else's Spark appends to the folder meanwhile; how many rows it has written, after each time."""
    command = [sys.executable, str(Path(__file__).parents[1] / "foreign_writer.py"), str(folder)]
    told: list[str] = []
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        assert process.stdin is not None

        def read() -> None:
            told.extend(process.stdout or ())

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield told
            process.stdin.close()
            assert process.wait(60) == 0
            reader.join(30)
        finally:
            process.kill()


class Alive:
    """A task that is started again when it ends, as `penstock run` does it; the messages with which it failed."""

    def __init__(self, lab: Lab, resource: dict[str, Any], topic: str) -> None:
        self._lab, self._topic = lab, topic
        self._spec = lab.spec(resource)
        self.failures: list[str | None] = []
        self.task = lab.processes.task(self._spec)

    def reach(self, offset: int, *, seconds: float = 240) -> None:
        """Wait until its group has committed as much."""
        until(lambda: self._reached(offset), seconds=seconds, what=self.task.last_words)

    def kill(self) -> None:
        """`kill -9` of the task and its JVM; the next life begins."""
        self.task.kill_all()
        self.again()

    def again(self) -> None:
        """The next life."""
        self._spec = next_life(self._spec)
        self.task = self._lab.processes.task(self._spec)

    def _reached(self, offset: int) -> bool:
        if self.task.process.poll() is not None:
            self.failures.append(self.task.failure)
            self.again()
        return (self._lab.committed(self._spec.connector, self._topic) or 0) >= offset


def test_every_committed_row_is_there_though_others_write_to_the_folder_and_tasks_are_killed(
    lab: Lab, tmp_path: Path
) -> None:
    out, count = tmp_path / "out", 240
    topics = [lab.topic("one"), lab.topic("two")]
    for number, topic in enumerate(topics):
        produce(lab, topic, range(number * count, number * count + count // 2))
    with foreign(out) as theirs:
        until(lambda: theirs, seconds=120, what="a foreign append")
        first = Alive(lab, sink(topics[0], out.as_uri(), **SMALL, **{"partition.by": "text"}), topics[0])
        second = Alive(lab, sink(topics[1], out, **SMALL), topics[1])
        for each in (first, second):
            each.reach(60)
        first.kill()  # in the middle of whatever it does
        for number, topic in enumerate(topics):
            produce(lab, topic, range(number * count + count // 2, (number + 1) * count))
        for each in (first, second):
            each.reach(count)
        for each in (first, second):
            each.task.stop()
    found = ids(out)
    missing = set(range(2 * count)) - set(found)
    assert not missing, f"{len(missing)} rows whose offsets are committed are absent, from {min(missing)} on"
    assert (first.failures, second.failures) == ([], [])
    assert len([n for n in found if n >= count]) == count  # of the one that nobody killed: each row once
    assert [line for line in theirs if not line.strip().isdigit()] == []
    assert {n for n in found if n < 0} == set(range(-int(theirs[-1]), 0))
    assert staged(out) == []


@as_root
def test_a_folder_without_the_right_to_write_is_named_with_its_property(lab: Lab, tmp_path: Path) -> None:
    topic, out = lab.topic(), tmp_path / "out"
    out.mkdir(mode=0o755)
    produce(lab, topic, range(3))
    task = lab.processes.task(lab.spec(sink(topic, out)), before=NOBODY)
    message = failed(task)
    assert f"cannot write to folder {out} of property `path`: folder " in message
    assert "cannot be created in it. The task needs permission" in message
    assert "grant it, or set `path` to a folder where it has that" in message
    assert list(out.iterdir()) == []
