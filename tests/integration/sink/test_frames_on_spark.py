"""Frames of a backlog whose rows Spark's workers make: each record once and in order, whatever happens to the workers."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from penstock_model.contracts.task_spec import TaskSpec

from ..lab import STRING, Lab, failed
from ..running import PATIENCE, Running, manifest, new_name, next_life, until

pytestmark = pytest.mark.slow

PARTITIONS: Final = 3
EACH: Final = 80_000
FIELDS: Final[dict[str, list[dict[str, Any]]]] = {
    "v1": [{"field": "p", "type": "int32"}, {"field": "id", "type": "int64"}],
    "v2": [{"field": "p", "type": "int32"}, {"field": "id", "type": "int64"}, {"field": "at", "type": "string"}],
}
COLUMNS: Final = {version: [field["field"] for field in fields] for version, fields in FIELDS.items()}


def message(partition: int, number: int, version: str = "v1") -> str:
    row = {"p": partition, "id": number, "at": "x"} if version == "v2" else {"p": partition, "id": number}
    return json.dumps({"schema": {"type": "struct", "fields": FIELDS[version]}, "payload": row})


class Backlog:
    """Records of which none is seen before all are there: each partition begins with one, with which Spark starts."""

    def __init__(self, lab: Lab, folder: Path, **config: Any) -> None:
        self.lab = lab
        self.topic = lab.topic("t", PARTITIONS)
        self.folder = folder
        given = {**STRING, "value.converter": "JsonConverter", "topics": self.topic, "folder": folder, **config}
        self.manifest = manifest(
            new_name("placed"), "frame_sinks:PlacingFrames", {"journal": lab.journal.path, **given}, spark="Eager"
        )
        self.ends = dict.fromkeys(range(PARTITIONS), 1)
        self.environment: dict[str, str] = {}

    def start(self, values: dict[int, list[str | None]]) -> Running:
        """Start the task, and show it the records once Spark is up."""
        for partition in range(PARTITIONS):
            self.lab.produce(self.topic, message(partition, -1), partition=partition)
        spec = self.spec()
        self.name, task = spec.connector, self.lab.processes.task(spec, env=self.environment)
        task.await_log("Spark is up", seconds=2 * PATIENCE)
        for partition in range(PARTITIONS):
            self.lab.wait_committed(self.name, self.topic, 1, partition)
        self.fill(values)
        return task

    def spec(self) -> TaskSpec:
        """Of the task."""
        return self.lab.spec(self.manifest)

    def fill(self, values: dict[int, list[str | None]]) -> None:
        """In one transaction."""
        producer = Producer(
            {"bootstrap.servers": self.lab.servers, "transactional.id": new_name(), "linger.ms": 20}
            | {"queue.buffering.max.messages": 1_000_000, "transaction.timeout.ms": 120_000}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        for partition, of in values.items():
            for value in of:
                producer.produce(self.topic, value, partition=partition)
                producer.poll(0)
            self.ends[partition] += len(of) + 1  # the transaction's marker
        producer.flush(60)
        producer.commit_transaction(60)

    def wait(self, task: Running) -> None:
        """Until all is committed."""
        until(lambda: task.last("lag") == 0, what=task.last_words, seconds=6 * PATIENCE)
        for partition, end in self.ends.items():
            self.lab.wait_committed(self.name, self.topic, end, partition)

    @property
    def frames(self) -> list[Any]:
        """Those that are stored: columns, and the rows of each of Spark's partitions."""
        return list(json.loads((self.folder / "stored.json").read_text())["frames"])

    def ids(self, partition: int) -> list[int]:
        """What is stored of a partition, in order, from its first record in a backlog on; one place of Spark's a frame."""
        found: list[int] = []
        for frame in self.frames:
            holding = [ids for place in frame["places"] if (ids := [i for p, i in place if p == partition])]
            assert len(holding) <= 1
            found += holding[0] if holding else []
        return found


def plain(each: int = EACH) -> dict[int, list[str | None]]:
    return {p: [message(p, n) for n in range(each)] for p in range(PARTITIONS)}


def test_a_backlog_comes_in_frames_that_hold_each_partition_in_one_place_and_in_order(lab: Lab, tmp_path: Path) -> None:
    backlog = Backlog(lab, tmp_path)
    task = backlog.start(plain())
    backlog.wait(task)
    task.stop()
    assert task.last("spark_batches") > 0
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(EACH)]
    count = PARTITIONS * (EACH + 1)
    assert [task.last(what) for what in ("read", "written", "failures", "dropped")] == [count, count, 0, 0]
    assert max(len(frame["places"]) for frame in backlog.frames) > 1


def test_where_order_does_not_matter_one_partition_is_made_by_several_workers(lab: Lab, tmp_path: Path) -> None:
    backlog = Backlog(lab, tmp_path, ordered="false")
    task = backlog.start({0: [message(0, n) for n in range(PARTITIONS * EACH)]})
    backlog.ends = {0: backlog.ends[0], 1: 1, 2: 1}
    backlog.wait(task)
    task.stop()
    rows = [row for frame in backlog.frames for place in frame["places"] for row in place]
    assert sorted(n for p, n in rows if p == 0) == [-1, *range(PARTITIONS * EACH)]
    assert max(len(frame["places"]) for frame in backlog.frames) > 1
    assert task.last("spark_batches") > 0


def test_a_schema_that_changes_amid_a_backlog_cuts_frames_and_no_order(lab: Lab, tmp_path: Path) -> None:
    def version(number: int) -> str:
        return "v2" if EACH // 3 <= number < EACH // 2 else "v1"

    backlog = Backlog(lab, tmp_path)
    task = backlog.start({p: [message(p, n, version(n)) for n in range(EACH)] for p in range(PARTITIONS)})
    backlog.wait(task)
    task.stop()
    assert task.last("spark_batches") > 0
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(EACH)]
    for frame in backlog.frames:
        ids = [i for place in frame["places"] for _, i in place]
        assert {version(i) for i in ids} == {"v2" if frame["columns"] == COLUMNS["v2"] else "v1"}


def test_records_that_fail_amid_a_backlog_are_buried_once(lab: Lab, tmp_path: Path) -> None:
    dlq = lab.topic("dlq")
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dlq}
    backlog = Backlog(lab, tmp_path, **tolerant)
    values = plain()
    for n in range(5):
        values[1][1_000 * n + 7] = f"bad{n}"
    task = backlog.start(values)
    backlog.wait(task)
    task.stop()
    assert sorted(lab.values(dlq)) == [f"bad{n}" for n in range(5)]
    bad = {1_000 * n + 7 for n in range(5)}
    assert backlog.ids(1) == [-1, *(n for n in range(EACH) if n not in bad)]
    read = PARTITIONS * (EACH + 1)
    assert [task.last(what) for what in ("read", "written", "failures", "dropped")] == [read, read - 5, 5, 0]
    assert task.last("spark_batches") > 0


def test_schemas_that_alternate_amid_a_backlog_are_left_to_the_driver_in_order_and_once(
    lab: Lab, tmp_path: Path
) -> None:
    dlq = lab.topic("dlq")
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dlq, "batch.max.ms": "500"}
    backlog = Backlog(lab, tmp_path, **tolerant)
    values = plain()
    values[0][100:160] = [message(0, n, "v1" if n % 2 else "v2") for n in range(100, 160)]
    values[0][130] = "bad"
    task = backlog.start(values)
    backlog.wait(task)
    task.stop()
    assert task.last("spark_batches") > 0
    assert backlog.ids(0) == [-1, *range(130), *range(131, EACH)]
    assert backlog.ids(1) == backlog.ids(2) == [-1, *range(EACH)]
    assert lab.values(dlq) == ["bad"]
    read = PARTITIONS * (EACH + 1)
    assert [task.last(what) for what in ("read", "written", "failures", "dropped")] == [read, read - 1, 1, 0]


@pytest.mark.parametrize(
    ("value", "error"),
    [(None, "cannot make a row of a tombstone"), ("[", "Tolerance exceeded in error handler")],
)
def test_what_cannot_become_a_row_fails_the_task_and_nothing_behind_it_is_committed(
    lab: Lab, tmp_path: Path, value: str | None, error: str
) -> None:
    backlog = Backlog(lab, tmp_path)
    values = plain()
    values[1][EACH // 2] = value
    task = backlog.start(values)
    assert error in failed(task)
    committed = lab.committed(backlog.name, backlog.topic, 1)
    assert committed is not None
    assert committed <= EACH // 2 + 1
    assert backlog.ids(1) == [-1, *range(committed - 1)]


def test_a_frame_that_asks_to_wait_is_given_again_and_nothing_is_recreated(lab: Lab, tmp_path: Path) -> None:
    backlog = Backlog(lab, tmp_path, waits="3")
    task = backlog.start(plain())
    backlog.wait(task)
    task.stop()
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(EACH)]
    assert [task.last("read"), task.last("written")] == 2 * [PARTITIONS * (EACH + 1)]


@pytest.mark.parametrize("moment", ["rows", "SIGKILL", "SIGSTOP"])
def test_a_worker_that_ends_or_stops_as_it_makes_rows_or_a_frame_loses_and_doubles_nothing(
    lab: Lab, tmp_path: Path, moment: str
) -> None:
    """What the sink makes final with the commit alone is there once, though the batch comes again."""
    mark = tmp_path / "ended"
    config: dict[str, Any] = {}
    if moment == "rows":
        config |= {"transforms": "kill", "transforms.kill.type": "frame_sinks:Deadly", "transforms.kill.mark": mark}
        config["transforms.kill.id"] = 1_000
    else:
        config["ends"] = moment
    backlog = Backlog(lab, tmp_path, **config)
    task = backlog.start(plain())
    said = "A process of Spark was stopped" if moment == "SIGSTOP" else "A Spark worker was lost"
    task.await_log(said, seconds=4 * PATIENCE)
    backlog.wait(task)
    task.stop()
    assert mark.exists()
    assert task.last("spark_batches") > 0
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(EACH)]


def test_workers_and_tasks_that_are_killed_at_any_moment_lose_and_double_nothing_of_a_sink_that_stores_offsets(
    lab: Lab, tmp_path: Path
) -> None:
    backlog = Backlog(lab, tmp_path, stores="true")
    task = backlog.start(plain())
    task.await_batch_on_spark()
    for process in task.workers()[:1]:
        process.kill()
    frames = len(lab.journal.of("frame"))
    lab.journal.count("frame", frames + 1, seconds=4 * PATIENCE)
    task.kill_all()
    again = lab.processes.task(next_life(lab.spec(backlog.manifest)))
    backlog.wait(again)
    again.stop()
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(EACH)]


@pytest.fixture
def small() -> Iterator[Path]:
    """A device of 60 MB, for what Spark keeps."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-small-"))
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", str(folder)], check=False, capture_output=True, text=True
    )
    if mounting.returncode:
        pytest.skip(f"no small device can be mounted here: {mounting.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


def test_a_full_folder_of_sparks_is_named_and_the_batch_comes_again(lab: Lab, tmp_path: Path, small: Path) -> None:
    backlog = Backlog(lab, tmp_path)
    backlog.environment = {"TMPDIR": str(small)}
    task = backlog.start({})
    ballast = small / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65_536))
    os.truncate(ballast, ballast.stat().st_size - 100_000)  # room for what the driver writes, and for few rows
    backlog.fill(plain())
    task.await_log("Retrying: Spark's folder is full")
    ballast.unlink()
    backlog.wait(task)
    task.stop()
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(EACH)]


def test_a_stop_amid_a_backlog_commits_what_is_written_and_the_next_life_continues_there(
    lab: Lab, tmp_path: Path
) -> None:
    backlog = Backlog(lab, tmp_path, **{"consumer.override.max.poll.records": "20000"})
    task = backlog.start(plain())
    task.await_batch_on_spark()
    task.stop()
    half = [lab.committed(backlog.name, backlog.topic, p) for p in range(PARTITIONS)]
    assert any(offset is not None and offset < EACH for offset in half)
    assert [len(backlog.ids(p)) for p in range(PARTITIONS)] == half
    again = lab.processes.task(next_life(lab.spec(backlog.manifest)))
    backlog.wait(again)
    again.stop()
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(EACH)]
