"""Java connectors from an image that holds nothing but jars (KIP-891). With kubectl alone."""

import shutil
from typing import Any

import pytest

from penstock_runtime.local.plugin.archive import write_image

from ..integration.java.plugins import debezium, folder_of
from ..integration.java.probe_plugin import SOURCE, Probe, probe
from .cluster import Cluster
from .place import Place, condition, task
from .test_plugin_versions import copying

__all__ = ["Probe", "copying", "probe"]

pytestmark = pytest.mark.own_cluster  # there is no registry: images are loaded into its node
TEXTS = {"value.converter": "StringConverter", "key.converter": "StringConverter"}
POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"


@pytest.fixture(scope="module")
def image(kubernetes: Cluster, probe: Probe, tmp_path_factory: pytest.TempPathFactory) -> str:
    """On the node, an image with Debezium's archive as it is, and our own plugin in three versions, one as a bare jar."""
    folder = tmp_path_factory.mktemp("image")
    plugins = folder / "content" / "connect"
    shutil.copytree(folder_of(debezium("postgres")), plugins)
    for version in ("1.0.0", "2.0.0"):
        probe.jar(plugins / f"probe-{version}" / "probe.jar", version)
    probe.jar(plugins / "probe-3.0.0.jar", "3.0.0")
    name = write_image(folder / "content", "plugins.example/connect", folder / "connect.tar")
    kubernetes.component("load", str(folder / "connect.tar"))
    return name


def java(name: str, image: str, **spec: Any) -> dict[str, Any]:
    whole = {"runtime": "Java", "image": image, "path": "/plugin/connect", **spec}
    return {"apiVersion": "penstock.dev/v1alpha1", "kind": "PluginVersion", "metadata": {"name": name}, "spec": whole}


def says(place: Place, name: str, reason: str, words: str) -> dict[str, Any]:
    """The status of a PluginVersion, once it says that of itself."""

    def claim(found: Any) -> dict[str, Any] | None:
        ready = condition(found or {})
        said = ready.get("reason") == reason and words in ready["message"]
        return found["status"] if said else None

    return place.cluster.api.until("pluginversions", place.namespace, name, claim, f"{reason}: {words}", 120)


def test_a_java_connector_runs_in_the_version_that_it_asks_for_from_an_image_with_nothing_but_jars(
    place: Place, image: str
) -> None:
    place.apply(java("connect", image))
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

    orders = place.connector("orders", POSTGRES, {"topic.prefix": "shop"})
    orders.says("ConfigInvalid", "database.hostname")


@pytest.mark.slow
def test_an_image_that_cannot_be_had_or_holds_no_plugins_at_its_path_says_so(place: Place, image: str) -> None:
    place.apply(
        java("elsewhere", image, path="/kafka/connect"), java("gone", f"plugins.example/gone@sha256:{'0' * 64}")
    )
    says(place, "elsewhere", "VerificationFailed", "has no folder /kafka/connect; set spec.path to the folder")
    says(place, "gone", "ErrImagePull", "")


@pytest.mark.slow
@pytest.mark.usefixtures("copying")
def test_without_image_volumes_the_jars_of_one_plugin_are_copied(place: Place, image: str) -> None:
    place.apply(java("connect", image))
    probe = place.connector("probe", SOURCE, {"topic": f"{place.namespace}.probe", **TEXTS})
    found = probe.reaches("Running", 180)
    assert found["status"]["connector"]["version"] == "3.0.0"
    (pod,) = probe.pods().values()
    (_, copy) = pod["spec"]["initContainers"]
    assert (copy["image"], copy["command"][-2]) == (image, "/plugin/connect/probe-3.0.0.jar")
    assert place.kafka.records(probe.topic, least=1)[0].value == b"0:0"
