"""Java connectors from an image that holds nothing but jars (KIP-891). With kubectl alone."""

import urllib.request
from typing import Any

import pytest
import yaml

from penstock_cli.__main__ import main
from penstock_cli.plugin.runtime_image import ARCHITECTURES, this_architecture

from ..integration.java.plugins import debezium
from ..integration.java.probe_plugin import SOURCE, Probe, probe
from .cluster import Cluster
from .place import Connector, Place, condition, task
from .test_plugin_versions import configuration, copying

__all__ = ["Probe", "copying", "probe"]

pytestmark = pytest.mark.own_cluster  # there is no registry: images are loaded into its node
TEXTS = {"value.converter": "StringConverter", "key.converter": "StringConverter"}
POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"


@pytest.fixture(scope="module")
def built(kubernetes: Cluster, probe: Probe, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """On the node, an image of Debezium's archive and our own plugin in three versions, one as a bare jar.

    It says that it is for another architecture than the node's, which does not count.

    Returns:
        The PluginVersion that was written with it.
    """
    folder = tmp_path_factory.mktemp("image")
    plugins = folder / "plugins"
    for version in ("1.0.0", "2.0.0"):
        probe.jar(plugins / f"probe-{version}" / "probe.jar", version)
    probe.jar(plugins / "probe-3.0.0.jar", "3.0.0")
    (other,) = {*ARCHITECTURES} - {this_architecture()}
    options = ("--image", "plugins.example/connect", "--out", str(folder), "--architecture", other)
    assert main(["plugin", "build", str(debezium("postgres")), str(plugins), *options]) == 0
    kubernetes.component("load", str(folder / "connect.tar"))
    document: dict[str, Any] = yaml.safe_load((folder / "pluginversion.yaml").read_text())
    return document


def java(name: str, built: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**built, "metadata": {"name": name}, "spec": {**built["spec"], **spec}}


def says(place: Place, name: str, reason: str, words: str) -> dict[str, Any]:
    """The status of a PluginVersion, once it says that of itself."""

    def claim(found: Any) -> dict[str, Any] | None:
        ready = condition(found or {})
        said = ready.get("reason") == reason and words in ready["message"]
        return found["status"] if said else None

    return place.cluster.api.until("pluginversions", place.namespace, name, claim, f"{reason}: {words}", 120)


def test_a_java_connector_runs_in_the_version_that_it_asks_for_from_an_image_with_nothing_but_jars(
    place: Place, built: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.apply(java("connect", built))
    probe = place.connector("probe", SOURCE, {"topic": f"{place.namespace}.probe", **TEXTS}, version="[1,2)")
    status = says(place, "connect", "Verified", "status.classes lists them")
    listed = {(c["class"], c["version"], *c["paths"]) for c in status["classes"] if c["type"] == "source"}
    assert {(SOURCE, "1.0.0", "probe-1.0.0"), (SOURCE, "2.0.0", "probe-2.0.0")} < listed
    assert (POSTGRES, "3.6.1.Final", "debezium-connector-postgres") in listed

    found = probe.reaches("Running")
    plugin = found["status"]["connector"]
    assert (plugin["version"], plugin["pluginVersion"]) == ("1.0.0", "connect")
    assert task(found)["versions"]["connector"] == "1.0.0"
    values = [r.value for r in place.kafka.records(probe.topic, least=100)]
    assert values[:100] == [f"0:{n}".encode() for n in range(100)]
    assert any(line.startswith("kafka_connect_plugins_calls") for line in metrics(probe)), "its JVM answers"

    hostname = configuration(place, POSTGRES, monkeypatch)["database.hostname"]
    assert (hostname["type"], hostname["importance"], hostname["group"]) == ("STRING", "HIGH", "Postgres")

    orders = place.connector("orders", POSTGRES, {"topic.prefix": "shop"})
    orders.says("ConfigInvalid", "database.hostname")


def metrics(connector: Connector) -> list[str]:
    """The lines at the metrics port of its only task's pod, which is the one port that a NetworkPolicy opens."""
    (pod,) = connector.pods().values()
    (port,) = (p["containerPort"] for c in pod["spec"]["containers"] for p in c["ports"] if p["name"] == "metrics")
    with urllib.request.urlopen(f"http://{pod['status']['podIP']}:{port}/metrics", timeout=30) as answer:
        return str(answer.read().decode()).splitlines()


@pytest.mark.slow
def test_an_image_that_cannot_be_had_or_holds_no_plugins_at_its_path_says_so(
    place: Place, built: dict[str, Any]
) -> None:
    place.apply(
        java("elsewhere", built, path="/kafka/connect"),
        java("gone", built, image=f"plugins.example/gone@sha256:{'0' * 64}"),
    )
    says(place, "elsewhere", "VerificationFailed", "has no folder /kafka/connect; set spec.path to the folder")
    says(place, "gone", "ErrImagePull", "")


@pytest.mark.slow
@pytest.mark.usefixtures("copying")
def test_without_image_volumes_the_jars_of_one_plugin_are_copied(place: Place, built: dict[str, Any]) -> None:
    place.apply(java("connect", built))
    probe = place.connector("probe", SOURCE, {"topic": f"{place.namespace}.probe", **TEXTS})
    found = probe.reaches("Running", 180)
    assert found["status"]["connector"]["version"] == "3.0.0"
    (pod,) = probe.pods().values()
    (_, copy) = pod["spec"]["initContainers"]
    assert (copy["image"], copy["command"][-2]) == (built["spec"]["image"], "/plugins/probe-3.0.0.jar")
    assert place.kafka.records(probe.topic, least=1)[0].value == b"0:0"
