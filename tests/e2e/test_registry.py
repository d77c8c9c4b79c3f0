"""examples/debezium-avro: rows through Debezium, Avro and a registry into another database, and back, with faults."""

import json
from typing import Any, Final

import pytest
import yaml

from penstock_cli.__main__ import main

from ..integration.java.plugins import debezium
from ..integration.running import until
from .choosing import archive
from .cluster import ROOT, Cluster
from .place import Connector, Place
from .test_debezium import SEED, Shop
from .test_kubectl_plugin import Plugin, plugin

__all__ = ["plugin"]

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow, pytest.mark.timeout(1200)]  # images are loaded into its node
EXAMPLE: Final = ROOT / "examples" / "debezium-avro"
PATIENCE: Final = 240.0
"""Seconds of the machine: four connectors start, two of them with a JVM."""

NO_MORE_CHANGES: Final = """
CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER skip BEFORE INSERT OR UPDATE OR DELETE ON orders FOR EACH ROW EXECUTE FUNCTION skip();
"""
"""From then on, the shop's statements change no order."""


@pytest.fixture(scope="module")
def plugin_versions(kubernetes: Cluster, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """On the node, the images of the registry and of all plugins.

    Returns:
        The PluginVersions that were written with the images of the plugins.
    """
    kubernetes.component("load", archive("registry"))
    sources = {
        "penstock-sql": ROOT / "connectors" / "sql",
        "penstock-registry": ROOT / "connectors" / "registry",
        "debezium": debezium("postgres"),
        "debezium-jdbc": debezium("jdbc"),
    }
    found = []
    for name, path in sources.items():
        out = tmp_path_factory.mktemp(name)
        assert main(["plugin", "build", str(path), "--image", f"plugins.example/{name}", "--out", str(out)]) == 0
        kubernetes.component("load", str(out / f"{name}.tar"))
        found.append(yaml.safe_load((out / "pluginversion.yaml").read_text()))
    return found


class Registry:
    """The registry of examples/registry in the namespace of a test."""

    def __init__(self, place: Place) -> None:
        self._cluster, self._namespace = place.cluster, place.namespace
        self._cluster.apply((ROOT / "examples" / "registry" / "registry.yaml").read_text(), place.namespace)
        self._kubectl("rollout", "status", "statefulset/registry", "--timeout=100s")

    def ask(self, path: str) -> Any:
        service = f"/api/v1/namespaces/{self._namespace}/services/registry:8080/proxy/apis/ccompat/v7"
        return json.loads(self._kubectl("get", "--raw", service + path))

    def stop(self) -> None:
        """Kill it, and refuse connections to its Service until `start`. Its volume is kept, as its pod is."""
        self._select("nobody")
        pod = self._cluster.api.get("pods", self._namespace, "registry-0")
        assert pod is not None
        self._cluster.kill_pod(pod["metadata"]["uid"])

    def start(self) -> None:
        self._select("registry")
        until(lambda: self.ask("/subjects"), what="the registry answers")

    def _select(self, name: str) -> None:
        patch = {"spec": {"selector": {"app.kubernetes.io/name": name}}}
        self._kubectl("patch", "service", "registry", "--patch", json.dumps(patch))

    def _kubectl(self, *words: str) -> str:
        return self._cluster.kubectl("-n", self._namespace, *words)


def connectors(place: Place) -> dict[str, Connector]:
    """Apply those of the example, as they are."""
    text = (EXAMPLE / "connectors.yaml").read_text()
    place.cluster.apply(text, place.namespace)
    found = {c["metadata"]["name"]: c["spec"] for c in yaml.safe_load_all(text)}
    return {name: Connector(place.cluster, place.namespace, name, spec) for name, spec in found.items()}


def psql(place: Place, database: str, statements: str) -> list[list[Any]]:
    """Run statements in the PostgreSQL of examples/postgresql; the rows, each of which must be JSON."""
    words = ("exec", "-i", "postgresql-0", "-c", "postgresql", "--", "psql", "-qtAX", "-v", "ON_ERROR_STOP=1", database)
    printed = place.cluster.kubectl("-n", place.namespace, *words, stdin=statements)
    return [json.loads(line) for line in printed.splitlines()]


def rows(place: Place, database: str, table: str, columns: str) -> list[list[Any]]:
    """The rows of a table by its first column, or none if the table does not have these columns yet."""
    names = columns.split(", ")
    there = f"FROM information_schema.columns WHERE table_name = '{table}'"
    ((found,),) = psql(place, database, f"SELECT json_build_array(coalesce(json_agg(column_name), '[]')) {there}")
    if not {*names} <= {*found}:
        return []
    return psql(place, database, f"SELECT json_build_array({columns}) FROM {table} ORDER BY {names[0]}")


def has_value(place: Place, database: str, table: str, column: str) -> bool:
    """Whether a column is there, and not null in each row."""
    return any(value is not None for (value,) in rows(place, database, table, column))


def is_copied(place: Place, columns: str = "") -> bool:
    """Whether all orders are in the warehouse and all shipments in the shop, with the columns that were added."""
    orders, shipments = f"id, customer, price, changes{columns}", "order_id, state, changes, carrier"
    there = [rows(place, database, "orders", orders) for database in ("shop", "warehouse")]
    back = [rows(place, database, "shipments", shipments) for database in ("warehouse", "shop")]
    return there[0] == there[1] and back[0] == back[1]


def kill(connector: Connector) -> None:
    """Remove the pod of its task without a chance to end."""
    connector.kubectl("delete", "pod", connector.pod(), "--grace-period=0", "--force")


def waits(connector: Connector, plugin: Plugin, what: str) -> None:
    """Wait until its task cannot do this, as the registry is unavailable, and `kubectl penstock status` says so."""
    connector.says("Hindered", f"cannot {what}", "is unavailable", limit=PATIENCE)
    assert f"cannot {what}" in plugin("status", connector.name)


def test_rows_go_through_debezium_and_avro_into_another_database_and_back_while_the_registry_is_unavailable(
    place: Place, plugin_versions: list[dict[str, Any]], plugin: Plugin
) -> None:
    shop, registry = Shop(place), Registry(place)
    psql(place, "postgres", "CREATE DATABASE warehouse")
    psql(place, "warehouse", (EXAMPLE / "warehouse.sql").read_text())
    place.apply(*plugin_versions)
    every = connectors(place)
    for connector in every.values():
        connector.reaches("Running", PATIENCE)
    until(lambda: len(rows(place, "shop", "shipments", "order_id")) >= SEED, seconds=PATIENCE, what="all ways are open")
    schemas = {
        f"avro.{table}-{part}" for table in ("public.orders", "warehouse.shipments") for part in ("key", "value")
    }
    assert set(registry.ask("/subjects")) == schemas
    assert registry.ask("/config") == {"compatibilityLevel": "BACKWARD"}

    psql(place, "shop", "ALTER TABLE orders ADD COLUMN coupon text")  # changed orders get one from now on
    psql(place, "warehouse", "ALTER TABLE shipments ADD COLUMN carrier text, ALTER COLUMN carrier SET DEFAULT 'post'")
    until(lambda: has_value(place, "warehouse", "orders", "coupon"), seconds=PATIENCE, what="a coupon arrives")
    until(lambda: has_value(place, "shop", "shipments", "carrier"), seconds=PATIENCE, what="a carrier arrives")
    for table in ("public.orders", "warehouse.shipments"):
        assert registry.ask(f"/subjects/avro.{table}-value/versions") == [1, 2]

    registry.stop()
    source, sink = every["shop-to-avro"], every["avro-to-warehouse"]
    kill(sink)
    waits(sink, plugin, "find the schema with id")  # the source knows all schemas, and delivers
    psql(place, "shop", "ALTER TABLE orders ADD COLUMN gift boolean")
    psql(place, "shop", "UPDATE orders SET gift = true, changes = changes + 1 WHERE mod(id, 10) = 0")
    waits(source, plugin, "register a schema in subject avro.public.orders-value")
    kill(source)
    waits(source, plugin, "register a schema in subject avro.public.orders-key")
    before = len(shop.changes())
    until(lambda: len(shop.changes()) > before, what="orders change meanwhile")

    registry.start()
    for connector in every.values():
        connector.reaches("Running", PATIENCE)
    until(lambda: has_value(place, "warehouse", "orders", "gift"), seconds=PATIENCE, what="a gift arrives")
    assert registry.ask("/subjects/avro.public.orders-value/versions") == [1, 2, 3]
    psql(place, "shop", NO_MORE_CHANGES)
    until(lambda: is_copied(place, ", coupon, gift"), seconds=PATIENCE, what="all rows are copied")

    changes = shop.changes()
    records = place.kafka.records("avro.public.orders", least=len(changes))
    assert len([r for r in records if r.value is not None]) == len(changes), "each change is in the topic once"
    kept = {order for (order,) in rows(place, "shop", "orders", "id")}
    shipped = rows(place, "shop", "shipments", "order_id, state")
    assert {order for order, state in shipped if state == "packed"} == kept
    # An order that was deleted in the batch in which it arrived has no shipment.
    assert {order for order, state in shipped if state == "cancelled"} <= {n for n, _, kind in changes if kind == "d"}
