"""Thousands of source partitions in one task: dealt to Spark's workers, one transaction for each of them."""

from pathlib import Path

import pytest

from ..checking import assert_counts_up
from ..holding import Hold
from ..lab import Lab
from ..reading import Read, Reader, read_all
from ..running import manifest, new_name

pytestmark = pytest.mark.slow

SPREAD = 4


def assert_each_once(records: list[Read], partitions: int) -> None:
    found: dict[int, list[int]] = {}
    for r in records:
        of, _, number = (r.value or b"").decode().partition(":")
        assert int(of) % SPREAD == r.partition
        found.setdefault(int(of), []).append(int(number))
    assert len(found) == partitions
    for source, numbers in found.items():
        assert_counts_up(numbers, f"source partition {source}")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("partitions", [3_000, 8_000])
def test_thousands_of_source_partitions_are_a_transaction_for_each_worker_also_when_one_is_killed(
    lab: Lab, tmp_path: Path, partitions: int
) -> None:
    topic, hold = lab.topic("many", SPREAD), Hold(tmp_path)
    config = {"value.converter": "StringConverter", "hold": hold.path, "batch.max.records": "32000"}
    name, task = lab.start(
        manifest(
            new_name(),
            "numbers_source:Numbers",
            config,
            topic=topic,
            partitions=partitions,
            spread=SPREAD,
            spark="Eager",
        )
    )
    task.await_event(lambda e: e.get("spark_batches", 0) > 0, seconds=200)
    hold.on([7])
    victim = hold.await_reader(7)
    next(p for p in task.workers() if p.pid == victim).kill()
    task.await_log("A Spark worker was lost")
    hold.off()
    with Reader(lab.servers, topic) as reader:
        reader.count(len(reader.to_end()) + 3 * partitions, seconds=200)
        task.stop()
        records = reader.to_end()
    assert_each_once(records, partitions)
    # An offset without a record is a transaction's marker; what the lost worker's batch had written lies there aborted.
    written = [r.offset for r in read_all(lab.servers, topic, isolation="read_uncommitted") if r.partition == 0]
    assert max(written) + 1 - len(written) < partitions // 8
    assert len({r.key for r in lab.offset_records(name)}) == partitions
