"""Large tables are read and written by the executors of a Spark cluster."""

import json
import os
from pathlib import Path

import pytest
from confluent_kafka import Producer
from connectors.sql.tests.conftest import Database

from ..executor_pods import executor_pods, with_executors
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


def count(database: Database) -> int:
    ((found,),) = database.rows("SELECT count(*) FROM copies")
    assert isinstance(found, int)
    return found
