"""The engineer at night: see where it stands, stop it, run it again from where you like (KIP-875). With kubectl alone."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from .api import Object
from .place import Connector, Place
from .test_records import folder, written


def outcome(connector: Connector, token: str) -> dict[str, Any]:
    """The entry of an action, once it has its result."""

    def entry(found: Object) -> dict[str, Any] | None:
        entries = (found.get("status") or {}).get("offsetsActions", ())
        return next((e for e in entries if e["token"] == token and e["result"] != "Pending"), None)

    return connector.until(entry, f"{token} has its result")


def test_a_source_that_runs_is_listed_and_once_it_is_stopped_and_reset_starts_again(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    source = place.datagen("orders", config={"rate": 200})
    source.reaches("Running")
    source.annotate(reset_offsets="r0")
    refused = outcome(source, "r0")
    assert refused["result"] == "Refused"
    assert "must be in the STOPPED state" in refused["message"]
    place.kafka.records(source.topic, least=200)
    begun = time.monotonic()
    source.annotate(list_offsets="l1")
    listed = outcome(source, "l1")
    measured("kubectl annotate of list-offsets has returned to its result in the status", time.monotonic() - begun)
    assert (listed["result"], listed["message"][:11]) == ("Succeeded", "1 position:"), listed
    text = source.kubectl("get", "configmap", "orders-offsets", "-o", r"jsonpath={.data.offsets\.json}")
    (entry,) = json.loads(text)["offsets"]
    assert entry["offset"]["count"] > 0
    source.apply(state="Stopped")
    source.reaches("Stopped")
    before = place.kafka.values(source.topic)
    assert before == list(range(len(before)))  # what was refused was not done later either

    begun = time.monotonic()
    source.annotate(reset_offsets="r1")
    done = outcome(source, "r1")
    measured("kubectl annotate of reset-offsets has returned to its result in the status", time.monotonic() - begun)
    assert done["result"] == "Succeeded", done
    assert "1 position was removed" in done["message"]
    source.until_pods(lambda pods: not pods, "the pod of the reset is gone")

    source.annotate(reset_offsets="r1")
    source.apply(state="Running")
    source.reaches("Running")
    values = place.kafka.values(source.topic, least=len(before) + 50)
    assert values == [*before, *range(len(values) - len(before))]
    assert [e["token"] for e in source.status["offsetsActions"]] == ["r0", "l1", "r1"]


def listed_by(connector: Connector, token: str) -> list[dict[str, Any]]:
    """The entries of its list."""
    connector.annotate(list_offsets=token)
    assert outcome(connector, token)["result"] == "Succeeded"
    text = connector.kubectl("get", "configmap", f"{connector.name}-offsets", "-o", r"jsonpath={.data.offsets\.json}")
    return list(json.loads(text)["offsets"])


@pytest.mark.slow
def test_a_source_is_set_back_100_records_and_exactly_those_come_twice(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    source = place.datagen("orders", config={"rate": 200})
    source.reaches("Running")
    place.kafka.records(source.topic, least=200)
    source.apply(state="Stopped")
    source.reaches("Stopped")
    before = place.kafka.values(source.topic)
    (entry,) = listed_by(source, "l1")
    assert entry["offset"]["count"] == len(before)

    begun = time.monotonic()
    back = {**entry, "offset": {"count": len(before) - 100}}
    source.annotate(alter_offsets=f"a1 {json.dumps({'offsets': [back]})}")
    done = outcome(source, "a1")
    measured("kubectl annotate of alter-offsets has returned to its result in the status", time.monotonic() - begun)
    assert (done["result"], done["message"]) == (
        "Succeeded",
        "The offsets for this connector have been altered successfully. 1 position was set.",
    )
    source.apply(state="Running")
    source.reaches("Running")
    values = place.kafka.values(source.topic, least=len(before) + 150)
    assert values == [*before, *range(len(before) - 100, len(values) - 100)]


def test_a_sink_is_set_back_to_an_offset_and_its_new_pods_file_begins_there(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 0, "count": 300, "delivery.guarantee": "at-least-once"})
    config = {
        "file": "/out/lines.txt",
        "topics": source.topic,
        "transforms": "where",
        "transforms.where.type": "InsertField$Value",
        "transforms.where.offset.field": "offset",
    }
    sink = place.connector("out", "FileStreamSink", config, template=folder("out", "/out", emptyDir={}))
    sink.reaches("Running")
    assert len(written(sink, place, "/out/lines.txt", 300)) == 300

    # State and request in one apply, as Git brings them: the action waits for the last task to end.
    position = {"partition": {"kafka_topic": source.topic, "kafka_partition": 0}, "offset": {"kafka_offset": 100}}
    wrong = {"partition": {"kafka_topic": "nowhere", "kafka_partition": 0}, "offset": {"kafka_offset": 0}}
    sink.annotate(alter_offsets=f"too-early {json.dumps({'offsets': [position]})}")
    assert "must be in the STOPPED state" in outcome(sink, "too-early")["message"]
    sink.apply(state="Stopped")
    sink.annotate(alter_offsets=f"bad {json.dumps({'offsets': [position, wrong]})}")
    refused = outcome(sink, "bad")
    assert refused["result"] == "Refused"
    assert "topic 'nowhere' does not exist" in refused["message"]
    sink.annotate(alter_offsets=f"a1 {json.dumps({'offsets': [position]})}")
    assert outcome(sink, "a1")["result"] == "Succeeded"
    assert [(e["partition"], e["offset"]) for e in listed_by(sink, "l1")] == [
        (position["partition"], position["offset"])
    ]
    sink.apply(state="Running")
    sink.reaches("Running")
    lines = written(sink, place, "/out/lines.txt", 200)
    assert [line.rpartition("offset=")[2] for line in lines] == [f"{n}}}" for n in range(100, 300)]
