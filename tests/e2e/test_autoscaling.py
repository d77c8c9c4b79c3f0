"""A sink whose number of tasks follows its lag (`spec.autoscaling`)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from connectors.sql.tests.conftest import Database

from ..integration.running import until
from .cluster import Failed
from .place import Connector, Place, condition
from .sql import install_sql_plugin, reachable_database

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow]  # images are loaded into its node; its pods reach this machine

COUNT: Final = 30_000
RATE: Final = 60
"""Records per second of each task: a slow external system."""
FLAT: Final = {"value.converter": "JsonConverter", "value.converter.schemas.enable": True}


@pytest.fixture
def database(place: Place) -> Iterator[Database]:
    with reachable_database() as found:
        yield found


def has_tasks(sink: Connector, number: int, limit: float) -> None:
    """Wait until so many tasks run, and the Connector is Ready."""
    summary = f"{number}/{number}"
    sink.until(
        lambda c: (c["status"].get("taskSummary") == summary and condition(c)["status"] == "True") or None,
        f"{summary} tasks",
        limit,
    )


@pytest.mark.timeout(1800)
def test_slow_sink_gets_a_second_task_for_a_backlog_writes_each_record_once_and_gives_it_back_when_idle(
    place: Place, database: Database, tmp_path: Path
) -> None:
    install_sql_plugin(place, tmp_path)
    topic = f"{place.namespace}.orders"
    place.kafka.create(topic, 4)
    source = place.datagen("orders", topic=topic, config={"count": COUNT, "rate": 5000, **FLAT})
    source.reaches("Running")
    table = {"table.name.format": "copies", "auto.create": True, "fields.whitelist": "order_id,customer_id"}
    config = {**database.properties, "topics": topic, **table, **FLAT}
    terms = {"targetLagSeconds": 20, "min": 1, "max": 2, "scaleUpAfterSeconds": 30, "scaleDownAfterSeconds": 60}
    sink = place.connector("copies", "SqlSink", config, autoscaling=terms, limits={"recordsPerSecond": RATE})
    sink.reaches("Running")
    assert condition(sink.get(), "Autoscaling")["reason"] == "Measuring"

    sink.tells("Autoscaled", "1 -> 2 tasks: task 0 is about", "the target is 20 s", limit=420)
    has_tasks(sink, 2, 120)
    assert sink.status["autoscaling"]["tasks"] == 2
    assert sink.get()["spec"]["tasksMax"] == 1
    shown = place.cluster.kubectl(
        "get", "connector", "copies", "-n", place.namespace, "--output=jsonpath={.status.replicas}"
    )
    assert shown == "2"

    sink.tells("Autoscaled", "2 -> 1 tasks: 1 can keep the lag within 20 s", limit=900)
    has_tasks(sink, 1, 120)
    until(lambda: database.rows("SELECT count(*) FROM copies") == [(COUNT,)], what="every record is in the table")
    assert database.rows("SELECT count(DISTINCT order_id) FROM copies") == [(COUNT,)]
    sink.until(lambda c: condition(c, "Autoscaling")["reason"] == "OnTarget" or None, "it is within the target", 240)


def test_api_server_refuses_a_minimum_above_the_maximum(place: Place) -> None:
    sink = place.unapplied("copies", "FileStreamSink", {"topics": "orders"})
    with pytest.raises(Failed, match=r"spec\.autoscaling\.min.*must not be greater than max"):
        sink.apply(autoscaling={"targetLagSeconds": 20, "min": 3, "max": 2})
