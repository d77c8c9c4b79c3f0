"""A node that stands still: what ran there runs elsewhere, and what wakes up there later does no harm."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from .cluster import Cluster
from .place import Connector, Place, task

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow]
COUNT = 12_000


@contextmanager
def cordoned(cluster: Cluster, node: str) -> Iterator[None]:
    """No new pods on this node."""
    cluster.kubectl("cordon", node)
    try:
        yield
    finally:
        cluster.kubectl("uncordon", node)


def waits_on(node: str, connector: Connector) -> str:
    """The name of its job pod, once that is to run on the node."""

    def there(pods: object) -> str | None:
        found = connector.pods("job").values()
        return next((str(p["metadata"]["name"]) for p in found if p["spec"].get("nodeName") == node), None)

    return connector.until_pods(there, f"a job pod is placed on {node}")


@pytest.mark.slow
def test_what_ran_on_a_node_that_is_frozen_runs_elsewhere_and_nothing_is_lost_or_doubled_when_it_continues(
    place: Place, second_node: str, measured: Callable[[str, float], None]
) -> None:
    cluster, quick = place.cluster, {"terminationGracePeriodSeconds": 5}
    with cordoned(cluster, f"penstock-{cluster.name}"):
        source = place.datagen("orders", config={"rate": 300, "count": COUNT}, template=quick)
        source.reaches("Running")
        place.kafka.records(source.topic, least=600)
        lost = source.pod()
        assert source.pods()[lost]["spec"]["nodeName"] == second_node
        cluster.component("freeze")
        begun = time.monotonic()
        other = place.datagen("other", config={"rate": 50}, template=quick)
        never_started = waits_on(second_node, other)
    source.until(
        lambda c: task(c).get("incarnation") == 2 and task(c)["state"] == "Running", "the task runs elsewhere", 150
    )
    measured("a node stands still: its task runs elsewhere after", time.monotonic() - begun)
    source.tells("TaskLost", f"node {second_node}")
    other.reaches("Running", limit=150)
    assert lost in source.pods(), "nobody can end it"
    assert never_started in other.pods("job")
    cluster.component("thaw")  # the task there goes on where it was, until it is shut out, or ended
    source.until_pods(lambda pods: lost not in pods, "the node has ended what ran there", 90)
    records = place.kafka.records(source.topic, least=COUNT, seconds=120)
    assert place.kafka.values(source.topic, least=COUNT) == list(range(COUNT))
    gap = max(b.timestamp - a.timestamp for a, b in itertools.pairwise(records))
    measured("a node stands still: no record for", gap)
    source.reaches("Running")
    other.until_pods(lambda pods: never_started not in pods, "the job pod is gone", 60)
    assert task(other.get()).get("incarnation") == 1


@pytest.mark.slow
def test_a_change_is_applied_while_only_the_task_may_mount_a_volume(place: Place) -> None:
    name = f"{place.namespace}-data"
    size = {"storage": "1Gi"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": size,
            "accessModes": ["ReadWriteOncePod"],
            "storageClassName": "",
            "claimRef": {"namespace": place.namespace, "name": "data"},
            "hostPath": {"path": f"/var/lib/{name}", "type": "DirectoryOrCreate"},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOncePod"],
            "storageClassName": "",
            "volumeName": name,
            "resources": {"requests": size},
        },
    }
    place.apply(volume, claim)
    try:
        template = {
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "terminationGracePeriodSeconds": 5,
        }
        source = place.datagen("orders", template=template)
        source.reaches("Running")
        source.configure(rate=50)
        source.reaches("Running")
        assert task(source.get())["incarnation"] == 2
        source.delete()
    finally:
        place.cluster.kubectl("delete", "persistentvolume", name, "--ignore-not-found", "--wait=false")
