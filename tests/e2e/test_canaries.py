"""`spec.rollout`: one of four tasks gets the other version first, and the others stay where it fails. With kubectl alone."""

import json
from pathlib import Path

import pytest

from penstock_cli.plugin.archive import write_image

from ..plugin_images import add_distribution
from .api import Object
from .place import Connector, Place, condition

pytestmark = pytest.mark.own_cluster
ORDERS = """
from penstock_plugins.connectors.datagen.source import Datagen


class Orders(Datagen):
    def source(self, config):
        BAD
        return super().source(config)
"""


def publish(place: Place, folder: Path, version: str, text: str) -> None:
    """Load the image of a version, and create its PluginVersion."""
    archive = folder / f"{version}.tar"
    modules = {"acme_orders.py": ORDERS.replace("BAD", text)}
    add_distribution(folder / version, "acme-orders", version, modules, {"Orders": "acme_orders:Orders"})
    image = write_image(folder / version, "plugins.example/orders", archive)
    place.cluster.component("load", str(archive))
    classes = [{"alias": "Orders", "type": "source"}]
    spec = {"plugin": "acme-orders", "version": version, "image": image, "classes": classes}
    metadata = {"name": f"orders-{version}"}
    place.apply({"apiVersion": "penstock.dev/v1alpha1", "kind": "PluginVersion", "metadata": metadata, "spec": spec})


def change(connector: Connector, version: str) -> None:
    patch = json.dumps({"spec": {"version": version}})
    connector.kubectl("patch", "connector", connector.name, "--type=merge", "--patch", patch)


def versions(connector: Connector) -> list[str]:
    text = connector.kubectl("get", "connector", connector.name, "-o", "jsonpath={.status.tasks[*].versions.connector}")
    return text.split()


def run(connector: Connector, *expected: str, limit: float = 120) -> None:
    """It is Ready, with these versions in its tasks."""

    def there(found: Object) -> bool:
        status = found.get("status") or {}
        tasks = [(t["state"], t["versions"]["connector"]) for t in status.get("tasks", ())]
        current = status.get("observedGeneration") == found["metadata"]["generation"]
        return current and condition(found)["status"] == "True" and tasks == [("Running", v) for v in expected]

    connector.until(there, f"its tasks run {expected}", limit)


@pytest.mark.slow
def test_a_version_that_fails_reaches_one_of_four_tasks_and_one_that_runs_reaches_all(
    place: Place, tmp_path: Path
) -> None:
    publish(place, tmp_path, "1.0.0", "pass")
    publish(place, tmp_path, "2.0.0", 'raise RuntimeError("2.x is bad")')
    publish(place, tmp_path, "2.0.1", "pass")
    topic = f"{place.namespace}.orders"
    config = {"topic": topic, "partitions": 4, "rate": 20}
    rollout = {"canaryTasks": 1, "canaryDuration": "10s"}
    source = place.connector("orders", "Orders", config, tasksMax=4, version="1.0.0", rollout=rollout)
    run(source, *["1.0.0"] * 4)
    others = {name: uid for name, uid in source.lives().items() if not name.startswith("orders-0-")}

    change(source, "2.0.0")

    def failed(found: Object) -> str | None:
        pending = condition(found, "UpdatePending")
        return str(pending["message"]) if pending.get("reason") == "CanaryFailed" else None

    told = source.until(failed, "the canary has failed", limit=90)
    assert "task 0 runs orders-2.0.0; the other 3 stay as before" in told
    assert "2.x is bad" in told
    assert versions(source) == ["2.0.0", "1.0.0", "1.0.0", "1.0.0"]
    assert others.items() <= source.lives().items()

    change(source, "1.0.0")
    run(source, *["1.0.0"] * 4)
    assert condition(source.get(), "UpdatePending") == {}
    assert others.items() <= source.lives().items()

    change(source, "2.0.1")
    source.until(lambda c: condition(c, "UpdatePending").get("reason") == "CanaryRunning", "it has a canary")
    run(source, *["2.0.1"] * 4)
    source.apply(state="Stopped")
    source.reaches("Stopped")
    values = sorted(place.kafka.values(topic))
    counts = [values.count(n) for n in range(values[-1] + 1)]
    assert counts == sorted(counts, reverse=True), "each partition's numbers, without a gap"
    assert counts[0] == 4
