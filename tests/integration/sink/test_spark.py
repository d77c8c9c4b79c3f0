"""Sinks on Spark: a backlog, frames into Parquet."""

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.process.cgroup import cpu_limit

from ..lab import STRING, Lab, failed
from ..reading import produce
from ..running import manifest, new_name, until

BACKLOG = 150_000


@pytest.mark.parametrize("transactional", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_backlog_is_written_by_spark_once_and_in_order(lab: Lab, tmp_path: Path, transactional: bool) -> None:
    topic, empty, out = lab.topic("t", 3), lab.topic("empty"), tmp_path / "out.txt"
    expected = {p: fill(lab, topic, p, BACKLOG // 2, transactional=transactional) for p in range(2)}  # 2 stays empty
    name, task = lab.sink(f"{topic},{empty}", out=str(out), slow=1.0, **{"consumer.override.max.poll.records": "1000"})
    for partition, offsets in expected.items():
        lab.wait_committed(name, topic, offsets[-1] + 1 + transactional, partition)
    task.await_event(lambda e: e["event"] == "progress" and e.get("lag") == 0)
    workers = task.last("spark_workers")
    task.stop()

    written: dict[int, list[int]] = defaultdict(list)
    for line in out.read_text().splitlines():
        _, of, offset = line.split()
        written[int(of)].append(int(offset))
    assert dict(written) == expected
    assert task.last("spark_batches") > 0
    assert len({e["process"] for e in lab.journal.of("wrote")}) > 1
    assert workers == (cpu_limit() or 2)


@pytest.mark.slow
@pytest.mark.parametrize("transactional", [False, True])
def test_a_backlog_of_one_partition_is_staged_in_parts_and_is_in_the_file_once_and_in_order(
    lab: Lab, tmp_path: Path, transactional: bool
) -> None:
    topic, out, name = lab.topic(), tmp_path / "out.txt", new_name("staged")
    lab.produce(topic, "first")
    with gate(lab, topic):
        _, task = lab.start(manifest(name, "FileStreamSink", {**STRING, "topics": topic, "file": out}, spark="Eager"))
        task.await_log("Spark is up")
        shown = fill(lab, topic, 0, 2 * BACKLOG, transactional=transactional)
    markers = 1 + (2 * BACKLOG // 2_500 if transactional else 0)
    lab.wait_committed(name, topic, 2 + 2 * BACKLOG + markers)
    task.stop()
    numbers = [o % 2_501 for o in shown] if transactional else shown  # as `fill` wrote them, with a marker after 2,500
    assert out.read_text().splitlines() == ["first", "gate", *map(str, numbers)]
    task.await_batch_on_spark()


@contextmanager
def gate(lab: Lab, topic: str) -> Iterator[None]:
    """What is written meanwhile can be read afterwards, all at once: a transaction before it is open."""
    producer = Producer({"bootstrap.servers": lab.servers, "transactional.id": new_name("gate")})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, "gate", partition=0)
    producer.flush(30)
    yield
    producer.commit_transaction(30)


def fill(lab: Lab, topic: str, partition: int, count: int, *, transactional: bool) -> list[int]:
    """Small records; in transactions of a thousand, every fifth of which is aborted. The offsets of those that show."""
    config = {
        "bootstrap.servers": lab.servers,
        "linger.ms": 20,
        "batch.num.messages": 10_000,
        "queue.buffering.max.messages": 1_000_000,
    }
    producer = Producer({**config, **({"transactional.id": new_name("tx")} if transactional else {})})
    if not transactional:
        for n in range(count):
            producer.produce(topic, str(n), partition=partition)
        assert producer.flush(60) == 0
        return list(range(count))
    producer.init_transactions(30)
    shown: list[int] = []
    for start in range(0, count, 2_500):
        producer.begin_transaction()
        base = start + start // 2_500  # one marker for each transaction before
        for n in range(2_500):
            producer.produce(topic, str(n), partition=partition)
        producer.flush(60)
        if start // 2_500 % 5 == 2:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
            shown += range(base, base + 2_500)
    return shown


@pytest.mark.slow
def test_values_with_a_schema_become_parquet_and_those_without_are_refused(lab: Lab, tmp_path: Path) -> None:
    topic, out, name = lab.topic(), tmp_path / "out", new_name("parquet")
    schema = {"type": "struct", "fields": [{"field": "id", "type": "int32"}, {"field": "text", "type": "string"}]}
    lab.produce(topic, *(json.dumps({"schema": schema, "payload": {"id": n, "text": f"t{n}"}}) for n in range(10)))
    config = {**STRING, "value.converter": "JsonConverter", "topics": topic, "path": str(out)}
    resource = manifest(name, "SparkSink", config)
    _, task = lab.start(resource)
    lab.wait_committed(name, topic, 10)
    rows = [r for f in sorted(out.glob("*.parquet")) for r in pq.read_table(f).to_pylist()]
    assert sorted(rows, key=lambda r: r["id"]) == [{"id": n, "text": f"t{n}"} for n in range(10)]
    lab.produce(topic, json.dumps({"schema": {"type": "string"}, "payload": "alone"}))
    lab.wait_committed(name, topic, 11)
    found = until(lambda: [f for f in out.glob("*.parquet") if pq.read_schema(f).names == ["value"]])
    assert [r for f in found for r in pq.read_table(f).to_pylist()] == [{"value": "alone"}]

    lab.produce(topic, None)
    assert "cannot make a row of a tombstone" in failed(task)
    assert lab.committed(name, topic) == 11


@pytest.mark.slow
def test_a_jvm_that_dies_under_a_frame_is_lost_and_no_fault_of_the_plugin(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a")
    config = {**STRING, "topics": topic, "journal": lab.journal.path, "kill": "true"}
    _, task = lab.start(manifest(new_name("killed"), "storing_sinks:CountingFrames", config))
    assert task.await_exit() == ExitCode.LOST, task.last_words()
    assert task.failure == "Spark's JVM is gone"


@pytest.mark.slow
def test_records_that_trickle_are_gathered_into_few_files(lab: Lab, tmp_path: Path) -> None:
    topic, out, name = lab.topic(), tmp_path / "out", new_name("gathered")
    config = {**STRING, "topics": topic, "path": str(out), "batch.max.ms": "3000"}
    _, task = lab.start(manifest(name, "SparkSink", config))
    for n in range(30):
        lab.produce(topic, f"t{n}")  # each is acknowledged before the next is sent
    lab.wait_committed(name, topic, 30)
    task.stop()
    files = list(out.glob("*.parquet"))
    assert sum(pq.read_table(f).num_rows for f in files) == 30
    assert len(files) <= 6  # one frame may be two files, for two cores; one record each would be thirty


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "most"),
    [
        ({"batch.max.records": "1000"}, 1000),
        ({"batch.max.bytes": "300000"}, 310),
        ({"consumer.override.max.poll.records": "700"}, 700),
    ],
)
def test_a_frame_holds_no_more_than_a_batch_may_though_much_more_waits(
    lab: Lab, limit: dict[str, str], most: int
) -> None:
    topic, name = lab.topic(), new_name("frames")
    produce(lab.servers, topic, (b"x" * 1000 for _ in range(4000)))
    config = {**STRING, "topics": topic, "journal": lab.journal.path, **limit}
    _, task = lab.start(manifest(name, "storing_sinks:CountingFrames", config))
    lab.wait_committed(name, topic, 4000)
    task.stop()
    rows = [e["rows"] for e in lab.journal.of("frame")]
    assert sum(rows) == 4000
    assert most // 2 < max(rows) <= most
