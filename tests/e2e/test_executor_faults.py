"""Faults of executors on a real cluster: each is named in `ExecutorsReady`, and the task delivers every record once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pytest

from .api import Object
from .counting_source import counting_source
from .executors import delivered_once, executors, running, says
from .place import Connector, Place, condition, task
from .release import Release

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow, pytest.mark.timeout(1_800)]
_GATE: Final = "/tmp/backlog"


@contextmanager
def cordoned(place: Place, node: str) -> Iterator[None]:
    """No new pods on this node."""
    place.cluster.kubectl("cordon", node)
    try:
        yield
    finally:
        place.cluster.kubectl("uncordon", node)


def opened(place: Place, source: Connector) -> None:
    """Let the backlog of a source with a gate arrive."""
    place.cluster.python(place.namespace, source.pod(), f"open({_GATE!r}, 'w').close()")


def nodes(source: Connector) -> dict[str, str]:
    """By name of each executor that runs: its node."""
    pods = source.pods("executor")
    return {name: pods[name]["spec"]["nodeName"] for name in running(pods)}


def cut_off(place: Place, pod: Object) -> None:
    """Drop what a pod sends to Kafka, in its own network namespace."""
    uid = pod["metadata"]["uid"]
    processes = f"grep -l '{uid}\\|{uid.replace('-', '_')}' /proc/[0-9]*/cgroup | cut -d/ -f3 | head -n 1"
    rule = "-A OUTPUT -p tcp --dport 9092 -j DROP"
    place.cluster.on_node("sh", "-c", f'nsenter -n -t "$({processes})" iptables {rule}')


def test_executors_of_a_node_that_is_drained_are_replaced_elsewhere(place: Place, second_node: str) -> None:
    first_node, count = f"penstock-{place.cluster.name}", 240_000  # more than are delivered during the drain
    spark = {"executors": executors(2), "idleTimeout": "20s"}
    source = counting_source(place, count=count, spark=spark, gate=_GATE)
    place.kafka.create(source.topic, 4)
    with cordoned(place, second_node):
        source.apply()
        source.reaches("Running")
    with cordoned(place, first_node):
        opened(place, source)
        says(source, "True", "Connected", "2 of 2", limit=240)
        before = nodes(source)
        assert set(before.values()) == {second_node}
    try:
        place.cluster.kubectl("drain", second_node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
        source.until_pods(
            lambda pods: len(running(pods)) == 2 and not before.keys() & set(running(pods)), "two others run", 120
        )
        assert set(nodes(source).values()) == {first_node}
        says(source, "True", "Connected", "2 of 2", limit=120)
    finally:
        place.cluster.kubectl("uncordon", second_node)
    delivered_once(place, source, count)
    assert task(source.get())["incarnation"] == 1
    assert condition(source.get())["status"] == "True"


@pytest.fixture
def node_without_images(place: Place) -> Iterator[str]:
    """The name of a second node, which has no image of the runtime, and no registry to pull it from."""
    place.cluster.component("join")
    try:
        yield f"penstock-{place.cluster.name}-2"
    finally:
        place.cluster.component("leave")


def test_executors_whose_image_cannot_be_pulled_are_named_and_the_task_delivers_alone(
    place: Place, node_without_images: str
) -> None:
    first_node, count = f"penstock-{place.cluster.name}", 20_000
    image = place.cluster.images["runtime"]
    source = counting_source(place, count=count, spark={"executors": executors(2)}, gate=_GATE)
    place.kafka.create(source.topic, 4)
    with cordoned(place, node_without_images):
        source.apply()
        source.reaches("Running")
    with cordoned(place, first_node):
        opened(place, source)
        message = says(source, "False", "ImagePullBackOff", "0 of 2 executors are ready", limit=120)
        assert image in message
        delivered_once(place, source, count)
    assert condition(source.get())["status"] == "True"
    assert task(source.get()).get("losses", 0) == 0


def test_executors_that_exceed_their_memory_are_named_and_the_task_delivers_alone(place: Place) -> None:
    count = 60_000
    source = counting_source(place, count=count, spark={"executors": executors(1)}, eats=2_000)
    place.kafka.create(source.topic, 4)
    source.apply()
    source.reaches("Running")
    message = says(source, "False", "OOMKilled", limit=240)
    assert "spec.spark.executors.resources.limits.memory" in message
    delivered_once(place, source, count)
    assert condition(source.get())["status"] == "True"
    assert task(source.get())["incarnation"] == 1


def test_the_task_delivers_alone_while_its_executors_cannot_reach_kafka(place: Place) -> None:
    count = 200_000
    source = counting_source(place, count=count, spark={"executors": executors(2)})
    place.kafka.create(source.topic, 4)
    source.apply()
    source.reaches("Running")
    says(source, "True", "Connected", "2 of 2", limit=240)
    for pod in source.pods("executor").values():
        cut_off(place, pod)
    message = says(source, "False", "Hindered", "only the driver delivers", "kafka", limit=300)
    assert f"(in executor {source.pod()}-e" in message
    delivered_once(place, source, count, 900)
    assert condition(source.get())["status"] == "True"
    assert task(source.get())["incarnation"] == 1


def test_tasks_and_executors_do_without_the_operator(place: Place, release: Release) -> None:
    count = 200_000
    source = counting_source(place, count=count, spark={"executors": executors(2)}, gate=_GATE)
    place.kafka.create(source.topic, 4)
    source.apply()
    source.reaches("Running")
    release.scale(0)
    opened(place, source)
    place.kafka.records(source.topic, least=1_000)
    assert not source.pods("executor")
    release.scale(1)
    says(source, "True", "Connected", "2 of 2", limit=240)
    release.scale(0)
    first, second = running(source.pods("executor"))
    place.cluster.kill_pod(source.pods("executor")[first]["metadata"]["uid"])
    assert place.kafka.arriving(source.topic, seconds=20) > 0
    release.scale(1)
    source.until_pods(lambda pods: second in running(pods) and len(running(pods)) == 2, "another one", 120)
    delivered_once(place, source, count)
    assert task(source.get())["incarnation"] == 1


def test_a_backlog_that_comes_and_goes_without_the_operator_is_delivered_by_the_driver(
    place: Place, release: Release
) -> None:
    count = 20_000
    source = counting_source(place, count=count, spark={"executors": executors(2), "idleTimeout": "5s"}, gate=_GATE)
    place.kafka.create(source.topic, 4)
    source.apply()
    source.reaches("Running")
    release.scale(0)
    opened(place, source)
    delivered_once(place, source, count)
    assert not source.pods("executor")
    release.scale(1)
    source.reaches("Running")
    source.until(lambda c: not condition(c, "ExecutorsReady"), "none is wanted any more", 120)
    assert task(source.get())["incarnation"] == 1


def test_executors_have_the_runtime_image_of_their_task_after_an_upgrade(place: Place, release: Release) -> None:
    count = 100_000
    source = counting_source(place, count=count, spark={"executors": executors(2)})
    place.kafka.create(source.topic, 4)
    source.apply()
    source.reaches("Running")
    says(source, "True", "Connected", "2 of 2", limit=240)
    old = place.cluster.images["runtime"]
    new = f"{old.partition(':')[0]}:upgraded"
    names = [f"docker.io/library/{name}" for name in (old, new)]
    place.cluster.on_node("ctr", "--namespace", "k8s.io", "images", "tag", "--force", *names)
    release.change_image("runtime", new)
    try:
        source.until(lambda c: task(c).get("incarnation") == 2, "the task is replaced", 120)

        def images(pods: Mapping[str, Object]) -> bool:
            own = running(pods, f"{source.pod()}-")
            return len(own) == 2 and {_image(pods[name]) for name in own} == {new}

        source.until_pods(images, "executors of the new image", 240)
        assert _image(source.pods()[source.pod()]) == new
        source.until_pods(
            lambda pods: all(_image(p) == new for p in pods.values() if p["status"].get("phase") == "Running"),
            "nothing of the old image runs",
        )
    finally:
        release.change_image("runtime", old)
    delivered_once(place, source, count)


def _image(pod: Any) -> str:
    return str(pod["spec"]["containers"][0]["image"])
