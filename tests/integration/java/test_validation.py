"""`penstock validate` of Debezium's and MongoDB's connectors finds what Kafka Connect's REST API finds."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from connectors.sql.tests.conftest import Database

from penstock_cli.embedded import EmbeddedKafka

from ..connect_worker import ConnectWorker
from ..ports import free_port
from ..running import manifest
from .capture import capture
from .plugins import debezium, folder_of, mongodb

pytestmark = pytest.mark.slow

CLASSES: Final = {
    "mongodb": "com.mongodb.kafka.connect.MongoSinkConnector",
    "mysql": "io.debezium.connector.mysql.MySqlConnector",
    "postgres": "io.debezium.connector.postgresql.PostgresConnector",
}
# Each property is wrong; required ones are missing besides.
FAULTY: Final[Mapping[str, Mapping[str, str]]] = {
    "mongodb": {
        "topics": "orders",
        "connection.uri": "http://nowhere",
        "max.batch.size": "many",
        "writemodel.strategy": "-",
        "delete.on.null.values": "maybe",
        "mongo.errors.tolerance": "some",
        "timeseries.granularity": "years",
    },
    "mysql": {
        "database.port": "not-a-port",
        "topic.prefix": "a b/c",
        "database.server.id": "-1",
        "snapshot.mode": "sometimes",
        "max.queue.size": "100",
        "decimal.handling.mode": "exact",
        "table.include.list": "[broken",
        "table.exclude.list": "a.b",
        "poll.interval.ms": "soon",
    },
    "postgres": {
        "database.port": "-",
        "slot.name": "Not-A-Slot",
        "plugin.name": "wal2json",
        "publication.autocreate.mode": "never",
        "snapshot.mode": "sometimes",
        "hstore.handling.mode": "tree",
        "message.key.columns": "no colon",
        "column.include.list": "(",
        "column.exclude.list": ")",
        "heartbeat.interval.ms": "-5",
        "slot.max.retries": "many",
    },
}


DATABASES: Final = tuple(name for name in CLASSES if name != "mongodb")


def plugin_path(plugin: str) -> Path:
    """What is on the plugin path of Penstock."""
    return mongodb() if plugin == "mongodb" else debezium(plugin)


def connect_path(plugin: str) -> Path:
    """What is on the plugin path of Kafka Connect, which takes no archives."""
    return mongodb().parent if plugin == "mongodb" else folder_of(debezium(plugin))


def plausible(plugin: str) -> dict[str, str]:
    """A configuration without a fault, of a server that does not run."""
    given = {
        "database.hostname": "127.0.0.1",
        "database.port": str(free_port()),
        "database.user": "reader",
        "database.password": "pa55",
        "topic.prefix": "shop",
    }
    if plugin == "postgres":
        return {**given, "database.dbname": "shop"}
    return {
        **given,
        "database.server.id": "5400",
        "schema.history.internal.kafka.topic": "history",
        "schema.history.internal.kafka.bootstrap.servers": "127.0.0.1:9092",
    }


def validate(plugin: str, config: Mapping[str, str], file: Path) -> "subprocess.CompletedProcess[str]":
    """Run `penstock validate` on a manifest with this configuration."""
    file.write_text(json.dumps(manifest("validated", CLASSES[plugin], config)))
    command = [
        sys.executable,
        "-m",
        "penstock_cli",
        "validate",
        "--plugin-path",
        str(plugin_path(plugin)),
        str(file),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def penstock_finds(plugin: str, config: Mapping[str, str], folder: Path) -> list[tuple[str, str]]:
    """Properties and messages that `penstock validate` prints."""
    file = folder / "manifest.yaml"
    done = validate(plugin, config, file)
    assert done.returncode == 2, done.stderr
    begin = rf"(?:^|\n)(?:  |penstock: ){re.escape(str(file))}[^\n]*?Connector validated: "
    _, *problems = re.split(begin, done.stderr.rstrip("\n"))
    assert problems, done.stderr
    return sorted((p.partition(": ")[0], p.partition(": ")[2]) for p in problems)


def connect_finds(connect: ConnectWorker, plugin: str, config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Properties and messages that the REST API answers."""
    name = CLASSES[plugin]
    body = {"name": "validated", "connector.class": name, **config}
    answer = connect.do("PUT", f"/connector-plugins/{name}/config/validate", body)
    values = [each["value"] for each in answer["configs"] if each["value"]]
    found = [(value["name"], message) for value in values for message in value["errors"]]
    assert len(found) == answer["error_count"]
    hidden = config.get("connection.uri")  # Kafka Connect shows it, with the password in it
    if hidden:
        found = [(name, message.replace(hidden, "[hidden]")) for name, message in found]
    return sorted(set(found))  # Debezium checks a field again for each field that depends on it


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectWorker]:
    """Kafka Connect with the three connectors."""
    folder = tmp_path_factory.mktemp("connect")
    plugins = ",".join(str(connect_path(plugin)) for plugin in CLASSES)
    with (
        EmbeddedKafka(folder / "kafka") as broker,
        ConnectWorker(
            broker.bootstrap_servers, folder / "worker", plugin_path=plugins, plugin_discovery="hybrid_warn"
        ) as worker,
    ):
        yield worker


@pytest.mark.parametrize("plugin", sorted(CLASSES))
def test_faulty_configuration_gets_the_errors_of_kafka_connect(
    connect: ConnectWorker, plugin: str, tmp_path: Path
) -> None:
    expected = connect_finds(connect, plugin, FAULTY[plugin])
    assert FAULTY[plugin].keys() - {"topics"} <= {name for name, _ in expected}
    assert penstock_finds(plugin, FAULTY[plugin], tmp_path) == expected


@pytest.mark.parametrize("plugin", DATABASES)
def test_only_the_connection_fails_where_the_configuration_is_sound(
    connect: ConnectWorker, plugin: str, tmp_path: Path
) -> None:
    config = plausible(plugin)
    found = penstock_finds(plugin, config, tmp_path)
    assert found == connect_finds(connect, plugin, config)
    assert [name for name, _ in found] == ["database.hostname"]
    assert "connection" in found[0][1].lower()


def test_sound_configuration_of_a_running_server_is_valid_and_exactly_once(database: Database, tmp_path: Path) -> None:
    done = validate("postgres", capture(database, "shop"), tmp_path / "manifest.yaml")
    assert (done.returncode, done.stdout) == (0, "validated: valid (source, 1 task, exactly once)\n"), done.stderr


def test_only_the_connection_of_mongodbs_sink_fails_where_the_configuration_is_sound(
    connect: ConnectWorker, tmp_path: Path
) -> None:
    uri = f"mongodb://127.0.0.1:{free_port()}/?connectTimeoutMS=100&serverSelectionTimeoutMS=100"
    config = {"topics": "orders,payments", "database": "shop", "connection.uri": uri}
    found = penstock_finds("mongodb", config, tmp_path)
    assert found == connect_finds(connect, "mongodb", config)
    assert [name for name, _ in found] == ["connection.uri"]


def test_each_faulty_property_of_a_topic_of_mongodbs_sink_gets_the_errors_of_kafka_connect(
    connect: ConnectWorker, tmp_path: Path
) -> None:
    config = {
        "topics": "orders",
        "database": "shop",
        "connection.uri": "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100",
        "document.id.strategy": "no.such.Strategy",
        "post.processor.chain": "no.such.Processor",
        "change.data.capture.handler": "no.such.Handler",
    }
    found = penstock_finds("mongodb", config, tmp_path)
    assert found == connect_finds(connect, "mongodb", config)
    assert {"document.id.strategy", "post.processor.chain", "change.data.capture.handler"} <= {
        name for name, _ in found
    }
