"""The health check of tasks, with the kubelet that asks: what stands still is replaced, what waits is left alone."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from .cluster import Cluster
from .faulty_plugin import breaks, faulty_source
from .place import Connector, Place, task

COUNT = 2_000
AWAY = 200.0
"""Seconds for which Kafka stands still: longer than the kubelet lets a task be unhealthy."""


def ended_by_probes(connector: Connector) -> str:
    """What the kubelet tells of containers that it ended for their health; empty: of none."""
    pods = f"penstock.dev/connector={connector.name}"
    names = connector.kubectl("get", "pods", "-l", pods, "-o", "name").split()
    words = ("get", "events", "--field-selector", "reason=Killing", "-o", "jsonpath={range .items[*]}{.message}{'\\n'}")
    told = connector.kubectl(*words)
    assert names
    return "\n".join(line for line in told.splitlines() if "probe" in line)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_task_whose_process_is_frozen_is_replaced_and_named_so_and_a_slow_one_next_to_it_stays(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    slow = faulty_source(place, "read", "waits")
    slow.apply()
    slow.reaches("Running")
    breaks(slow)
    source = place.datagen("orders", config={"rate": 100, "count": COUNT})
    source.reaches("Running")
    place.kafka.records(source.topic, least=100)
    before = slow.lives()
    # Before its start probe has been answered a process has ten minutes.
    source.kubectl("wait", "--for=condition=Ready", f"pod/{source.pod()}", "--timeout=120s")
    pod = source.freeze()
    begun = time.monotonic()
    assert "health check" in source.tells("TaskLost", "health check", limit=500)
    measured("a task that stands still is told to have failed its health check after", time.monotonic() - begun)
    source.until(
        lambda c: task(c).get("incarnation", 0) > 1 and task(c)["state"] == "Running", "another life runs", 120
    )
    assert source.pod() != pod
    assert sorted(place.kafka.values(source.topic, least=COUNT, seconds=120)) == list(range(COUNT))
    own = task(source.get())
    assert (own["restarts"], own["losses"], own.get("failures", 0)) == (1, 1, 0)
    source.reaches("Running")
    assert slow.lives() == before
    assert task(slow.get()).get("restarts", 0) == 0
    slow.says("Hindered", "FaultySource.read")


@contextmanager
def standing(cluster: Cluster, uid: str) -> Iterator[None]:
    """A pod of which every process stands still."""
    cluster.kill_pod(uid, "STOP")
    try:
        yield
    finally:
        cluster.kill_pod(uid, "CONT")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.own_cluster
@pytest.mark.expects("penstock_model.kafka_properties.librdkafka.*FAIL")
def test_no_task_is_ended_by_its_probes_while_kafka_is_unavailable_not_even_one_that_starts(place: Place) -> None:
    running = place.datagen("running", config={"rate": 20, "count": 200_000})
    starting = place.datagen("starting", config={"rate": 100, "count": COUNT})
    running.reaches("Running")
    starting.reaches("Running")
    place.kafka.records(starting.topic, least=100)
    before = running.lives()
    broker = place.cluster.api.get("pods", place.kafka.namespace, "kafka-0")
    assert broker is not None
    with standing(place.cluster, broker["metadata"]["uid"]):
        starting.kill()
        time.sleep(AWAY)  # it is the time that is tried
        assert not ended_by_probes(running)
    for each in (running, starting):
        each.reaches("Running", 180)
        assert not ended_by_probes(each)
        assert task(each.get()).get("reason") != "HealthCheckFailed"
    assert running.lives() == before
    assert sorted(place.kafka.values(starting.topic, least=COUNT, seconds=120)) == list(range(COUNT))
