"""Sinks that are slow, or whose outside is away, with a backlog for Spark's workers: what is written is kept."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from ..lab import STRING, Lab
from ..reading import produce
from ..running import Running, manifest, new_name, until

pytestmark = pytest.mark.slow

BACKLOG = 150_000
FAST_ENOUGH = 240.0
"""Seconds for a backlog, on a machine that is busy."""


def start(lab: Lab, topic: str, out: Path, **config: Any) -> tuple[str, Running]:
    given = {**STRING, "journal": lab.journal.path, "topics": topic, "out": out, **config}
    return lab.start(manifest(new_name("slow"), "slow_sinks:SlowSink", given, spark="Eager"))


def backlog(lab: Lab, partitions: int = 1, count: int = BACKLOG) -> str:
    topic = lab.topic("t", partitions)
    for partition in range(partitions):
        produce(lab.servers, topic, (b"%d" % n for n in range(count // partitions)), partition=partition)
    return topic


def hidden(lab: Lab, partitions: int, count: int) -> tuple[str, Callable[[], None]]:
    """A backlog in a transaction that is still open, and what commits it: a marker lies behind each partition's records."""
    topic = lab.topic("t", partitions)
    producer = Producer(
        {
            "bootstrap.servers": lab.servers,
            "transactional.id": new_name("tx"),
            "transaction.timeout.ms": 600_000,
            "linger.ms": 20,
            "batch.num.messages": 10_000,
            "queue.buffering.max.messages": 2_000_000,
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    for n in range(count):
        producer.produce(topic, b"%d" % (n // partitions), partition=n % partitions)
    producer.flush(120)
    return topic, lambda: producer.commit_transaction(60)


def written(out: Path) -> dict[int, list[int]]:
    """The offsets of each partition, as they were written."""
    found: dict[int, list[int]] = defaultdict(list)
    for line in out.read_text().splitlines() if out.exists() else ():
        partition, offset = map(int, line.split())
        found[partition].append(offset)
    return found


def by_spark(lab: Lab) -> list[dict[str, Any]]:
    return [e for e in lab.journal.of("wrote") if e["worker"]]


@pytest.mark.parametrize(("each", "enough"), [(0.01, 1_500), (0.2, 50)])
def test_a_slow_sink_with_a_backlog_commits_as_it_goes_and_writes_nothing_twice(
    lab: Lab, tmp_path: Path, each: float, enough: int
) -> None:
    topic, out = backlog(lab, 3), tmp_path / "out"
    name, task = start(
        lab, topic, out, each=each, **{"consumer.override.max.poll.interval.ms": 20_000, "batch.max.ms": 4_000}
    )
    task.await_batch_on_spark()
    seen: set[int] = set()

    def committed() -> int:
        total = sum(lab.committed(name, topic, p) or 0 for p in range(3))
        seen.add(total)
        return total

    until(
        lambda: committed() >= enough and len(seen) >= 4 and sum(e["records"] for e in by_spark(lab)) >= enough,
        seconds=FAST_ENOUGH,
        what=lambda: f"progress, but {sorted(seen)}\n{task.last_words()}",
    )
    task.stop()
    offsets = written(out)
    assert len(offsets) == 3  # none of them waits until another is done
    for partition, found in offsets.items():
        assert found == list(range(len(found)))
        assert lab.committed(name, topic, partition) == len(found)
    assert "Retrying" not in task.log_text()


@pytest.mark.parametrize("where", ["transform", "writer"])
def test_an_external_system_that_is_unavailable_for_longer_than_any_worker_may_wait_ends_as_a_delay(
    lab: Lab, tmp_path: Path, where: str
) -> None:
    (topic, show), out, away = hidden(lab, 2, 400_000), tmp_path / "out", tmp_path / "away"
    config: dict[str, Any] = {
        "consumer.override.max.poll.interval.ms": 2_000,
        "batch.max.ms": 1_000,
        "errors.retry.timeout": -1,
        "errors.retry.delay.max.ms": 1_000,
        "each": 0.00005,
    }
    if where == "writer":
        config["away"] = away
    else:
        config |= {"transforms": "ask", "transforms.ask.type": "slow_sinks:Lookup", "transforms.ask.away": away}
    name, task = start(lab, topic, out, **config)
    task.await_log("Spark is up")
    show()
    until(lambda: by_spark(lab), what="a write in a worker")
    away.touch()
    until(lambda: "away" in (task.trouble or "") and "retried" in (task.trouble or ""), what=lambda: str(task.trouble))
    known = sum(len(found) for found in written(out).values())
    until(lambda: "attempt 6" in (task.trouble or ""), what=lambda: str(task.trouble))  # longer than a worker may take
    assert sum(len(found) for found in written(out).values()) == known
    away.unlink()
    for partition in range(2):
        until(lambda p=partition: lab.committed(name, topic, p) == 200_001, seconds=FAST_ENOUGH)  # type: ignore[misc]
    task.stop()
    assert written(out) == {p: list(range(200_000)) for p in range(2)}
    assert "lost" not in task.log_text()


def test_a_write_that_does_not_end_costs_its_worker_and_nothing_is_lost(lab: Lab, tmp_path: Path) -> None:
    (topic, show), out, hang = hidden(lab, 1, 200_000), tmp_path / "out", tmp_path / "hang"
    config = {"consumer.override.max.poll.interval.ms": 3_000, "batch.max.ms": 1_000, "each": 0.0001}
    hang.touch()
    name, task = start(lab, topic, out, hang=hang, **config)
    task.await_log("Spark is up")
    show()
    task.await_log("has taken longer than max.poll.interval.ms (3 s)")
    task.await_log("one write has taken longer than consumer.override.max.poll.interval.ms (3 s)")
    until(lambda: lab.committed(name, topic) == 200_001, seconds=FAST_ENOUGH)
    task.stop()
    assert sorted(set(written(out)[0])) == list(range(200_000))


def test_what_is_staged_behind_a_part_that_had_no_time_is_in_the_file_once_and_in_order(
    lab: Lab, tmp_path: Path
) -> None:
    (topic, show), out, slow, name = hidden(lab, 1, 400_000), tmp_path / "out.txt", tmp_path / "slow", new_name("gap")
    config = {
        **STRING,
        "topics": topic,
        "file": out,
        "batch.max.ms": 1_000,
        "transforms": "ask",
        "transforms.ask.type": "slow_sinks:Lookup",
        "transforms.ask.slow": slow,
        "transforms.ask.slow.after": 30_000,
    }
    slow.touch()
    _, task = lab.start(manifest(name, "FileStreamSink", config, spark="Eager"))
    task.await_log("Spark is up")
    show()
    task.await_log("later records, which others have staged, are staged again")
    slow.unlink()
    until(lambda: lab.committed(name, topic) == 400_001, seconds=FAST_ENOUGH)
    task.stop()
    assert out.read_text().splitlines() == [str(n) for n in range(400_000)]
