"""Debezium, unmodified, in two versions side by side, on a PostgreSQL whose orders change all the time."""

import json
from typing import Any

import pytest
import yaml

from penstock_runtime.cli import main

from ..integration.java.plugins import DEBEZIUM, EARLIER_DEBEZIUM, debezium, earlier_debezium
from .cluster import ROOT, Cluster
from .place import Connector, Place, task
from .test_java_plugins import POSTGRES, java

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow]  # images are loaded into its node
SHOP = ROOT / "examples" / "postgresql"
SEED = 1000

Change = tuple[int, int, str]
"""An order, the number of its change, and its kind."""


class Shop:
    """The database of examples/postgresql; its orders change once so many stream its changes."""

    def __init__(self, place: Place, readers: int) -> None:
        self._cluster, self._namespace = place.cluster, place.namespace
        place.secret("postgresql", password="not-guessed")
        place.config_map("shop", {"shop.sql": (SHOP / "shop.sql").read_text()})
        text = (SHOP / "postgresql.yaml").read_text()
        text = text.replace("penstock-demo-postgresql:0.1.0", place.cluster.images["postgresql"])
        text = text.replace('{name: READERS, value: "1"}', f'{{name: READERS, value: "{readers}"}}')
        self._cluster.apply(text, place.namespace)
        self._kubectl("rollout", "status", "statefulset/postgresql", "--timeout=100s")

    def changes(self) -> list[Change]:
        """All changes until now, in commit order; the first orders are there once."""
        select = "SELECT json_build_array(id, change, op) FROM journal ORDER BY number"
        words = ("exec", "postgresql-0", "-c", "postgresql", "--", "psql", "-qtAX", "-c", select, "shop")
        return [(order, change, kind) for order, change, kind in map(json.loads, self._kubectl(*words).splitlines())]

    def _kubectl(self, *words: str) -> str:
        return self._cluster.kubectl("-n", self._namespace, *words)


@pytest.fixture(scope="module")
def versions(kubernetes: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """On the node, an image of the archive of each version; the PluginVersions that were written with them."""
    made = {}
    for version, archive in ((EARLIER_DEBEZIUM, earlier_debezium("postgres")), (DEBEZIUM, debezium("postgres"))):
        folder = tmp_path_factory.mktemp(version)
        assert main(["plugin", "build", str(archive), "--image", "plugins.example/debezium", "--out", str(folder)]) == 0
        made[version] = yaml.safe_load((folder / "pluginversion.yaml").read_text())
        kubernetes.component("load", str(folder / "debezium.tar"))
    return made


def read_by(place: Place, connector: Connector, least: int) -> list[Change]:
    """The changes in the topic of a connector, when there are so many."""
    found: list[Change] = []
    for record in place.kafka.records(f"{connector.topic}.public.orders", least=least):
        event: dict[str, Any] = json.loads(record.value or b"")
        after, before = event["after"], event["before"]
        change = (after["id"], after["changes"]) if after else (before["id"], before["changes"] + 1)
        found.append((*change, event["op"]))
    return found


def runs(connector: Connector, version: str) -> None:
    def there(found: Any) -> bool | None:
        return (task(found).get("versions") or {}).get("connector") == version or None

    connector.reaches("Running", 180)
    connector.until(there, f"its task runs {version}", 120)


def test_of_two_versions_side_by_side_one_is_upgraded_killed_and_taken_back_and_no_change_is_lost_or_doubled(
    place: Place, versions: dict[str, dict[str, Any]]
) -> None:
    shop = Shop(place, readers=2)
    place.apply(*(java(f"debezium-{version.lower()}", built) for version, built in versions.items()))

    def reader(name: str, version: str) -> Connector:
        config = {
            "database.hostname": "postgresql",
            "database.port": "5432",
            "database.user": "penstock",
            "database.password": "${secret:postgresql:password}",
            "database.dbname": "shop",
            "plugin.name": "pgoutput",
            "publication.name": name,
            "publication.autocreate.mode": "filtered",
            "slot.name": name,
            "topic.prefix": f"{place.namespace}.{name}",
            "table.include.list": "public.orders",
            "tombstones.on.delete": False,
            "key.converter": "JsonConverter",
        }
        return place.connector(name, POSTGRES, config, version=version)

    one, other = reader("one", EARLIER_DEBEZIUM), reader("other", DEBEZIUM)
    runs(one, EARLIER_DEBEZIUM)
    runs(other, DEBEZIUM)
    for connector in (one, other):
        assert {kind for *_, kind in read_by(place, connector, SEED)[:SEED]} == {"r"}

    one.apply(version=DEBEZIUM)
    runs(one, DEBEZIUM)
    read_by(place, one, len(shop.changes()))
    other.kill()
    one.kill()
    for connector in (one, other):
        read_by(place, connector, len(shop.changes()))
    one.apply(version=EARLIER_DEBEZIUM)
    runs(one, EARLIER_DEBEZIUM)

    changes = shop.changes()
    for connector in (one, other):
        read = read_by(place, connector, len(changes))[: len(changes)]
        assert sorted(read[:SEED]) == sorted(changes[:SEED])  # a snapshot has its own order
        assert read[SEED:] == changes[SEED:]
