"""Backlogs of five million records between PostgreSQL and Kafka, on two executors of which one is killed."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from connectors.sql.tests.conftest import Database

from ..integration.running import until
from .executors import executors, running, says
from .place import Connector, Place
from .sql import install_sql_plugin, reachable_database

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow, pytest.mark.timeout(2400)]

COUNT: Final = 5_000_000
PARTS: Final = 4
LIMIT: Final = 1200.0
"""Seconds for which a backlog may last on two cores that also run Kafka, PostgreSQL and Kubernetes."""
BUSY: Final = "SELECT DISTINCT host(client_addr) FROM pg_stat_activity WHERE state <> 'idle'"


@pytest.fixture
def database(place: Place) -> Iterator[Database]:
    with reachable_database() as found:
        yield found


def progress(what: str, begun: float, number: int) -> None:
    print(f"{time.monotonic() - begun:6.0f} s  {what}: {number:,} of {COUNT:,}", flush=True)


def kill_a_busy_one(place: Place, connector: Connector, database: Database) -> None:
    """Wait until both executors are connected and one of them uses the database; kill it."""
    says(connector, "True", "Connected", "2 of 2", limit=300)

    def found() -> dict[str, Any] | None:
        at_work = {address for (address,) in database.rows(BUSY)}
        pods = connector.pods("executor")
        each = [pods[name] for name in running(pods)]
        return next((pod for pod in each if pod["status"]["podIP"] in at_work), None)

    busy = until(found, what="an executor uses the database")
    place.cluster.kill_pod(busy["metadata"]["uid"])
    until(lambda: "A part was lost" in connector.kubectl("logs", connector.pod()), what="its batch is lost")


def test_five_million_rows_of_postgresql_are_in_kafka_once_although_one_of_two_executors_is_killed(
    place: Place, database: Database, tmp_path: Path
) -> None:
    install_sql_plugin(place, tmp_path)
    database.run("CREATE TABLE numbers (id BIGINT PRIMARY KEY)")
    database.run(f"INSERT INTO numbers SELECT generate_series(1, {COUNT})")
    topic = f"{place.namespace}.numbers"
    place.kafka.create(topic, PARTS)
    config = {
        **database.properties,
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "table.whitelist": "numbers",
        "topic.prefix": f"{place.namespace}.",
        "backlog.ranges": PARTS,
        "transforms": "id",
        "transforms.id.type": "ExtractField$Value",
        "transforms.id.field": "id",
    }
    begun = time.monotonic()
    spark = {"start": "OnDemand", "executors": executors(2)}
    source = place.connector("rows", "SqlSource", config, spark=spark)
    kill_a_busy_one(place, source, database)
    left = COUNT - place.kafka.end(topic)
    progress("killed", begun, COUNT - left)
    assert left > 0
    while (found := place.kafka.end(topic)) < COUNT and time.monotonic() < begun + LIMIT:
        progress("records", begun, found)
        time.sleep(5)
    more, missing = place.kafka.tally(topic, COUNT, LIMIT)
    progress("read", begun, COUNT - missing)
    assert (more, missing) == (0, 0)


def test_five_million_records_of_kafka_are_in_postgresql_once_although_one_of_two_executors_is_killed(
    place: Place, database: Database, tmp_path: Path
) -> None:
    install_sql_plugin(place, tmp_path)
    topic = f"{place.namespace}.numbers"
    place.kafka.create(topic, PARTS)
    place.kafka.write_numbers(topic, COUNT, LIMIT)
    database.run("CREATE TABLE numbers (id BIGINT)")  # no key, so that a row that is written twice is there twice
    config = {
        **database.properties,
        "topics": topic,
        "table.name.format": "numbers",
        "value.converter": "LongConverter",
        "transforms": "id",
        "transforms.id.type": "HoistField$Value",
        "transforms.id.field": "id",
    }
    begun = time.monotonic()
    spark = {"start": "OnDemand", "executors": executors(2)}
    sink = place.connector("rows", "SqlSink", config, spark=spark)
    kill_a_busy_one(place, sink, database)

    def rows() -> int:
        ((number,),) = database.rows("SELECT count(*) FROM numbers")
        assert isinstance(number, int)
        return number

    found = rows()
    progress("killed", begun, found)
    assert found < COUNT
    while (found := rows()) < COUNT and time.monotonic() < begun + LIMIT:
        progress("rows", begun, found)
        time.sleep(5)
    progress("rows", begun, found)
    seen = database.rows("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM numbers")
    assert seen == [(COUNT, COUNT, 1, COUNT)]
