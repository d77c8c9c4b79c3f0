"""The status of a Connector under faults that its tasks cannot report through Kafka: the cause is there while they last."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .cluster import Cluster, Failed
from .place import Connector, Place

pytestmark = pytest.mark.own_cluster

STARTS_LATE = """
import time
from pathlib import Path
from penstock import Config, PollingSource, RetriableError, SourceConnector


class Late(PollingSource):
    def start(self, offsets):
        if not Path("/tmp/there").exists():
            raise RetriableError("cannot connect to db.example:5432: connection refused")

    def read(self, start, limits):
        time.sleep(0.1)
        yield from ()


class Waiting(SourceConnector):
    Config = Config

    def task_configs(self, config, properties, max_tasks):
        return [dict(properties)]

    def source(self, config):
        return Late()

    def reader(self, config):
        raise NotImplementedError
"""


@contextmanager
def cut_off_from_kafka(cluster: Cluster, connector: Connector) -> Iterator[None]:
    """Drop what the pod of a task sends to Kafka, in its own network namespace."""
    (pod,) = connector.pods().values()
    uid = pod["metadata"]["uid"]
    processes = f"grep -l '{uid}\\|{uid.replace('-', '_')}' /proc/[0-9]*/cgroup | cut -d/ -f3 | head -n 1"
    rule = "OUTPUT -p tcp --dport 9092 -j DROP"
    cluster.on_node("sh", "-c", f'nsenter -n -t "$({processes})" iptables -A {rule}')
    try:
        yield
    finally:
        cluster.on_node("sh", "-c", f'nsenter -n -t "$({processes})" iptables -D {rule}')


def test_a_task_that_is_cut_off_from_kafka_is_not_ready_and_says_so_and_recovers(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 20})
    config = {"topics": source.topic, "file": "/tmp/orders.txt", "consumer.override.auto.offset.reset": "earliest"}
    sink = place.connector("copies", "FileStreamSink", config)
    for each in (source, sink):
        each.reaches("Running")
        each.kubectl("wait", "--for=condition=Ready", f"pod/{each.pod()}", "--timeout=60s")
    lives = source.lives(), sink.lives()
    for each in (sink, source):
        with cut_off_from_kafka(place.cluster, each):
            each.says("Hindered", f"pod {each.pod()} is not ready: Kafka at ", "has not answered", limit=60)
        each.reaches("Running", 60)
    assert (source.lives(), sink.lives()) == lives


@pytest.mark.slow
def test_a_frozen_task_is_not_ready_and_its_silence_is_named(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 20})
    source.reaches("Running")
    source.kubectl("wait", "--for=condition=Ready", f"pod/{source.pod()}", "--timeout=60s")
    pod = source.freeze()
    source.says("Hindered", f"pod {pod} is not ready: it does not answer", limit=60)


@pytest.mark.slow
def test_what_a_start_waits_for_is_in_the_status(place: Place) -> None:
    late = place.connector("late", "late:Waiting", {}, template=place.plugin("late", STARTS_LATE))
    late.says("Starting", "cannot connect to db.example:5432: connection refused")
    late.kubectl("exec", late.pod(), "--", "touch", "/tmp/there")
    late.reaches("Running")


@pytest.mark.slow
def test_a_sink_whose_topic_does_not_exist_is_never_ready_until_it_does(place: Place) -> None:
    topic = f"{place.namespace}.missing"
    sink = place.connector("out", "FileStreamSink", {"file": "/tmp/out.txt", "topics": topic})
    with pytest.raises(Failed, match="timed out"):
        sink.kubectl("wait", "--for=condition=Ready", "connector/out", "--timeout=45s")
    sink.says("Hindered", f"Waiting for topics that do not exist, or that may not be read: {topic}")
    place.kafka.write(topic, ["1"])
    sink.reaches("Running")


@pytest.mark.slow
def test_a_sink_that_fails_at_its_first_record_again_and_again_is_never_ready(place: Place) -> None:
    topic = f"{place.namespace}.poison"
    place.kafka.write(topic, ["{not JSON"])
    quick = {"onFailure": True, "maxRestarts": 20, "backoff": {"initial": "1s", "factor": 1, "max": "1s"}}
    config = {"file": "/tmp/out.txt", "topics": topic, "value.converter": "JsonConverter"}
    sink = place.connector("out", "FileStreamSink", config, restart=quick)
    with pytest.raises(Failed, match="timed out"):
        sink.kubectl("wait", "--for=condition=Ready", "connector/out", "--timeout=60s")
    assert sink.status["tasks"][0]["failures"] > 1
    assert "lastRecord" not in sink.status


@pytest.mark.slow
def test_the_time_of_the_last_record_is_in_the_status_of_a_connector_that_delivers(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 20})
    source.until(lambda c: c["status"].get("lastRecord"), "the time of the last record", 150)
    assert "LAST RECORD" in source.kubectl("get", "connectors")
