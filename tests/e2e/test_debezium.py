"""Debezium, unmodified, on a PostgreSQL whose orders change all the time: versions, lost nodes, certificates."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from penstock_cli.__main__ import main

from ..integration.java.plugins import DEBEZIUM, EARLIER_DEBEZIUM, debezium, earlier_debezium
from .cluster import ROOT, Cluster
from .place import Connector, Place, task
from .test_java_plugins import POSTGRES, java
from .test_lost_nodes import cordoned

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow, pytest.mark.timeout(600)]  # images are loaded into its node
SHOP = ROOT / "examples" / "postgresql"
SEED = 1000

Change = tuple[int, int, str]
"""An order, the number of its change, and its kind."""


class Shop:
    """The database of examples/postgresql; its orders change once so many stream its changes.

    Args:
        place: its namespace.
        readers: so many.
        tls: the name of a Secret with its certificate and key; empty: it has none.
    """

    def __init__(self, place: Place, readers: int = 1, tls: str = "") -> None:
        self._cluster, self._namespace = place.cluster, place.namespace
        place.secret("postgresql", password="not-guessed")
        place.config_map("shop", {"shop.sql": (SHOP / "shop.sql").read_text()})
        text = (SHOP / "postgresql.yaml").read_text()
        text = text.replace("penstock-demo-postgresql:0.1.0", place.cluster.images["postgresql"])
        text = text.replace('{name: READERS, value: "1"}', f'{{name: READERS, value: "{readers}"}}')
        self._cluster.apply(_with_certificate(text, tls) if tls else text, place.namespace)
        self._kubectl("rollout", "status", "statefulset/postgresql", "--timeout=100s")

    def changes(self) -> list[Change]:
        """All changes until now, in commit order; the first orders are there once."""
        select = "SELECT json_build_array(id, change, op) FROM journal ORDER BY number"
        words = ("exec", "postgresql-0", "-c", "postgresql", "--", "psql", "-qtAX", "-c", select, "shop")
        return [(order, change, kind) for order, change, kind in map(json.loads, self._kubectl(*words).splitlines())]

    def _kubectl(self, *words: str) -> str:
        return self._cluster.kubectl("-n", self._namespace, *words)


def _with_certificate(text: str, secret: str) -> str:
    """The manifests of a database that speaks TLS."""
    service, database = yaml.safe_load_all(text)
    pod = database["spec"]["template"]["spec"]
    pod["volumes"].append({"name": "tls", "secret": {"secretName": secret, "defaultMode": 0o440}})
    server = pod["containers"][0]
    server["volumeMounts"].append({"name": "tls", "mountPath": "/tls"})
    for setting in ("ssl=on", "ssl_cert_file=/tls/tls.crt", "ssl_key_file=/tls/tls.key"):
        server["args"] += ["-c", setting]
    return yaml.safe_dump_all([service, database])


class Image(NamedTuple):
    """An image of Debezium's archive.

    Attributes:
        plugin_version: that was written with it.
        archive: archive of the image, for a node that joins later.
    """

    plugin_version: dict[str, Any]
    archive: Path


@pytest.fixture(scope="module")
def versions(kubernetes: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    """On the node, an image of the archive of each version."""
    made = {}
    for version, archive in ((EARLIER_DEBEZIUM, earlier_debezium("postgres")), (DEBEZIUM, debezium("postgres"))):
        folder = tmp_path_factory.mktemp(version)
        assert main(["plugin", "build", str(archive), "--image", "plugins.example/debezium", "--out", str(folder)]) == 0
        document = yaml.safe_load((folder / "pluginversion.yaml").read_text())
        made[version] = Image(document, folder / "debezium.tar")
        kubernetes.component("load", str(made[version].archive))
    return made


def read_by(place: Place, connector: Connector, least: int, seconds: float = 60) -> list[Change]:
    """The changes in the topic of a connector, when there are so many."""
    found: list[Change] = []
    for record in place.kafka.records(f"{connector.topic}.public.orders", least=least, seconds=seconds):
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


def reader(place: Place, name: str, version: str, config: dict[str, Any] | None = None, **spec: Any) -> Connector:
    """Debezium on the shop's orders."""
    whole = {
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
        **(config or {}),
    }
    return place.connector(name, POSTGRES, whole, version=version, **spec)


def assert_each_once(place: Place, shop: Shop, *connectors: Connector) -> None:
    """Each of them has read all changes until now once, in their order."""
    changes = shop.changes()
    for connector in connectors:
        read = read_by(place, connector, len(changes))[: len(changes)]
        assert sorted(read[:SEED]) == sorted(changes[:SEED])  # a snapshot has its own order
        assert read[SEED:] == changes[SEED:]


def test_of_two_versions_side_by_side_one_is_upgraded_killed_and_taken_back_and_no_change_is_lost_or_doubled(
    place: Place, versions: dict[str, Image]
) -> None:
    shop = Shop(place, readers=2)
    place.apply(*(java(f"debezium-{version.lower()}", image.plugin_version) for version, image in versions.items()))
    one, other = reader(place, "one", EARLIER_DEBEZIUM), reader(place, "other", DEBEZIUM)
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
    assert_each_once(place, shop, one, other)


@pytest.mark.timeout(900)
def test_debezium_moves_from_a_node_that_is_drained_and_from_one_that_is_frozen_and_no_change_is_lost_or_doubled(
    place: Place, versions: dict[str, Image], second_node: str
) -> None:
    cluster, first_node = place.cluster, f"penstock-{place.cluster.name}"
    with cordoned(cluster, second_node):
        shop = Shop(place)
    cluster.component("load", "--node", "2", str(versions[DEBEZIUM].archive))
    place.apply(java("debezium", versions[DEBEZIUM].plugin_version))
    with cordoned(cluster, first_node):
        source = reader(place, "orders", DEBEZIUM, template={"terminationGracePeriodSeconds": 10})
        source.reaches("Running", 240)
        read_by(place, source, SEED + 20)
    assert node_of(source) == second_node

    cluster.kubectl("drain", second_node, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=100s")
    source.until(lives(2), "its task has left the node", 180)
    assert node_of(source) == first_node
    source.tells("TaskLost", "the eviction API removed pod")
    assert_each_once(place, shop, source)

    cluster.kubectl("uncordon", second_node)
    with cordoned(cluster, first_node):
        source.kubectl("delete", "pod", source.pod())
        source.until(lives(3), "its task is on the second node", 180)
    assert node_of(source) == second_node
    read_by(place, source, len(shop.changes()))
    frozen = source.pod()
    cluster.component("freeze")
    source.until(lives(4), "its task runs on the first node", 240)
    source.tells("TaskLost", f"node {second_node}")
    assert frozen in source.pods(), "nobody can end it"
    # PostgreSQL gives up the reader before, which holds the slot, after wal_sender_timeout: a minute.
    read_by(place, source, len(shop.changes()), seconds=180)
    cluster.component("thaw")
    source.until_pods(lambda pods: frozen not in pods, "the node has ended what ran there", 120)
    assert_each_once(place, shop, source)
    assert node_of(source) == first_node


def node_of(connector: Connector) -> str:
    """Where its only task runs."""
    return str(connector.pods()[connector.pod()]["spec"]["nodeName"])


def lives(incarnation: int) -> Callable[[Any], bool]:
    """The claim that its only task has come to run again."""

    def claim(found: Any) -> bool:
        own = task(found)
        return int(own.get("incarnation", 0)) >= incarnation and own["state"] == "Running"

    return claim


def test_debezium_trusts_the_certificate_of_a_mounted_secret_and_no_other(
    place: Place, versions: dict[str, Image], tmp_path: Path
) -> None:
    for name in ("ours", "theirs"):
        options = f"-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -addext subjectAltName=DNS:postgresql"
        files = ("-keyout", str(tmp_path / f"{name}.key"), "-out", str(tmp_path / f"{name}.crt"))
        subprocess.run(["openssl", "req", *options.split(), *files], check=True, capture_output=True)
    texts = {file.name: file.read_text() for file in tmp_path.iterdir()}
    place.secret("postgresql-tls", **{"tls.crt": texts["ours.crt"], "tls.key": texts["ours.key"]})
    certificates = {name: text for name, text in texts.items() if name.endswith(".crt")}
    place.secret("orders-tls", password="not-guessed", **certificates)
    shop = Shop(place, tls="postgresql-tls")
    place.apply(java("debezium", versions[DEBEZIUM].plugin_version))
    template = {
        "volumes": [{"name": "orders-tls", "secret": {"secretName": "orders-tls", "defaultMode": 0o440}}],
        "volumeMounts": [{"name": "orders-tls", "mountPath": "/etc/orders-tls", "readOnly": True}],
    }
    config = {
        "database.password": "${dir:/etc/orders-tls:password}",
        "database.sslmode": "verify-full",
        "database.sslrootcert": "/etc/orders-tls/theirs.crt",
    }
    source = reader(place, "orders", DEBEZIUM, config, template=template)
    source.says("ConfigInvalid", "database.hostname", "SSL error", "PKIX path building failed", limit=180)
    source.configure(database_sslrootcert="/etc/orders-tls/ours.crt")
    source.reaches("Running", 240)
    read_by(place, source, SEED + 20)
    assert_each_once(place, shop, source)
