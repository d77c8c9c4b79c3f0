"""Apache Iceberg's sink, unchanged: its tasks are members of the connector's group, and commit rows and offsets together."""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_cli.embedded import EmbeddedKafka
from penstock_model.contracts.exit_codes import ExitCode

from ..connect_worker import ConnectWorker
from ..reading import committed, create, produce
from ..running import Processes, Running, manifest, new_name, next_life, until
from .iceberg.catalog import SINK, Catalog, sink_plugin, started_catalog
from .probe_plugin import all_planned, await_jvm, host_jvms

pytestmark = pytest.mark.slow

_CONVERTERS: Final = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin path with the sink."""
    return sink_plugin(tmp_path_factory.mktemp("iceberg"))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A catalog without tables."""
    folder = tmp_path / "catalog"
    folder.mkdir()
    with started_catalog(folder) as running:
        yield running


def put(servers: str, topic: str, numbers: range, partitions: int) -> None:
    """Write a row for each number, in turn to each partition."""
    for partition in range(partitions):
        rows = [
            {"id": n, "note": f"row {n} é", "ratio": n / 7, "ok": n % 2 == 0, "tags": ["a", str(n)]}
            for n in numbers[partition::partitions]
        ]
        values = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
        produce(servers, topic, values, partition=partition)


def await_rows(catalog: Catalog, table: str, count: int, run: Running) -> None:
    until(
        lambda: catalog.count(table) >= count,
        what=lambda: f"{catalog.count(table)} of {count} rows\n{run.last_words()}",
        moving=lambda: catalog.count(table),
    )


def test_penstock_and_kafka_connect_write_the_same_rows_and_offsets(
    processes: Processes, plugins: Path, catalog: Catalog, tmp_path: Path
) -> None:
    topic, name = "orders", new_name("iceberg")
    with EmbeddedKafka(tmp_path / "kafka") as kafka:
        servers = kafka.bootstrap_servers
        create(servers, topic, 3)
        create(servers, "control-iceberg")
        put(servers, topic, range(2_000), 3)
        config = {"topics": topic, **_CONVERTERS}
        with ConnectWorker(servers, tmp_path / "worker", plugin_path=str(plugins)) as worker:
            expected = {"connector.class": SINK, **config, **catalog.settings("shop.expected")}
            worker.do("POST", "/connectors", {"name": "expected", "config": expected})
            until(lambda: catalog.count("shop.expected") == 2_000, what="Kafka Connect writes all rows")
        # Without any property of its clients: they connect as the worker's.
        connector = manifest(name, SINK, {**config, **catalog.settings("shop.found")})
        run = processes.run([connector], servers, "--plugin-path", str(plugins))
        await_rows(catalog, "shop.found", 2_000, run)
        run.stop()
        assert catalog.rows("shop.found") == catalog.rows("shop.expected")
        assert committed(servers, f"connect-{name}") == committed(servers, "connect-expected")


def test_tasks_share_the_partitions_and_a_restart_with_more_tasks_loses_and_doubles_nothing(
    kafka: str, processes: Processes, plugins: Path, catalog: Catalog, topic: str
) -> None:
    create(kafka, topic, 5)
    create(kafka, control := f"control-{topic}")
    config = {"topics": topic, **_CONVERTERS, **catalog.settings("shop.orders"), "iceberg.control.topic": control}
    name, written = new_name("iceberg"), 0
    for tasks in (2, 3, 1):
        put(kafka, topic, range(written, written + 1_000), 5)
        written += 1_000
        connector = manifest(name, SINK, config, tasks_max=tasks)
        run = processes.run([connector], kafka, "--plugin-path", str(plugins))
        await_rows(catalog, "shop.orders", written, run)
        assert len(host_jvms(run)) == tasks
        run.stop()
    numbers = [int(row.split("id=")[1].split(",")[0]) for row in catalog.rows("shop.orders")]
    assert sorted(numbers) == list(range(written))


def change_offsets(arguments: list[str], connector: dict[str, Any], servers: str, plugins: Path, folder: Path) -> None:
    """Run `penstock offsets`."""
    file = folder / "connector.json"
    file.write_text(json.dumps(connector))
    options = ["--bootstrap-servers", servers, "--plugin-path", str(plugins), "--yes", str(file)]
    command = [sys.executable, "-m", "penstock_cli", "offsets", *arguments, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_offsets_are_altered_and_reset_while_it_is_stopped(
    kafka: str, processes: Processes, plugins: Path, catalog: Catalog, topic: str, tmp_path: Path
) -> None:
    create(kafka, topic, 2)
    create(kafka, control := f"control-{topic}")
    put(kafka, topic, range(200), 2)
    config = {"topics": topic, **_CONVERTERS, **catalog.settings("shop.orders"), "iceberg.control.topic": control}
    connector = manifest(new_name("iceberg"), SINK, config)
    position = {"partition": {"kafka_topic": topic, "kafka_partition": 1}, "offset": {"kafka_offset": 70}}
    (tmp_path / "offsets.json").write_text(json.dumps({"offsets": [position]}))
    changes: list[list[str]] = [["alter", "--offsets", str(tmp_path / "offsets.json")], ["reset"], []]
    rows = 0
    for again, change in zip((200, 30, 200), changes, strict=True):
        run = processes.run([connector], kafka, "--plugin-path", str(plugins))
        rows += again
        await_rows(catalog, "shop.orders", rows, run)
        run.stop()
        if change:
            change_offsets(change, connector, kafka, plugins, tmp_path)
    found = Counter(int(row.split("id=")[1].split(",")[0]) for row in catalog.rows("shop.orders"))
    assert found == Counter([*range(200), *range(141, 200, 2), *range(200)])


def test_each_row_is_there_once_after_kills(
    kafka: str, processes: Processes, plugins: Path, catalog: Catalog, topic: str
) -> None:
    create(kafka, topic, 4)
    create(kafka, control := f"control-{topic}")
    settings = catalog.settings("shop.orders")
    more = {"iceberg.control.topic": control, "iceberg.kafka.session.timeout.ms": 6_000}
    connector = manifest(
        new_name("iceberg"),
        SINK,
        {"topics": topic, **_CONVERTERS, **settings, **more},
        tasks_max=2,
        restart={"backoff": {"initial": "500ms", "max": "2s"}, "maxRestarts": 100},
    )
    run = processes.run([connector], kafka, "--plugin-path", str(plugins))
    chance = random.Random(7)
    for first in range(0, 5_000, 1_000):
        put(kafka, topic, range(first, first + 1_000), 4)
        until(lambda: len(host_jvms(run)) == 2, what=run.last_words)
        jvm = chance.choice(host_jvms(run))
        before = catalog.count("shop.orders")
        until(lambda: catalog.count("shop.orders") > before, what=run.last_words)  # noqa: B023
        jvm.kill()
    await_jvm(run)
    await_rows(catalog, "shop.orders", 5_000, run)
    run.stop()
    numbers = [int(row.split("id=")[1].split(",")[0]) for row in catalog.rows("shop.orders")]
    assert sorted(numbers) == list(range(5_000))


def test_a_task_that_hung_and_was_replaced_doubles_no_row(
    kafka: str, processes: Processes, plugins: Path, catalog: Catalog, topic: str
) -> None:
    create(kafka, topic, 2)
    create(kafka, control := f"control-{topic}")
    settings = catalog.settings("shop.orders")
    more = {"iceberg.control.topic": control, "iceberg.kafka.session.timeout.ms": 6_000}
    connector = manifest(new_name("iceberg"), SINK, {"topics": topic, **_CONVERTERS, **settings, **more})
    (spec,) = all_planned(connector, kafka, plugins)
    put(kafka, topic, range(200), 2)
    first = processes.task(spec)
    await_rows(catalog, "shop.orders", 200, first)
    put(kafka, topic, range(200, 400), 2)
    hung = first.tree()
    for process in hung:
        process.suspend()
    second = processes.task(next_life(spec))
    put(kafka, topic, range(400, 600), 2)
    await_rows(catalog, "shop.orders", 600, second)
    for process in hung:
        process.resume()
    assert first.await_exit() == ExitCode.SUPERSEDED, first.last_words()
    put(kafka, topic, range(600, 800), 2)
    await_rows(catalog, "shop.orders", 800, second)
    second.stop()
    numbers = [int(row.split("id=")[1].split(",")[0]) for row in catalog.rows("shop.orders")]
    assert sorted(numbers) == list(range(800))
