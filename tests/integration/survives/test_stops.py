"""SIGTERM in the middle of a batch, a second life beside the first, a transaction that times out: source and sink."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
from confluent_kafka import Consumer, TopicPartition

from ..checking import assert_exactly_once
from ..holding import PARTITIONS, Hold, held_task_spec
from ..lab import Lab
from ..reading import Reader, produce, read_all
from ..running import PATIENCE, Processes, manifest, new_name, next_life, specs, until

GRACE = 5.0  # seconds; task.shutdown.graceful.timeout.ms
ALL = range(PARTITIONS)


def test_sigterm_lets_a_batch_finish_that_can(kafka: str, topic: str, processes: Processes, tmp_path: Path) -> None:
    hold = Hold(tmp_path)
    hold.on([3])
    spec = held_task_spec(kafka, topic, hold)
    task = processes.task(spec)
    hold.await_reader(3)
    task.terminate()
    hold.off()
    assert task.await_exit(2 * GRACE) == 0
    assert assert_exactly_once(read_all(kafka, topic), PARTITIONS) == dict.fromkeys(ALL, 100)


def test_sigterm_abandons_a_batch_that_does_not_end_within_the_grace_period(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    hold = Hold(tmp_path)
    spec = held_task_spec(kafka, topic, hold)
    task = processes.task(spec)
    with Reader(kafka, topic) as reader:
        reader.count(1_000)
        hold.on([1])
        hold.await_reader(1)
        task.stop(2 * GRACE)
        assert "is abandoned" in task.log_text()
        assert task.failure is None
        hold.off()
        again = processes.task(next_life(spec))
        reader.count(len(reader.records) + 2_000)
        again.stop(2 * GRACE)
        assert_exactly_once(reader.to_end(), PARTITIONS)


def test_a_run_that_is_ended_during_a_batch_on_spark_says_so_and_prints_no_trace(
    lab: Lab, topic: str, processes: Processes, tmp_path: Path
) -> None:
    hold = Hold(tmp_path)
    spec = held_task_spec(lab.servers, topic, hold, delivery_guarantee="exactly-once")
    given = {k: v for k, v in spec.config.items() if k != "own"}
    run = processes.run([manifest(spec.connector, "numbers_source:Numbers", given, spark="Eager")], lab.servers)
    run.await_log("Spark is up", seconds=4 * PATIENCE)
    until(run.workers, seconds=2 * PATIENCE, what="a batch on Spark")
    hold.on(ALL)
    until(lambda: any(hold.waiting_process(p) for p in ALL), what="a reader waits")
    until(
        lambda: {int(w) for p in ALL if (w := hold.waiting_process(p))} & {w.pid for w in run.workers()},
        what="it is a worker",
    )
    os.killpg(run.pid, signal.SIGINT)  # Ctrl-C in a terminal
    assert run.await_exit(4 * GRACE) == 0
    text = run.log_text()
    assert "is abandoned" in text
    lines = [json.loads(line) for line in text.splitlines()]  # each of them
    assert [n for n in lines if "trace" in n or n["level"] in ("error", "critical")] == []
    assert not any(word in text for word in ("Traceback", "Exception", "Broken pipe", "has failed", "FAILED"))
    assert [s["state"] for s in lab.status(f"status-task-{spec.connector}-0")][-1] == "UNASSIGNED"


def test_a_run_that_is_ended_while_spark_starts_prints_no_trace(lab: Lab, topic: str, processes: Processes) -> None:
    given = {"topic": topic, "value.converter": "StringConverter"}
    run = processes.run([manifest(new_name(), "numbers_source:Numbers", given, spark="Eager")], lab.servers)
    until(run.jvms, seconds=2 * PATIENCE, what="the JVM")
    os.killpg(run.pid, signal.SIGINT)
    assert run.await_exit(4 * GRACE) == 0
    text = run.log_text()
    assert "Spark is up" not in text
    assert [n for n in map(json.loads, text.splitlines()) if "trace" in n or n["level"] in ("error", "critical")] == []
    assert not any(word in text for word in ("Traceback", "Exception", "Broken pipe", "has failed"))


def test_sigterm_to_a_busy_sink_loses_nothing(kafka: str, topic: str, processes: Processes, tmp_path: Path) -> None:
    file, count = tmp_path / "out", 60_000
    produce(kafka, topic, (b"%d" % n for n in range(count)))
    resource = manifest(
        new_name(),
        "FileStreamSink",
        topics=topic,
        file=file,
        value_converter="StringConverter",
        consumer_override_max_poll_records=200,
    )
    spec = specs(resource, kafka)[0]
    task = processes.task(spec)
    until(lambda: file.exists() and file.stat().st_size > 1_000)
    task.stop(2 * GRACE)
    assert file.stat().st_size < 6 * count - 60_000
    again = processes.task(next_life(spec))
    until(lambda: file.read_bytes().endswith(b"\n%d\n" % (count - 1)), what=again.last_words)
    again.stop(2 * GRACE)
    assert [int(line) for line in file.read_text().splitlines()] == list(range(count))


def test_a_second_incarnation_supersedes_the_first_which_does_not_call_that_a_failure(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    spec = held_task_spec(kafka, topic, Hold(tmp_path))
    first = processes.task(spec)
    with Reader(kafka, topic) as reader:
        reader.count(1_000)
        second = processes.task(next_life(spec))
        assert first.await_exit() == 3
        assert first.failure is None
        first.await_event(lambda e: e["event"] == "superseded" and "incarnation 2" in e["message"])
        assert not [e for e in first.events if e.get("state") == "FAILED"]
        reader.count(len(reader.to_end()) + 2_000)
        second.stop()
        assert_exactly_once(reader.to_end(), PARTITIONS)


def test_a_transaction_that_times_out_is_repeated_and_doubles_nothing(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    hold = Hold(tmp_path)
    task = processes.task(held_task_spec(kafka, topic, hold, **{"producer.override.transaction.timeout.ms": 2_000}))
    with Reader(kafka, topic) as reader:
        reader.count(1_000)
        hold.on([1])
        hold.await_reader(1)
        until(lambda: open_transaction(kafka, topic), what="records have reached the broker")
        until(lambda: not open_transaction(kafka, topic), what="the broker has ended the transaction")
        hold.off()
        reader.count(len(reader.to_end()) + 2_000)
        assert "Batch not delivered, planning it again" in task.log_text()
        assert task.failure is None
        task.stop()
        assert_exactly_once(reader.to_end(), PARTITIONS)


def open_transaction(kafka: str, topic: str) -> bool:
    return ends(kafka, topic, "read_committed") != ends(kafka, topic, "read_uncommitted")


def ends(kafka: str, topic: str, isolation: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "ends", "isolation.level": isolation})
    try:
        return [consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=10)[1] for p in ALL]
    finally:
        consumer.close()


def test_a_parent_that_is_frozen_with_its_pipe_full_holds_up_no_record_and_no_end(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_text("")
    run = processes.run([manifest(new_name(), "FileStreamSource", file=file, topic=topic)], kafka)
    run.await_log('"state": "RUNNING"')
    (task,) = run.tasks()
    command = task.cmdline()
    report_pipe = f"/proc/{task.pid}/fd/{command[command.index('--report-fd') + 1]}"
    run.process.send_signal(signal.SIGSTOP)
    fill(report_pipe)
    with Reader(kafka, topic) as reader:
        for count in range(1, 4):  # each batch has something to report
            with file.open("a") as lines:
                lines.write("x\n")
            reader.count(count)
    run.process.send_signal(signal.SIGCONT)
    run.await_log('"records": 3')
    run.process.send_signal(signal.SIGSTOP)
    fill(report_pipe)
    task.terminate()
    until(lambda: task.status() == psutil.STATUS_ZOMBIE, seconds=GRACE - 1, what=run.last_words)
    run.process.send_signal(signal.SIGCONT)
    assert run.await_exit() == 0
    assert "is abandoned" not in run.log_text()


def fill(pipe: str) -> None:
    """Write empty lines, which say nothing, until not one more goes in."""
    descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    try:
        with suppress(BlockingIOError):
            while True:
                os.write(descriptor, b"\n" * 4096)
        with suppress(BlockingIOError):
            while True:
                os.write(descriptor, b"\n")
    finally:
        os.close(descriptor)


def test_sigquit_prints_the_place_of_each_thread_and_the_task_continues(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    file = tmp_path / "out"
    produce(kafka, topic, [b"a"])
    resource = manifest(new_name(), "FileStreamSink", topics=topic, file=file, value_converter="StringConverter")
    task = processes.task(specs(resource, kafka)[0])
    until(lambda: file.exists() and file.read_text() == "a\n", what=task.last_words)
    task.process.send_signal(signal.SIGQUIT)
    until(lambda: "Current thread" in task.log_text() and "in _once" in task.log_text(), what=task.last_words)
    produce(kafka, topic, [b"b"])
    until(lambda: file.read_text() == "a\nb\n", what=task.last_words)
    task.stop(2 * GRACE)
