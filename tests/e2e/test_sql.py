"""A table through Kafka into another one: the SQL connectors, from the image that the project builds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from connectors.sql.tests.conftest import Database

from ..integration.running import until
from .place import Place
from .sql import install_sql_plugin, reachable_database

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow]  # images are loaded into its node; its pods reach this machine


@pytest.fixture
def database(place: Place) -> Iterator[Database]:
    with reachable_database() as found:
        yield found


def test_a_table_goes_through_kafka_into_another_one_by_the_plugin_version_that_the_project_builds(
    place: Place, database: Database, tmp_path: Path
) -> None:
    version = install_sql_plugin(place, tmp_path)
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
    assert task["versions"]["connector"] == version
