"""Large tables are read and written by the executors of a Spark cluster."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer
from connectors.sql.tests.conftest import Database

from ..executor_pods import ExecutorPods, executor_pods, with_executors
from ..lab import Lab
from ..pods import Pods
from ..reading import await_records
from ..running import new_name, until
from ..spark_cluster import ended, go_on, standalone_cluster, stop
from .test_sink import sql_sink
from .test_source import create, sql_source

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="gives each Worker its own /tmp and user, which only root can"
)


@pytest.mark.slow
@needs_root
def test_a_table_is_read_in_ranges_by_two_executors_each_row_once(lab: Lab, database: Database, tmp_path: Path) -> None:
    create(database)
    rows = "INSERT INTO events (name) SELECT 'name ' || n FROM generate_series(1, {}) n"
    database.run(rows.format(1_000))
    prefix = new_name("shop-")
    resource = sql_source(database, prefix, **{"backlog.ranges": "4", "batch.max.records": "20000"})
    resource["spec"]["spark"]["start"] = "Eager"
    with standalone_cluster(tmp_path / "cluster") as cluster:
        cluster.start_workers(2)
        run = lab.processes.run([resource], lab.servers, *cluster.options())
        run.await_log("Spark is up")
        database.run(rows.format(399_000))
        records = await_records(lab.servers, f"{prefix}events", 400_000)
        assert all(ended(executor) > 2 for executor in cluster.await_executors(2))
        run.stop()
    assert sorted(json.loads(record.value or b"")["id"] for record in records) == list(range(1, 400_001))


@pytest.mark.slow
@needs_root
def test_a_backlog_is_written_by_executors_each_record_once_though_a_worker_is_killed_and_an_executor_freezes(
    lab: Lab, database: Database, tmp_path: Path
) -> None:
    topic, records = lab.topic(partitions=4), 600_000
    database.run("CREATE TABLE copies (id BIGINT)")
    backlog = begin(lab, topic, records)
    resource = sql_sink(database, topic, **{"table.name.format": "copies", "batch.max.records": "10000"})
    resource["spec"]["spark"]["start"] = "Eager"
    resource["spec"]["config"]["consumer.override.isolation.level"] = "read_committed"
    with standalone_cluster(tmp_path / "cluster") as cluster:
        cluster.start_workers(3)
        run = lab.processes.run(
            [resource], lab.servers, *cluster.options("spark.network.timeout=20s", "spark.network.timeoutInterval=5s")
        )
        run.await_log("Spark is up")
        three = cluster.await_executors(3)
        backlog.commit_transaction(60)
        until(lambda: all(ended(executor) > 1 for executor in three), what=run.last_words)
        frozen = three[0]
        stop(frozen, whole=True)
        cluster.kill_worker(cluster.worker_of(three[1]))
        until(lambda: count(database) >= records, moving=lambda: count(database), what=run.last_words)
        go_on(frozen)
        run.stop()
    assert database.rows("SELECT count(*), count(DISTINCT id) FROM copies") == [(records, records)]


@pytest.mark.slow
@needs_root
def test_a_backlog_is_written_by_executors_in_pods_each_record_once_though_one_is_killed(
    lab: Lab, database: Database, tmp_path: Path
) -> None:
    topic, records = lab.topic(partitions=4), 400_000
    database.run("CREATE TABLE copies (id BIGINT)")
    backlog = begin(lab, topic, records)
    resource = sql_sink(database, topic, **{"table.name.format": "copies", "batch.max.records": "10000"})
    resource["spec"]["config"]["consumer.override.isolation.level"] = "read_committed"
    resource["spec"]["spark"]["start"] = "Eager"
    resource = with_executors(resource, min=2, max=2, resources={"limits": {"memory": "1Gi"}})
    with executor_pods(tmp_path / "executors") as executors:
        task = Pods(lab, tmp_path).start(resource, env=executors.env)
        first, second = executors.start(), executors.start()
        task.await_report("RUNNING", where=lambda r: (r.executors_wanted, r.executors) == (2, 2), seconds=120)
        backlog.commit_transaction(60)
        workers = until(lambda: executors.workers(first) and executors.workers(second), what=task.process.last_words)
        assert workers
        until(lambda: task.process.last("spark_batches"), what=task.process.last_words)
        executors.kill(second)
        until(lambda: count(database) >= records, moving=lambda: count(database), what=task.process.last_words)
        assert executors.workers(first)
        task.process.stop()
        task.close()
    assert database.rows("SELECT count(*), count(DISTINCT id) FROM copies") == [(records, records)]


@pytest.mark.slow
@needs_root
def test_rows_of_an_executor_that_dies_after_it_has_written_them_and_before_it_answers_are_not_written_again(
    lab: Lab, database: Database, tmp_path: Path
) -> None:
    """Its Java, which would answer, is frozen while its Python worker waits for a lock, and killed after the last row."""
    topic, records = lab.topic(partitions=4), 400_000
    database.run("CREATE TABLE copies (id BIGINT, writer INT DEFAULT pg_backend_pid())")
    backlog = begin(lab, topic, records)
    resource = sql_sink(database, topic, **{"table.name.format": "copies", "batch.max.records": "40000"})
    resource["spec"]["config"]["consumer.override.isolation.level"] = "read_committed"
    resource["spec"]["spark"]["start"] = "Eager"
    resource = with_executors(resource, min=2, max=2, resources={"limits": {"memory": "1Gi"}})
    with executor_pods(tmp_path / "executors") as executors:
        task = Pods(lab, tmp_path).start(resource, env=executors.env)
        numbers = [executors.start(), executors.start()]
        task.await_report("RUNNING", where=lambda r: (r.executors_wanted, r.executors) == (2, 2), seconds=120)
        backlog.commit_transaction(60)
        until(lambda: task.process.last("spark_batches"), what=task.process.last_words)
        with database.server.connect(database.name) as locking, locking.transaction():
            locking.execute("LOCK TABLE copies IN SHARE MODE")
            victim, writer = until(lambda: waiting(database, executors, numbers), what="an executor waits for the lock")
            executors.java(victim).suspend()
            before = count(database, writer)
        until(lambda: has_ended(database, writer), what="it has written its part")
        after = count(database, writer)
        assert after > before
        assert "A part was lost" not in task.process.log_text(), "the driver waits for the answer"
        executors.kill(victim)
        task.process.await_log("A part was lost on a Spark cluster")
        until(lambda: count(database) >= records, moving=lambda: count(database), what=task.process.last_words)
        task.process.stop()
        task.close()
    assert count(database, writer) == after
    assert database.rows("SELECT count(*), count(DISTINCT id) FROM copies") == [(records, records)]


def waiting(database: Database, executors: ExecutorPods, numbers: Sequence[int]) -> tuple[int, int] | None:
    """An executor that waits for a lock, and the id of the process of PostgreSQL that it is connected to."""
    statement = "SELECT client_port, pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    found = {port: int(str(pid)) for port, pid in database.rows(statement)}
    for number in numbers:
        for worker in executors.workers(number):
            with suppress(psutil.NoSuchProcess):
                ports = {connection.laddr.port for connection in worker.net_connections("tcp")}
                for port in ports & found.keys():
                    return number, found[port]
    return None


def has_ended(database: Database, writer: int) -> bool:
    """Whether this process of PostgreSQL has been given nothing for two seconds."""
    statement = f"SELECT state = 'idle' AND now() - state_change > '2 s' FROM pg_stat_activity WHERE pid = {writer}"
    return database.rows(statement) == [(True,)]


def begin(lab: Lab, topic: str, records: int) -> Producer:
    """A transaction with a backlog, which is there at once when it is committed."""
    settings = {"transactional.id": topic, "transaction.timeout.ms": 300_000, "linger.ms": 50}
    producer = Producer({"bootstrap.servers": lab.servers, **settings})
    producer.init_transactions(60)
    producer.begin_transaction()
    for n in range(records):
        producer.produce(topic, json.dumps({"id": n}), partition=n % 4)
        producer.poll(0)
    assert producer.flush(60) == 0
    return producer


def count(database: Database, writer: int | None = None) -> int:
    """The number of rows, of all writers or of one process of PostgreSQL."""
    where = "" if writer is None else f" WHERE writer = {writer}"
    ((found,),) = database.rows(f"SELECT count(*) FROM copies{where}")
    assert isinstance(found, int)
    return found
