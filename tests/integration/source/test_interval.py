"""`transaction.boundary=interval`: batches go on inside one transaction until the interval, a pause or a stop ends it."""

import signal
import threading
from pathlib import Path
from random import Random
from string import ascii_letters
from typing import Any

import pytest

from ..checking import assert_counts_up
from ..lab import Lab, failed
from ..pods import Pods, pods
from ..reading import Reader
from ..running import manifest, new_name, next_life, until
from .test_records_kafka_refuses import TOLERANT, await_written, follow, total

pytestmark = pytest.mark.slow

__all__ = ["pods"]

STRINGS = {"value.converter": "StringConverter"}
LONG = "600000"


def interval(milliseconds: int | str, **config: Any) -> dict[str, Any]:
    return {"transaction.boundary": "interval", "transaction.boundary.interval.ms": str(milliseconds), **config}


@pytest.mark.scenario("eos-poll-transactions")
@pytest.mark.parametrize("polling", [False, True])
def test_batches_continue_in_one_transaction_which_ends_with_the_interval_though_nothing_comes(
    lab: Lab, polling: bool
) -> None:
    topic, script = lab.topic(), [[f"v{i}"] for i in range(5)]
    name, task = lab.source(script, topic, polling=polling, **interval(3000))
    lab.journal.count("read", 5)
    assert lab.journal.of("commit") == []
    assert lab.values(topic, open_seconds=0) == []
    (commit,) = lab.journal.count("commit")
    assert commit["offset"] == {"i": 4}
    task.stop()
    assert [(r.offset, r.value) for r in lab.records(topic)] == [(i, f"v{i}".encode()) for i in range(5)]
    assert lab.offsets(name) == [{"i": 4}]
    assert len(lab.journal.of("commit")) == 1


def test_an_interval_holds_up_no_backlog_and_a_stop_ends_its_transaction(lab: Lab, tmp_path: Path) -> None:
    """At the defaults; one batch for each interval would be months."""
    topic, lines = lab.topic(), 300_000
    (tmp_path / "lines").write_text("".join(f"{n}\n" for n in range(lines)))
    name, task = lab.start(
        manifest(
            new_name(),
            "FileStreamSource",
            {"transaction.boundary": "interval", **STRINGS},
            file=tmp_path / "lines",
            topic=topic,
        )
    )
    with Reader(lab.servers, topic, isolation="read_uncommitted") as sent:
        sent.count(lines)
    task.stop()
    values = [int(r.value or b"") for r in lab.records(topic)]
    assert_counts_up(values, "the topic")
    assert len(values) == lines
    assert len(lab.offsets(name)) <= 6  # a position and a fingerprint each


def test_a_transaction_ends_well_before_the_brokers_would_end_it(lab: Lab) -> None:
    topic = lab.topic()
    more = interval(LONG, **{"producer.override.transaction.timeout.ms": "4000"})
    _, task = lab.source([["a"], ["b"]], topic, **more)
    lab.journal.count("commit")
    task.stop()
    assert lab.values(topic) == ["a", "b"]


def test_a_source_that_takes_longer_to_say_what_there_is_than_a_transaction_may_last_continues(
    lab: Lab, tmp_path: Path
) -> None:
    topic = lab.topic()
    more = interval(LONG, **{"producer.override.transaction.timeout.ms": "2000"}, **STRINGS)
    _, task = lab.start(
        manifest(
            new_name(),
            "outside_sources:Outside",
            more,
            journal=lab.journal.path,
            topic=topic,
            folder=tmp_path,
            asked=3.0,
        )
    )
    until(lambda: lab.values(topic) == ["0", "1", "2"], seconds=90, what=task.last_words)
    task.stop()
    assert [e["n"] for e in lab.journal.of("commit")] == [1, 2, 3]
    assert "planning it again" not in task.log_text()


def test_a_transaction_holds_a_bounded_number_of_records(lab: Lab, tmp_path: Path) -> None:
    topic, lines = lab.topic(), 20_000
    (tmp_path / "lines").write_text("".join(f"{n}\n" for n in range(lines)))
    name, task = lab.start(
        manifest(
            new_name(),
            "FileStreamSource",
            {**interval(LONG), **STRINGS},
            file=tmp_path / "lines",
            topic=topic,
            batch_max_records=100,
        )
    )
    with Reader(lab.servers, topic) as reader:
        reader.count(10_000)
    task.stop()
    assert_counts_up([int(r.value or b"") for r in lab.records(topic)], "the topic")
    assert 10 <= len(lab.offsets(name)) <= 40  # a position and a fingerprint each


def test_a_pause_commits_what_was_delivered_before_it_is_reported(pods: Pods) -> None:
    topic = pods.lab.topic()
    task = pods.start(pods.lab.source_manifest([["a"], ["b"]], topic, **interval(LONG)))
    pods.lab.journal.count("read", 2)
    task.control(2, "Paused")
    task.await_report("PAUSED", acted=2)
    assert pods.lab.values(topic) == ["a", "b"]
    assert [e["offset"] for e in pods.lab.journal.of("commit")] == [{"i": 1}]
    task.control(3, "Running")
    task.await_report("RUNNING", acted=3)
    task.process.stop()


@pytest.mark.scenario("eos-failure-aborts")
def test_a_failure_aborts_every_batch_since_the_last_commit(lab: Lab) -> None:
    topic = lab.topic()
    boom = {"transforms": "f", "transforms.f.type": "scripted_steps:Refusing", "transforms.f.on": "boom"}
    name, task = lab.source([["a"], ["b"], ["c", "boom"]], topic, **boom, **interval(LONG))
    failed(task)
    assert lab.values(topic, open_seconds=0) == []
    assert lab.offsets(name) == []


@pytest.mark.parametrize("polling", [False, True])
def test_an_unavailable_external_system_leaves_the_open_transaction_as_it_is(
    lab: Lab, tmp_path: Path, polling: bool
) -> None:
    topic = lab.topic()
    resource = manifest(
        new_name(),
        "outside_sources:Outside",
        {**interval(4000), **STRINGS},
        journal=lab.journal.path,
        topic=topic,
        folder=tmp_path,
        polling=polling,
        most=1,
    )
    away = tmp_path / ("read" if polling else "plan")
    _, task = lab.start(resource)
    lab.journal.count("read")
    away.touch()
    (commit,) = lab.journal.count("commit")
    assert commit["n"] == 1
    assert lab.journal.count("away")[0]["at"] < commit["at"]
    assert lab.values(topic) == ["0"]
    away.unlink()
    task.stop()
    assert len(lab.journal.of("read")) == 1


@pytest.mark.timeout(300)
def test_a_task_that_was_killed_or_frozen_in_a_transaction_leaves_each_line_exactly_once(
    lab: Lab, tmp_path: Path
) -> None:
    topic, file, total = lab.topic(), tmp_path / "lines", 0
    file.write_text("")

    def add() -> None:
        nonlocal total
        with file.open("a") as lines:
            lines.writelines(f"{n}\n" for n in range(total, total + 500))
        total += 500

    more = interval(1500, **{"producer.override.transaction.timeout.ms": "6000"}, **STRINGS)
    spec = lab.spec(manifest(new_name(), "FileStreamSource", more, file=file, topic=topic, batch_max_records=100))
    task = lab.processes.task(spec)
    with Reader(lab.servers, topic, isolation="read_uncommitted") as sent, Reader(lab.servers, topic) as reader:
        for end in ("kill", "freeze", "kill"):
            add()
            reader.count(total)
            add()
            sent.count(len(sent.records) + 1)
            if end == "kill":
                task.kill()
                spec = next_life(spec)
                task = lab.processes.task(spec)
            else:
                task.process.send_signal(signal.SIGSTOP)
                before = len(reader.records)
                # An open transaction hides what lies behind it: this is read once the broker has ended it.
                lab.produce(topic, "mark")
                until(lambda: reader.poll() and any(r.value == b"mark" for r in reader.records), seconds=90)
                assert len(reader.records) <= before + 501
                task.process.send_signal(signal.SIGCONT)
            until(lambda: reader.poll() and len([r for r in reader.records if r.value != b"mark"]) >= total)
            reader.records[:] = [r for r in reader.records if r.value != b"mark"]
        task.stop()
        values = [int(r.value or b"") for r in reader.to_end() if r.value != b"mark"]
    assert_counts_up(values, "the topic")
    assert len(values) == total


def test_several_rotations_within_one_transaction_lose_no_line(lab: Lab, tmp_path: Path) -> None:
    topic, file = lab.topic(), tmp_path / "app.log"
    file.write_text("a0\na1\n")
    _, task = lab.start(manifest(new_name(), "FileStreamSource", {**interval(LONG), **STRINGS}, file=file, topic=topic))
    with Reader(lab.servers, topic, isolation="read_uncommitted") as sent:
        sent.count(2)
        for number, word in enumerate("bcd", start=1):
            file.rename(tmp_path / f"app.log.{number}")
            file.write_text(f"{word}0\n{word}1\n")
            sent.count(2 + 2 * number)
    task.stop()
    assert lab.values(topic) == [f"{word}{n}" for word in "abcd" for n in range(2)]


def test_records_that_kafka_refuses_now_and_then_hold_up_no_interval(lab: Lab, tmp_path: Path) -> None:
    """Several come in each interval, each smaller than those before, so that nothing is known of it beforehand."""
    topic, file, end, given = lab.topic(max_message_bytes="1000"), tmp_path / "in.txt", threading.Event(), 0
    file.touch()
    random = Random(7)

    def write() -> None:
        nonlocal given
        while not end.wait(0.3):
            with file.open("a") as f:
                f.write(f"{given}\n" + "".join(random.choices(ascii_letters, k=20_000 - given)) + "\n")
            given += 1

    more = {**TOLERANT, **interval(3000), "producer.override.compression.type": "lz4"}
    _, task = follow(lab, file, topic, "exactly-once", **more)
    writing = threading.Thread(target=write)
    writing.start()
    try:
        await_written(task, 20)  # while more of both come
    finally:
        end.set()
        writing.join()
    await_written(task, given)
    until(lambda: total(task, "failures") >= given, what=task.last_words)  # the last one may be in a batch of its own
    task.stop()
    assert [int(v) for v in lab.values(topic)] == [*range(given)]
    assert (total(task, "failures"), total(task, "written")) == (given, given)
