"""A large table is read by the executors of a Spark cluster."""

import json
import os
from pathlib import Path

import pytest
from connectors.sql.tests.conftest import Database

from ..lab import Lab
from ..reading import await_records
from ..running import new_name
from ..spark_cluster import ended, standalone_cluster
from .test_source import create, sql_source


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="gives each Worker its own /tmp and user, which only root can")
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
