"""Faults of a database, as the SQL connectors meet them."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml
from connectors.sql.tests.conftest import Database, Server

from penstock_cli.plugin.build import build

from ...cluster import ROOT
from ...place import Connector
from ..fault import Fault, Says, Scene, Steps, World, named

__all__ = ["FAULTS"]


def _version(world: World) -> dict[str, Any]:
    """The PluginVersion of the SQL connectors, whose image is on the node."""
    with world.lock:
        if "sql" not in world.made:
            folder = world.folder / "sql"
            built = build(ROOT / "connectors" / "sql", "plugins.example/penstock-sql", folder)
            world.cluster.component("load", str(built.archive))
            world.made["sql"] = yaml.safe_load((folder / "pluginversion.yaml").read_text())
        made: dict[str, Any] = world.made["sql"]
        return made


def _server(scene: Scene) -> Server:
    """A PostgreSQL on this machine, which pods reach by the cluster's interface."""
    if "server" not in scene.notes:
        folder = Path(tempfile.mkdtemp(prefix="penstock-postgresql-"))
        scene.ends.callback(shutil.rmtree, folder)
        server = Server(folder, listen="*")
        scene.ends.callback(server.stop)
        server.start()
        scene.notes["server"] = server
    found: Server = scene.notes["server"]
    return found


def _host() -> str:
    shown = subprocess.run(["ip", "-4", "-oneline", "address"], capture_output=True, text=True, check=True).stdout
    hosts: list[str] = re.findall(r"\bps-\S+\s+inet (\d+\.\d+\.\d+\.\d+)", shown)
    return hosts[-1]


def _sink(host: str = "", port: int = 0, database: str = "postgres", **config: Any) -> Callable[[Scene], Connector]:
    """A sink into the table `orders`, of records with a schema."""

    def made(scene: Scene) -> Connector:
        version, server = _version(scene.world), _server(scene)
        scene.place.apply({**version, "metadata": {"name": version["metadata"]["name"]}})
        topic = f"{scene.place.namespace}.orders"
        _write(scene, 1)
        url = f"jdbc:postgresql://{host or _host()}:{port or server.port}/{database}"
        own = {
            **Database(server, "postgres").properties,
            "connection.url": url,
            "topics": topic,
            "table.name.format": "orders",
            "insert.mode": "upsert",
            "pk.mode": "record_value",
            "pk.fields": "id",
            "auto.create": True,
            "value.converter": "JsonConverter",
            "value.converter.schemas.enable": True,
            "consumer.override.auto.offset.reset": "earliest",
            **named(config),
        }
        return scene.place.unapplied("tables", "SqlSink", own)

    return made


def _write(scene: Scene, number: int) -> None:
    schema = '{"type":"struct","fields":[{"field":"id","type":"int64"}]}'
    record = f'{{"schema":{schema},"payload":{{"id":{number}}}}}'
    scene.place.kafka.write(f"{scene.place.namespace}.orders", [record])


def _stops(scene: Scene) -> None:
    _server(scene).stop()
    _write(scene, 2)


def _starts(scene: Scene) -> None:
    _server(scene).start()


def _stops_and_pod_goes(scene: Scene) -> None:
    _stops(scene)
    scene.connector.kubectl("delete", "pod", scene.connector.pod(), "--wait=false")


def _database_comes(scene: Scene) -> None:
    _server(scene).create_database("shop")


def _table_comes(scene: Scene) -> None:
    Database(_server(scene), "postgres").run("CREATE TABLE orders (id BIGINT PRIMARY KEY)")


def _configured(**config: Any) -> Steps:
    return lambda scene: scene.connector.configure(**config)


def _right_url(scene: Scene) -> None:
    scene.connector.configure(connection_url=f"jdbc:postgresql://{_host()}:{_server(scene).port}/postgres")


FAULTS: Final = (
    Fault(
        "a database's host does not exist",
        "`connection.url` names an unknown host",
        Says("Unavailable|Starting|Hindered|ConfigInvalid", ("db.nowhere.example",)),
        "correct `connection.url`",
        _sink(host="db.nowhere.example"),
        remove=_right_url,
        needs_user=True,
    ),
    Fault(
        "nothing listens at a database's port",
        "`connection.url` names a wrong port, or the database is not up yet",
        Says("Unavailable|Starting|Hindered|ConfigInvalid", ("refused",)),
        "correct `connection.url`, or start the database",
        _sink(port=1),
        remove=_right_url,
        needs_user=True,
    ),
    Fault(
        "a wrong password of a database",
        "`connection.password` is wrong",
        Says("ConfigInvalid|TasksFailed|Unavailable", ("password authentication failed",)),
        "correct the password, preferably in a Secret",
        _sink(connection_password="wrong"),
        remove=_configured(connection_password="secret"),
        needs_user=True,
    ),
    Fault(
        "a database does not exist",
        "`connection.url` names a database that does not exist",
        Says("ConfigInvalid|TasksFailed|Unavailable|Starting|Hindered", ('"shop" does not exist',)),
        "create the database; the connector starts automatically",
        _sink(database="shop"),
        remove=_database_comes,
    ),
    Fault(
        "a table does not exist",
        "`auto.create` is false, and the table does not exist",
        Says("TasksFailed|Hindered|Unavailable|ConfigInvalid", ("orders", "auto.create")),
        "create the table, or set `auto.create`",
        _sink(auto_create=False),
        remove=_table_comes,
        watched=60,
        recovery=330,
    ),
    Fault(
        "a database stops",
        "the database of a sink is stopped while records arrive",
        Says("Hindered|Unavailable", ("refused",)),
        "start the database; the sink continues automatically",
        _sink(),
        _stops,
        _starts,
    ),
    Fault(
        "a database stops and a pod is replaced",
        "the database is stopped, and then the sink's pod is deleted",
        Says("Unavailable|Starting|Hindered|TasksLost", ("refused",)),
        "start the database; the sink continues automatically",
        _sink(),
        _stops_and_pod_goes,
        _starts,
    ),
)
