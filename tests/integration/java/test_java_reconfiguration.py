"""A Java connector that watches what it reads from, in the JVM of its first task: it asks for new tasks, raises errors."""

from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock_cli.embedded import EmbeddedKafka

from ..checking import assert_counts_up
from ..reading import await_records, create
from ..running import Processes, manifest, new_name, until
from .plugins import apache_connectors
from .probe_plugin import Probe, ProbeLab, host_jvms, probe, probe_lab
from .test_apache_connectors import BYTES, MIRROR

__all__ = ["Probe", "probe", "probe_lab"]

pytestmark = pytest.mark.slow


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """The file that says how many tasks the probe has."""
    file = tmp_path / "watched"
    file.write_text("2")
    return file


def rewrite(file: Path, text: str) -> None:
    """Change a file that somebody reads at any moment."""
    file.with_suffix(".new").write_text(text)
    file.with_suffix(".new").rename(file)


def test_a_connector_that_finds_more_or_less_to_read_gets_as_many_tasks_and_loses_nothing(
    probe_lab: ProbeLab, topic: str, watched: Path, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    stops = tmp_path / "stops"
    config = {"watched": watched, "total": 500, "batch": 10, "stops": stops}
    run = probe_lab.run(topic, config, tasks_max=4)
    with probe_lab.reader(topic) as reader:
        reader.count(1_000)
        planned = stops.stat().st_size
        rewrite(watched, "3")
        reader.count(1_500)
        assert stops.stat().st_size == planned + 2  # the one beside task 0, and the one that was asked for the new plan
        rewrite(watched, "1")
        run.await_log("requested new tasks: stopping its 3 tasks, then starting 1")
        until(lambda: len(host_jvms(run)) == 1 and len(run.tasks()) == 1, seconds=60, what=run.last_words)
        run.stop()
        values = [(r.value or b"").decode().split(":") for r in reader.to_end()]
    for number in "012":
        assert_counts_up([int(n) for task, n in values if task == number], f"task {number}")
    assert len(values) == 1_500
    assert "requested new tasks: stopping its 2 tasks, then starting 3" in run.log_text()


def test_a_request_that_changes_nothing_ends_no_task(probe_lab: ProbeLab, topic: str, watched: Path) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"watched": watched, "total": 100}, tasks_max=4)
    with probe_lab.reader(topic) as reader:
        reader.count(200)
    before = {task.pid for task in run.tasks()}
    for number, same in enumerate(("02", "002"), 1):
        rewrite(watched, same)
        until(lambda: probe_lab.journal.count("requested") == number, what=run.last_words)  # noqa: B023
    assert {task.pid for task in run.tasks()} == before
    run.stop()
    assert "The plugin requests a task reconfiguration" not in run.log_text()


def test_what_changed_while_no_task_ran_is_noticed_when_the_first_one_starts(
    probe_lab: ProbeLab, topic: str, watched: Path
) -> None:
    create(probe_lab.servers, topic)
    spec = probe_lab.spec(topic, {"watched": watched, "total": 500}, tasks_max=4)
    rewrite(watched, "3")
    task = probe_lab.processes.task(spec)
    until(lambda: [e for e in task.events if e["event"] == "asked"], seconds=60, what=task.last_words)
    task.stop()


def test_an_error_that_a_connector_raises_fails_its_first_task_with_the_cause(
    probe_lab: ProbeLab, topic: str, watched: Path
) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"watched": watched, "total": 100}, restart={"policy": "Never"}, tasks_max=2)
    with probe_lab.reader(topic) as reader:
        reader.count(200)
    rewrite(watched, "the catalog is gone")
    text = "dev.penstock.probe.ProbeSource has raised an error: ConnectException: cannot watch; caused by IOException: the "
    run.await_log(text)
    run.terminate()
    assert run.await_exit() == 1


def test_a_connector_that_cannot_start_fails_its_first_task_as_a_task_does(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    spec = probe_lab.spec(topic)
    broken = spec.model_copy(update={"config": {**spec.config, "connector.start.action": "throw"}})
    task = probe_lab.processes.task(broken)
    task.await_exit()
    assert "cannot start dev.penstock.probe.ProbeSource: ConnectException: the slot is gone" in str(task.failure)


def test_mirror_source_copies_a_new_topic_without_a_restart_by_hand(
    kafka: str, own_kafka: EmbeddedKafka, processes: Processes
) -> None:
    source, prefix, alias = own_kafka.bootstrap_servers, new_name("orders"), new_name("old")
    produce_ten(source, f"{prefix}-1")
    config = {
        "source.cluster.alias": alias,
        "target.cluster.alias": "new",
        "source.cluster.bootstrap.servers": source,
        "target.cluster.bootstrap.servers": kafka,
        "topics": f"{prefix}.*",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "refresh.topics.interval.seconds": "1",
        "consumer.isolation.level": "read_committed",
        "exactly.once.support": "required",
        "key.converter": BYTES,
        "value.converter": BYTES,
        "header.converter": BYTES,
    }
    connector = manifest(new_name("mirror"), MIRROR, config, tasks_max=2)
    run = processes.run([connector], kafka, "--plugin-path", str(apache_connectors()))
    await_records(kafka, f"{alias}.{prefix}-1", 10)
    produce_ten(source, f"{prefix}-2")
    run.await_log("requested new tasks: stopping its 1 tasks, then starting 2")
    await_records(kafka, f"{alias}.{prefix}-2", 10)
    run.stop()


def produce_ten(servers: str, topic: str) -> None:
    """Make a topic with ten records."""
    create(servers, topic)
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    for number in range(10):
        producer.produce(topic, str(number).encode())
    assert producer.flush(60) == 0
    producer.close()
