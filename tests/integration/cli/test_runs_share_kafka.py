"""Several `penstock run`s on one Kafka or one data folder: whichever ends, and however, the others go on."""

import itertools
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from penstock_runtime.kafka.status_topic import Incarnation

from ..lab import Lab
from ..reading import await_records, create
from ..running import Processes, Running, manifest, new_name, until

pytestmark = pytest.mark.slow

WORKER: Final = {"offset.storage.replication.factor": "1", "status.storage.replication.factor": "1"}


def pipeline(tmp_path: Path, word: str) -> tuple[list[dict[str, Any]], Path, Path]:
    """A file into Kafka and out into another file."""
    into, out, topic = tmp_path / f"{word}.txt", tmp_path / f"{word}-out.txt", new_name(word)
    into.touch()
    text = "StringConverter"
    return (
        [
            manifest(new_name(f"{word}-in"), "FileStreamSource", file=into, topic=topic, value_converter=text),
            manifest(new_name(f"{word}-out"), "FileStreamSink", file=out, topics=topic, value_converter=text),
        ],
        into,
        out,
    )


def goes_through(run: Running, into: Path, out: Path, line: str) -> None:
    with into.open("a") as file:
        file.write(line + "\n")
    until(lambda: out.exists() and line in out.read_text().splitlines(), what=run.last_words)


def on(processes: Processes, resources: list[dict[str, Any]], data: Path) -> Running:
    run = processes.run(resources, None, "--data-dir", str(data))
    run.await_log("Kafka listens on")
    return run


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_continues_when_the_one_ends_that_ran_kafka_for_it(
    processes: Processes, tmp_path: Path, end: signal.Signals
) -> None:
    resources, into, out = pipeline(tmp_path, "second")
    first = on(processes, pipeline(tmp_path, "first")[0], tmp_path / "data")
    second = on(processes, resources, tmp_path / "data")
    assert "another process runs it" in second.log_text()
    goes_through(second, into, out, "before")
    first.process.send_signal(end)
    assert first.await_exit() == (0 if end is signal.SIGTERM else -end)
    second.await_log("this one runs it now")
    goes_through(second, into, out, "after")
    second.stop()


def test_a_run_that_was_superseded_takes_no_kafka_away_from_the_newer_one(processes: Processes, tmp_path: Path) -> None:
    resources, into, out = pipeline(tmp_path, "both")
    first = on(processes, resources[:1], tmp_path / "data")
    into.write_text("early\n")
    first.await_log('"records": 1')
    second = on(processes, resources, tmp_path / "data")
    until(lambda: _write(into) or first.process.poll() is not None, what=first.last_words)
    assert first.await_exit() == 3
    assert (
        "was taken over by a newer run of the same connector and continues there; nothing has failed"
        in (first.log_text().splitlines()[-1])
    )
    assert '"state": "FAILED"' not in first.log_text()
    second.await_log("this one runs it now")
    goes_through(second, into, out, "hello")
    second.stop()


def test_a_run_that_was_given_the_brokers_address_continues_too(processes: Processes, tmp_path: Path) -> None:
    resources, into, out = pipeline(tmp_path, "given")
    first = on(processes, pipeline(tmp_path, "first")[0], tmp_path / "data")
    servers = first.await_log("Kafka listens on").partition("listens on ")[2].partition(",")[0]
    second = processes.run(resources, servers, "--data-dir", str(tmp_path / "data"))
    goes_through(second, into, out, "before")
    first.stop()
    second.await_log("this one runs it now")
    goes_through(second, into, out, "after")
    second.stop()


def _write(into: Path) -> bool:
    """One more line: a source notices with its next batch that it was superseded."""
    with into.open("a") as file:
        file.write("more\n")
    return False


@contextmanager
def started_elsewhere(servers: str, status: str, connector: str) -> Iterator[None]:
    """Somebody prepares the connector anew all the time, as another run that is started at the same moment does."""
    stopping = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "partitioner": "murmur2_random"})
        for generation in itertools.count(2_000_000_000):
            key, value = Incarnation(0, 0, "", 0, generation, "elsewhere").entry(connector, 0)
            producer.produce(status, value, key)
            producer.poll(0)
            if stopping.wait(0.001):
                break
        producer.flush(30)
        producer.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def test_a_run_continues_with_its_other_connectors_where_one_is_started_elsewhere_at_the_same_moment(
    lab: Lab, tmp_path: Path
) -> None:
    into, topic = tmp_path / "in", new_name("t")
    into.write_text("hello\n")
    resources = [
        manifest(new_name(word), "FileStreamSource", file=into, topic=topic, value_converter="StringConverter")
        for word in ("first", "elsewhere", "last")
    ]
    status, lost = new_name("status"), resources[1]["metadata"]["name"]
    create(lab.servers, status, cleanup_policy="compact")
    with started_elsewhere(lab.servers, status, lost):
        run = lab.processes.run(resources, lab.servers, worker={**WORKER, "status.storage.topic": status})
        run.await_log(f"Connector {lost} was started elsewhere at the same time, and runs there")
        await_records(lab.servers, topic, 2)
    run.terminate()
    assert run.await_exit() == 3
    assert [r.value for r in lab.records(topic)] == [b"hello"] * 2


def test_a_run_leaves_whose_only_connector_is_started_elsewhere_at_the_same_moment(lab: Lab, tmp_path: Path) -> None:
    resource = manifest(new_name(), "FileStreamSource", file=tmp_path / "in", topic=new_name("t"))
    status = new_name("status")
    create(lab.servers, status, cleanup_policy="compact")
    with started_elsewhere(lab.servers, status, resource["metadata"]["name"]):
        run = lab.processes.run([resource], lab.servers, worker={**WORKER, "status.storage.topic": status})
        assert run.await_exit() == 3, run.last_words()
    assert "was started elsewhere at the same time, and runs there" in run.log_text()
