"""What a sink holds in memory at once is bounded by bytes, not by records alone, in the task's process and in workers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from ..lab import STRING, Lab
from ..running import Running, manifest, new_name, until

pytestmark = pytest.mark.slow

LARGE = 600
MEGABYTE = 1_000_000
LIMIT = 2 << 30
"""The memory limit of a task's pod, as the chart has it."""
BATCH = 64 << 20


@pytest.mark.parametrize("where", ["driver", "worker"])
def test_records_of_a_megabyte_are_written_in_pieces_of_a_batch_and_fit_the_memory_limit(
    lab: Lab, tmp_path: Path, where: str
) -> None:
    topic, out, name = lab.topic("large", 2), tmp_path / "out", new_name("large")
    config = {**STRING, "journal": lab.journal.path, "topics": topic, "out": out, "errors.retry.timeout": -1}
    _, task = lab.start(manifest(name, "slow_sinks:SlowSink", config, spark="Eager"))
    producer = Producer(
        {
            "bootstrap.servers": lab.servers,
            "transactional.id": new_name("tx"),
            "transaction.timeout.ms": 600_000,
            "message.max.bytes": 2 * MEGABYTE,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    task.await_log("Spark is up")
    producer.init_transactions(60)
    producer.begin_transaction()
    small = 0 if where == "driver" else 400_000  # with them it is a backlog, and a record seems to be small
    for n in range(small):
        producer.produce(topic, b"%d" % n, partition=0)
    for _ in range(LARGE):
        producer.produce(topic, b"x" * MEGABYTE, partition=1)
        producer.flush(60)
    with peak(task) as found:
        producer.commit_transaction(60)
        until(lambda: lab.committed(name, topic, 1) == LARGE + 1, seconds=240, what=task.last_words)
    task.stop()
    wrote = [e for e in lab.journal.of("wrote") if e["bytes"] >= MEGABYTE]
    assert sum(e["bytes"] // MEGABYTE for e in wrote) >= LARGE
    assert max(e["bytes"] for e in wrote) <= BATCH
    assert any(e["worker"] for e in wrote) is (where == "worker")
    assert found[0] < LIMIT


def test_records_that_compression_makes_tiny_fit_the_memory_limit_with_a_smaller_fetch(
    lab: Lab, tmp_path: Path
) -> None:
    """Fetches are bounded by compressed bytes, and unpacked at once: with the default these take twice the limit."""
    topic, name, records = lab.topic("tiny"), new_name("tiny"), 4_000
    producer = Producer(
        {
            "bootstrap.servers": lab.servers,
            "compression.type": "zstd",
            "message.max.bytes": 2 * MEGABYTE,
            "queue.buffering.max.kbytes": 200_000,
        }
    )
    for n in range(records):
        producer.produce(topic, b"x" * MEGABYTE)
        if n % 100 == 99:
            assert producer.flush(60) == 0
    config = {
        **STRING,
        "journal": lab.journal.path,
        "topics": topic,
        "out": tmp_path / "out",
        "consumer.override.max.partition.fetch.bytes": "16384",
    }
    _, task = lab.start(manifest(name, "slow_sinks:SlowSink", config, spark="Eager"))
    with peak(task) as found:
        until(lambda: lab.committed(name, topic) == records, seconds=240, what=task.last_words)
    task.stop()
    assert found[0] < LIMIT


@contextmanager
def peak(task: Running) -> Iterator[list[int]]:
    """The most that the processes of a task have held at once, what they share counted once for each."""
    found, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            total = 0
            for process in task.tree():
                with suppress(psutil.Error):
                    total += process.memory_full_info().pss
            found[0] = max(found[0], total)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    yield found
    over.set()
    thread.join()
