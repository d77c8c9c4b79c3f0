"""A table through Kafka into another one: the SQL connectors, from the image that the project builds."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from connectors.sql.tests.conftest import Database, Server

from penstock_cli.plugin.build import build

from ..integration.running import until
from .cluster import ROOT, Cluster
from .place import Place

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow]  # images are loaded into its node; its pods reach this machine


@pytest.fixture
def database(kubernetes: Cluster) -> Iterator[Database]:
    """A PostgreSQL on this machine, which pods reach by the cluster's interface."""
    shown = subprocess.run(["ip", "-4", "-oneline", "address"], capture_output=True, text=True, check=True).stdout
    hosts = re.findall(r"\bps-\S+\s+inet (\d+\.\d+\.\d+\.\d+)", shown)
    folder = Path(tempfile.mkdtemp(prefix="penstock-postgresql-"))
    server = Server(folder, listen="*")
    server.start()
    try:
        found = Database(server, "postgres")
        found.properties["connection.url"] = f"jdbc:postgresql://{hosts[-1]}:{server.port}/postgres"
        yield found
    finally:
        server.stop()
        shutil.rmtree(folder)


def test_a_table_goes_through_kafka_into_another_one_by_the_plugin_version_that_the_project_builds(
    kubernetes: Cluster, place: Place, database: Database, tmp_path: Path
) -> None:
    built = build(ROOT / "connectors" / "sql", "plugins.example/penstock-sql", tmp_path)
    kubernetes.component("load", str(built.archive))
    version: dict[str, Any] = yaml.safe_load((tmp_path / "pluginversion.yaml").read_text())
    version["metadata"]["namespace"] = place.namespace
    kubernetes.apply(yaml.safe_dump(version))
    database.run("CREATE TABLE orders (id BIGSERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now(), name TEXT)")
    database.run("INSERT INTO orders (name) SELECT 'order ' || n FROM generate_series(1, 1000) n")
    by_time = {"mode": "timestamp+incrementing", "timestamp.column.name": "at", "incrementing.column.name": "id"}
    tables = {"table.whitelist": "orders", "topic.prefix": f"{place.namespace}.", "poll.interval.ms": 200}
    schemas = {"value.converter": "JsonConverter", "value.converter.schemas.enable": True}
    place.connector("tables", "SqlSource", {**database.properties, **by_time, **tables, **schemas}).reaches("Running")
    upsert = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", "auto.create": True}
    copies = {"topics": f"{place.namespace}.orders", "table.name.format": "copies", **upsert, **schemas}
    sink = place.connector("copies", "SqlSink", {**database.properties, **copies})
    sink.reaches("Running")
    database.run("UPDATE orders SET name = 'changed', at = now() WHERE id = 7")

    def same() -> bool:
        if not database.rows("SELECT 1 FROM pg_tables WHERE tablename = 'copies'"):
            return False
        differ = "SELECT id, name FROM orders EXCEPT SELECT id, name FROM copies"
        return not database.rows(differ) and database.rows("SELECT count(*) FROM copies") == [(1000,)]

    until(same, what="both tables are the same")
    (task,) = sink.status["tasks"]
    assert task["versions"]["connector"] == version["spec"]["version"]
