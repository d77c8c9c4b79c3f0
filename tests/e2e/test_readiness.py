"""A Connector is Ready only after its tasks have completed a loop, and its status has the time of the last record."""

import pytest

from .cluster import Failed
from .place import Place

pytestmark = pytest.mark.own_cluster


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
    quick = {"policy": "OnFailure", "maxRestarts": 20, "backoff": {"initial": "1s", "factor": 1, "max": "1s"}}
    config = {"file": "/tmp/out.txt", "topics": topic, "value.converter": "JsonConverter"}
    sink = place.connector("out", "FileStreamSink", config, restart=quick)
    with pytest.raises(Failed, match="timed out"):
        sink.kubectl("wait", "--for=condition=Ready", "connector/out", "--timeout=60s")
    assert sink.status["tasks"][0]["failures"] > 1
    assert "lastRecordTime" not in sink.status


@pytest.mark.slow
def test_the_time_of_the_last_record_is_in_the_status_of_a_connector_that_delivers(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 20})
    source.until(lambda c: c["status"].get("lastRecordTime"), "the time of the last record", 150)
    assert "LAST RECORD" in source.kubectl("get", "connectors")
