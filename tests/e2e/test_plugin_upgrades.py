"""Versions forth and back, of a source that splits otherwise in each and of a sink, with kills midway: each record once."""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_cli.plugin.archive import write_image

from ..plugin_images import add_distribution
from .api import Object
from .cluster import Cluster, Failed
from .place import Connector, Place, task
from .release import Release

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(1500)]
PARTITIONS: Final = 4
ORDERS: Final = """
from penstock_plugins.connectors.datagen.source import Datagen
from penstock_plugins.connectors.file.sink import FileStreamSink


class Orders(Datagen):
    def task_configs(self, config, properties, max_tasks):
        found = super().task_configs(config, properties, max_tasks)
        return found[::STEP]


class Lines(FileStreamSink):
    java_names = ()
"""


@pytest.fixture
def versions(place: Place, tmp_path: Path) -> None:
    """Two versions of one plugin: in the second, each part of the source is the other task's."""
    for version, step in (("1.0.0", "1"), ("2.0.0", "-1")):
        folder, archive = tmp_path / version, tmp_path / f"{version}.tar"
        entries = {"Orders": "acme_orders:Orders", "Lines": "acme_orders:Lines"}
        add_distribution(folder, "acme-orders", version, {"acme_orders.py": ORDERS.replace("STEP", step)}, entries)
        image = write_image(folder, "plugins.example/acme-orders", archive)
        place.cluster.component("load", str(archive))
        place.cluster.component("load", "--node", "2", str(archive))
        spec = {
            "plugin": "acme-orders",
            "version": version,
            "image": image,
            "classes": [{"alias": "Orders", "type": "source"}, {"alias": "Lines", "type": "sink"}],
        }
        metadata = {"name": f"orders-{version}"}
        place.apply(
            {"apiVersion": "penstock.dev/v1alpha1", "kind": "PluginVersion", "metadata": metadata, "spec": spec}
        )


@contextmanager
def volume(place: Place) -> Iterator[dict[str, Any]]:
    """A part of a template: a folder that outlives its pod."""
    name, size = f"{place.namespace}-out", {"storage": "1Gi"}
    path = f"/var/lib/{name}"
    place.cluster.on_node("mkdir", "--mode=777", path)
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    of_volume = {
        "capacity": size,
        "hostPath": {"path": path},
        "claimRef": {"namespace": place.namespace, "name": "out"},
    }
    place.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {**common, **of_volume},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "out"},
            "spec": {**common, "volumeName": name, "resources": {"requests": size}},
        },
    )
    try:
        yield {
            "volumes": [{"name": "out", "persistentVolumeClaim": {"claimName": "out"}}],
            "volumeMounts": [{"name": "out", "mountPath": "/out"}],
        }
    finally:
        place.cluster.kubectl("delete", "persistentvolume", name, "--ignore-not-found", "--wait=false")
        place.cluster.on_node("rm", "-rf", path)


def change(connector: Connector, version: str) -> None:
    connector.kubectl(
        "patch", "connector", connector.name, "--type=merge", "--patch", json.dumps({"spec": {"version": version}})
    )


def runs(connector: Connector, version: str, *, alone: bool = True) -> None:
    """It is ready, and all of its tasks run that version; `alone`: no pod of another one is left either."""

    def there(found: Object) -> bool:
        status = found["status"]
        ready = next(c for c in status["conditions"] if c["type"] == "Ready")
        return (
            ready["status"] == "True"
            and status["observedGeneration"] == found["metadata"]["generation"]
            and f"orders-{version}" in status["pluginVersions"]
            and (not alone or len(status["pluginVersions"]) == 1)
            and all(t["state"] == "Running" and t["versions"]["connector"] == version for t in status["tasks"])
        )

    connector.until(there, f"{connector.name} runs {version}", limit=200)


def hinder(cluster: Cluster, release: Release, chance: random.Random, *connectors: Connector) -> str:
    """Something goes wrong in the middle of the change."""
    time.sleep(chance.uniform(0, 4))  # whenever it may be
    what = chance.choice(["operator", "task", "task", "pod"])
    if what == "operator":
        release.kill()
        return what
    pods: list[tuple[str, Object]] = []
    while not pods:  # between two pods of a task
        pods = [(name, p) for c in connectors for name, p in c.pods().items()]
        if what == "task":
            pods = [(name, p) for name, p in pods if p["status"].get("phase") == "Running"]
        time.sleep(0.1)
    name, pod = chance.choice(sorted(pods, key=lambda found: found[0]))
    if what == "task":
        with suppress(Failed):  # it has ended by itself
            cluster.kill_pod(pod["metadata"]["uid"])
    else:
        cluster.kubectl(
            "delete",
            "pod",
            name,
            "--namespace",
            connectors[0].namespace,
            "--grace-period=0",
            "--force",
            "--ignore-not-found",
        )
    return f"{what} {name}"


def test_versions_forth_and_back_with_task_operator_and_node_killed_midway_lose_and_double_nothing(
    place: Place, release: Release, second_node: str, versions: None, rounds: int
) -> None:
    cluster, chance = place.cluster, random.Random(rounds)
    topic = f"{place.namespace}.orders"
    place.kafka.create(topic, 1)
    config = {"topic": topic, "partitions": PARTITIONS, "rate": 60}
    quick = {"terminationGracePeriodSeconds": 5}
    first_node = f"penstock-{cluster.name}"
    with volume(place) as out:
        source = place.connector("in", "Orders", config, tasksMax=2, version="1.0.0", template=quick)
        on_first = {"nodeSelector": {"kubernetes.io/hostname": first_node}}  # where the folder is
        sink = place.connector(
            "out",
            "Lines",
            {"topics": topic, "file": "/out/lines.txt", "value.converter": "StringConverter"},
            version="1.0.0",
            template={**out, **quick, **on_first},
        )
        for connector in (source, sink):
            runs(connector, "1.0.0")
        for number in range(2 * rounds):
            version = ("2.0.0", "1.0.0")[number % 2]
            is_frozen = number in (4, 13)
            if is_frozen:
                cluster.component("freeze")
            for connector in (source, sink):
                change(connector, version)
            what = hinder(cluster, release, chance, source, sink)
            for connector in (source, sink):
                runs(connector, version, alone=not is_frozen)
            if is_frozen:
                cluster.component("thaw")
                runs(source, version)
            print(f"round {number}: {version}, killed: {what}{', and a node stood still' if is_frozen else ''}")
        source.apply(state="Stopped")
        source.reaches("Stopped")
        values = place.kafka.values(topic)
        counts = Counter(values)
        ranges = [sum(c > partition for c in counts.values()) for partition in range(PARTITIONS)]
        assert sum(ranges) == len(values)
        assert sorted(values) == sorted(n for length in ranges for n in range(length)), "each partition's numbers, once"
        written = _lines(place, sink, len(values))
        assert sorted(written) == sorted(values)
        assert task(sink.get())["versions"]["connector"] == "1.0.0"


def _lines(place: Place, sink: Connector, count: int) -> list[int]:
    """The numbers in the sink's file, once it has so many lines."""
    program = (
        "import pathlib, time\n"
        "path, end = pathlib.Path('/out/lines.txt'), time.monotonic() + 60\n"
        f"while path.read_bytes().count(b'\\n') < {count} and time.monotonic() < end: time.sleep(0.1)\n"
        "print(path.read_text())"
    )
    text = place.cluster.python(place.namespace, sink.pod(), program)
    return [json.loads(line)["order_id"] for line in text.splitlines() if line]
