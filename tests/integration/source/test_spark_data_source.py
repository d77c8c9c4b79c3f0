"""A data source written for PySpark with several partitions: a backlog is read in parallel, each row once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock_model.contracts.task_spec import TaskSpec

from ..checking import assert_counts_up, seeded
from ..holding import Hold
from ..lab import Lab, failed
from ..reading import Read, Reader
from ..running import PLUGINS, Running, manifest, new_name, next_life, until

pytestmark = pytest.mark.slow

SPANS = 8


@dataclass
class Wide:
    """A connector of `wide_data_source`, and what its reader finds outside."""

    lab: Lab
    folder: Path
    topic: str
    resource: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.resource["metadata"]["name"])

    def there_are(self, rows: int, spans: int = SPANS) -> None:
        """Rows are there, and a batch of them has so many partitions."""
        for file, number in (("count", rows), ("spans", spans)):
            (self.folder / f"{file}.new").write_text(str(number))
            (self.folder / f"{file}.new").rename(self.folder / file)

    def offsets(self) -> dict[str, Any]:
        """The live offsets: of the parts by their numbers, the source's own as `own`."""
        found: dict[str, Any] = {}
        for record in self.lab.offset_records(self.name):
            partition = json.loads(record.key or b"")[1]
            found[str(partition.get("part", "own"))] = None if record.value is None else json.loads(record.value)
        return {name: offset for name, offset in found.items() if offset is not None}

    def parts(self) -> list[str]:
        """The numbers of the parts that have an offset."""
        return sorted(self.offsets().keys() - {"own"})

    def commits(self) -> list[int]:
        """What the reader was told to be committed."""
        return [int(line) for line in (self.folder / "commits").read_text().split()]

    def penstock(self, verb: str, *arguments: str, stdin: str = "") -> str:
        """`penstock offsets`; what it prints."""
        file = self.folder / "connector.yaml"
        file.write_text(json.dumps(self.resource))
        command = [sys.executable, "-m", "penstock_cli", "offsets", verb, str(file)]
        done = subprocess.run(
            [*command, "--bootstrap-servers", self.lab.servers, *arguments],
            input=stdin, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(PLUGINS)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def alter(self, entries: Iterable[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> None:
        """Set offsets, after a kill. A task of an earlier plan is superseded then."""
        document = json.dumps({"offsets": [{"partition": p, "offset": o} for p, o in entries]})
        self.penstock("alter", "--offsets", "-", "--yes", "--force", stdin=document)


@pytest.fixture
def wide(lab: Lab, tmp_path: Path) -> Wide:
    return connector(lab, tmp_path)


def connector(lab: Lab, folder: Path, **config: Any) -> Wide:
    topic = lab.topic()
    given = {
        "data.source": "wide_data_source:Wide", "option.folder": folder, "option.batch": 200, "batch.max.records": 200,
        "topic": topic, "value.converter": "JsonConverter", "value.converter.schemas.enable": "false", **config,
    }  # fmt: skip
    made = Wide(lab, folder, topic, manifest(new_name("wide"), "SparkDataSource", given, spark="Eager"))
    made.there_are(0)
    return made


def rows(records: Iterable[Read]) -> list[dict[str, Any]]:
    return [json.loads(record.value or b"") for record in records]


def assert_each_once_and_spans_in_order(records: Iterable[Read], count: int) -> None:
    found, spans = rows(records), dict[str, list[int]]()
    assert_counts_up(sorted(row["n"] for row in found), "the topic")
    assert len(found) == count
    for row in found:
        spans.setdefault(row["span"], []).append(row["n"])
    for span, numbers in spans.items():
        first, end = map(int, span.split("-"))
        assert numbers == list(range(first, end)), f"span {span}"


def start(wide: Wide, spec: TaskSpec, rows: int) -> Running:
    """A task that finds so many rows once Spark is up, which a backlog would not wait for."""
    task = wide.lab.processes.task(spec)
    task.await_log("Spark is up")
    wide.there_are(rows)
    return task


def await_held_round(wide: Wide, task: Running, hold: Hold, number: int) -> None:
    """Wait until a worker waits after the rows of a span, and another one has committed parts of the same round."""
    task.await_batch_on_spark()
    hold.on([number])
    assert int(hold.await_reader(number)) != task.pid
    until(lambda: len(wide.parts()) == SPANS // 2, what=lambda: f"{wide.offsets()}\n{task.last_words()}")


def killed_amid_a_round(wide: Wide, hold: Hold, count: int, spec: TaskSpec | None = None, number: int = 3) -> TaskSpec:
    """The spec of the next life of a task that was killed when half of the parts of a round were committed."""
    spec = spec or wide.lab.spec(wide.resource)
    task = start(wide, spec, count)
    await_held_round(wide, task, hold, number)
    task.kill_all()
    release(hold)
    return next_life(spec)


def release(hold: Hold) -> None:
    """Let no reader wait any more, and forget which ones did."""
    for file in [*hold.path.parent.glob("hold.*"), hold.path]:
        file.unlink()


def test_two_workers_read_a_backlog_each_in_transactions_of_its_own(wide: Wide) -> None:
    task = start(wide, wide.lab.spec(wide.resource), 30_000)
    with Reader(wide.lab.servers, wide.topic) as reader:
        reader.count(30_000)
        until(lambda: wide.offsets() == {"own": {"row": 30_000}}, what=lambda: f"{wide.offsets()}\n{task.last_words()}")
        until(lambda: wide.commits()[-1] == 30_000, what=task.last_words)
        task.stop()
        records = reader.to_end()
    assert_each_once_and_spans_in_order(records, 30_000)
    readers = {row["pid"] for row in rows(records)} - {task.pid}
    assert len(readers) >= 2
    assert len({i for i in wide.lab.transactional_ids("") if f"-{wide.name}-0/" in i}) >= 2
    # Once it has grown, the size of batches stays: those without records, which end rounds, say nothing of it.
    by_workers = [row["pid"] in readers for row in rows(records)]
    assert all(by_workers[by_workers.index(True) :])
    assert wide.commits() == sorted(set(wide.commits())), "the reader is told of each offset once, and never too early"


def test_a_task_that_is_killed_amid_rounds_again_and_again_leaves_each_row_once(wide: Wide, tmp_path: Path) -> None:
    hold, count = Hold(tmp_path), 8_000
    spec = killed_amid_a_round(wide, hold, 6_000)
    assert wide.commits()[-1] == wide.offsets()["own"]["row"]
    left = SPANS // 2
    for among in (range(SPANS), [3]):  # the parts that are left are read one by one now
        hold.on(among)
        task = wide.lab.processes.task(spec)
        until(lambda: list(tmp_path.glob("hold.*")), what=task.last_words)
        task.kill_all()
        release(hold)
        assert 0 < SPANS - len(wide.parts()) <= left
        left, spec = SPANS - len(wide.parts()), next_life(spec)
    spec = killed_amid_a_round(wide, hold, count, spec, number=6)
    task = wide.lab.processes.task(spec)
    with Reader(wide.lab.servers, wide.topic) as reader:
        reader.count(count)
        until(lambda: wide.offsets() == {"own": {"row": count}}, what=lambda: f"{wide.offsets()}\n{task.last_words()}")
        task.stop()
        assert_each_once_and_spans_in_order(reader.to_end(), count)


def test_a_worker_that_is_killed_after_another_has_committed_doubles_nothing(wide: Wide, tmp_path: Path) -> None:
    hold, count = Hold(tmp_path), 6_000
    task = start(wide, wide.lab.spec(wide.resource), count)
    await_held_round(wide, task, hold, 5)
    os.kill(int(hold.waiting_process(5)), signal.SIGKILL)
    release(hold)
    task.await_log("A Spark worker was lost")
    with Reader(wide.lab.servers, wide.topic) as reader:
        reader.count(count)
        task.stop()
        assert_each_once_and_spans_in_order(reader.to_end(), count)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victim", ["task", "worker", "jvm"])
def test_kills_at_any_moment_of_rounds_leave_each_row_once(wide: Wide, victim: str, rounds: int) -> None:
    random, count, spec = seeded(), 0, wide.lab.spec(wide.resource)
    task = start(wide, spec, count)
    with Reader(wide.lab.servers, wide.topic) as reader:
        for _ in range(rounds):
            batches = task.last("spark_batches") or 0
            count += 20_000
            wide.there_are(count)
            until(lambda: (task.last("spark_batches") or 0) > batches, what=task.last_words)  # noqa: B023
            reader.to_end()
            reader.count(min(count, len(reader.records) + random.randrange(1, 4_000)))
            if victim == "worker":
                random.choice(until(lambda: [*task.workers(), *task.daemons()])).kill()  # noqa: B023
                continue
            if victim == "task":
                task.kill_all()
            else:
                task.jvms()[0].kill()
                assert task.await_exit() == 4
            spec = next_life(spec)
            task = wide.lab.processes.task(spec)
            task.await_log("Spark is up")
        reader.count(count)
        until(lambda: wide.offsets() == {"own": {"row": count}}, what=lambda: f"{wide.offsets()}\n{task.last_words()}")
        task.stop()
        assert_each_once_and_spans_in_order(reader.to_end(), count)


def test_other_partitions_for_the_same_offsets_fail_the_task_until_they_are_those_of_before(
    wide: Wide, tmp_path: Path
) -> None:
    hold, count = Hold(tmp_path), 4_000
    spec = killed_amid_a_round(wide, hold, count)
    before, own = wide.lab.values(wide.topic), wide.offsets()["own"]["row"]
    wide.there_are(count, spans=SPANS - 1)
    message = failed(wide.lab.processes.task(spec))
    assert "wide_data_source:Wide returns different partitions than before for the same offsets" in message
    assert f"4 of 8 parts of the rows from {{'row': {own}}} to {{'row': {own + 200}}} are in Kafka" in message
    assert wide.lab.values(wide.topic) == before
    wide.there_are(count)
    task = wide.lab.processes.task(next_life(spec))
    with Reader(wide.lab.servers, wide.topic) as reader:
        reader.count(count)
        task.stop()
        assert_each_once_and_spans_in_order(reader.to_end(), count)


def test_where_the_offsets_of_parts_are_removed_their_round_is_read_again(wide: Wide, tmp_path: Path) -> None:
    """What the message of the test above advises."""
    hold, count = Hold(tmp_path), 4_000
    killed_amid_a_round(wide, hold, count)
    read = [row["n"] for row in rows(wide.lab.records(wide.topic))]
    own = wide.offsets()["own"]["row"]
    assert len([n for n in read if n >= own]) == 100
    wide.there_are(count, spans=SPANS - 1)
    wide.alter(({"source": "wide_data_source:Wide", "part": int(part)}, None) for part in wide.parts())
    task = wide.lab.processes.task(wide.lab.spec(wide.resource))
    with Reader(wide.lab.servers, wide.topic) as reader:
        reader.count(count + 100)
        task.stop()
        found = sorted(row["n"] for row in rows(reader.to_end()))
    assert found == sorted([*range(count), *(n for n in read if n >= own)])


def test_parts_are_listed_put_back_and_count_no_more_where_the_sources_offset_is_set(
    wide: Wide, tmp_path: Path
) -> None:
    killed_amid_a_round(wide, Hold(tmp_path), 10_000)
    before, listed = wide.offsets(), wide.penstock("list", "--output", "json")
    assert len(json.loads(listed)["offsets"]) == 1 + SPANS // 2
    wide.penstock("alter", "--offsets", "-", "--yes", "--force", stdin=listed)
    assert wide.offsets() == before
    old = len(wide.lab.records(wide.topic))
    wide.alter([({"source": "wide_data_source:Wide"}, {"row": 9_000})])
    task = wide.lab.processes.task(wide.lab.spec(wide.resource))
    with Reader(wide.lab.servers, wide.topic) as reader:
        reader.count(old + 1_000)
        until(lambda: wide.offsets() == {"own": {"row": 10_000}}, what=lambda: f"{wide.offsets()}\n{task.last_words()}")
        task.stop()
        assert sorted(row["n"] for row in rows(reader.to_end()[old:])) == list(range(9_000, 10_000))


def test_after_a_reset_amid_a_round_all_rows_come_again(wide: Wide, tmp_path: Path) -> None:
    killed_amid_a_round(wide, Hold(tmp_path), 4_000)
    old = len(wide.lab.records(wide.topic))
    wide.penstock("reset", "--yes", "--force")
    assert wide.offsets() == {}
    task = wide.lab.processes.task(wide.lab.spec(wide.resource))
    with Reader(wide.lab.servers, wide.topic) as reader:
        reader.count(old + 4_000)
        task.stop()
        assert sorted(row["n"] for row in rows(reader.to_end()[old:])) == list(range(4_000))


def test_a_trickle_is_one_transaction_of_all_partitions_in_their_order(wide: Wide) -> None:
    task = start(wide, wide.lab.spec(wide.resource), 0)
    with Reader(wide.lab.servers, wide.topic) as reader:
        for count in range(16, 161, 16):
            wide.there_are(count)
            reader.count(count)
        task.stop()
        records = reader.to_end()
    assert [row["n"] for row in rows(records)] == list(range(160))
    assert {row["pid"] for row in rows(records)} == {task.pid}
    assert [json.loads(r.key or b"")[1] for r in wide.lab.offset_records(wide.name)] == [
        {"source": "wide_data_source:Wide"}
    ] * 10


def test_at_least_once_a_kill_amid_a_round_loses_no_row(lab: Lab, tmp_path: Path) -> None:
    wide, hold = connector(lab, tmp_path, **{"delivery.guarantee": "at-least-once"}), Hold(tmp_path)
    spec = lab.spec(wide.resource)
    task = start(wide, spec, 5_000)
    task.await_batch_on_spark()
    hold.on([3])
    hold.await_reader(3)
    task.kill_all()
    release(hold)
    task = lab.processes.task(next_life(spec))
    until(lambda: wide.offsets() == {"own": {"row": 5_000}}, what=lambda: f"{wide.offsets()}\n{task.last_words()}")
    task.stop()
    found = [row["n"] for row in rows(lab.records(wide.topic))]
    assert set(found) == set(range(5_000))
    assert len(found) <= 5_200
