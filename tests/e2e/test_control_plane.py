"""A control plane and a node in trouble: on a cluster of our own, whose parts may be broken."""

import itertools
import time
from collections.abc import Callable

import pytest

from .api import ready
from .place import Place, condition, task

pytestmark = [
    pytest.mark.own_cluster,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # connections that were cut
]


@pytest.mark.parametrize("component", ["kube-apiserver", "etcd"])
@pytest.mark.slow
def test_a_part_of_the_control_plane_is_killed_and_records_continue_and_the_operator_comes_back(
    place: Place, component: str, measured: Callable[[str, float], None]
) -> None:
    source = place.datagen("orders", config={"rate": 100})
    source.reaches("Running")
    place.kafka.records(source.topic, least=10)
    before = source.lives()
    begun = time.monotonic()
    place.cluster.component("restart", "--kill", component)
    source.apply(state="Paused")
    source.reaches("Paused")
    measured(f"{component} killed to a change carried out", time.monotonic() - begun)
    assert source.lives() == before
    records = place.kafka.records(source.topic)
    gap = max(b.timestamp - a.timestamp for a, b in itertools.pairwise(records))
    assert gap < 5, f"records stood still for {gap:.1f} s"
    source.apply(state="Running")
    source.reaches("Running")


@pytest.mark.slow
def test_after_a_compaction_watches_start_again(place: Place) -> None:
    source = place.datagen("orders")
    source.reaches("Running")
    before = source.lives()
    place.cluster.component("compact")
    place.cluster.component("restart", "kube-apiserver")  # what watches knew is now too old: 410 Gone
    source.apply(state="Paused")
    source.reaches("Paused")
    other = place.datagen("other")
    other.reaches("Running")
    assert source.lives() == before


@pytest.mark.slow
def test_a_node_that_is_unavailable_is_named_and_afterwards_everything_runs_again(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 50})
    source.reaches("Running")
    place.kafka.records(source.topic, least=10)
    node = next(iter(source.pods().values()))["spec"]["nodeName"]
    place.cluster.component("stop", "kubelet")
    try:
        api = place.cluster.api
        api.until("nodes", None, node, lambda n: not ready()(n), "the node is not ready", 90)
        # The node controller tells its pods to go, but not when no node at all is left, as here. Nobody there ends it.
        place.cluster.kubectl("delete", "pod", "-n", place.namespace, source.pod(), "--wait=false")
        source.until(lambda c: condition(c)["status"] != "True", "it is not Ready", 120)
        told = source.until(lambda c: "node" in str(task(c).get("message")) and task(c), "the node is the cause", 120)
        print(told)
    finally:
        place.cluster.component("start", "kubelet")
    place.cluster.api.until("nodes", None, node, ready(), "the node is back", 90)
    source.reaches("Running", limit=120)
    source.apply(state="Stopped")
    source.reaches("Stopped")
    numbers = place.kafka.values(source.topic)
    assert numbers == list(range(len(numbers)))
