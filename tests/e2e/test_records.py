"""Records go through: a file into Kafka, Kafka into a file; nothing is lost, nothing is doubled."""

import json
from typing import Any, Final

import pytest

from .place import Connector, Place

LINES: Final = 5_000


def lines_of(sink: Connector, place: Place, path: str) -> list[str]:
    return place.cluster.kubectl("exec", "-n", place.namespace, sink.pod(), "--", "cat", path).splitlines()


def folder(name: str, path: str, **source: Any) -> dict[str, Any]:
    """A part of a pod's template: a volume and where it is mounted."""
    return {"volumes": [{"name": name, **source}], "volumeMounts": [{"name": name, "mountPath": path}]}


def written(sink: Connector, place: Place, path: str, count: int) -> list[str]:
    """The sink's lines, as soon as its file has so many; the file tells by growing, in the pod itself."""
    program = (
        "import pathlib, sys, time\n"
        "path, count, end = pathlib.Path(sys.argv[1]), int(sys.argv[2]), time.monotonic() + 60\n"
        "while not path.exists() or path.read_bytes().count(b'\\n') < count:\n"
        "    if time.monotonic() > end: sys.exit('too few lines')\n"
        "    time.sleep(0.05)"
    )
    place.cluster.python(place.namespace, sink.pod(), program, path, str(count))
    return lines_of(sink, place, path)


def test_every_line_of_a_file_reaches_a_file_behind_kafka_once_and_in_order(place: Place) -> None:
    lines = [f"{n} wörter" for n in range(LINES)]
    place.config_map("input", {"lines.txt": "\n".join(lines) + "\n"})
    topic = f"{place.namespace}.lines"
    place.connector(
        "in",
        "FileStreamSource",
        {"file": "/data/lines.txt", "topic": topic, "value.converter": "StringConverter"},
        template=folder("data", "/data", configMap={"name": "input"}),
    )
    sink = place.connector(
        "out",
        "FileStreamSink",
        {"file": "/out/lines.txt", "topics": topic, "value.converter": "StringConverter"},
        template=folder("out", "/out", emptyDir={}),
    )
    sink.reaches("Running")
    assert written(sink, place, "/out/lines.txt", LINES) == lines
    assert len(place.kafka.records(topic, least=LINES)) == LINES
    assert sink.status["connector"]["type"] == "sink"
    topics = sink.until(lambda c: c["status"].get("activeTopics"), "the sink's topic is told")
    assert [t["name"] for t in topics] == [topic]


@pytest.mark.slow
def test_a_counted_source_in_two_tasks_delivers_each_record_once(place: Place) -> None:
    source = place.datagen("orders", tasksMax=2, config={"rate": 0, "count": 20_000, "partitions": 2})
    source.reaches("Running")
    assert source.status["taskSummary"] == "2/2"
    numbers = sorted(place.kafka.values(source.topic, least=20_000))
    assert numbers == sorted([*range(10_000), *range(10_000)])


@pytest.mark.slow
def test_transforms_and_predicates_of_the_configuration_are_applied(place: Place) -> None:
    topic = f"{place.namespace}.routed"
    place.datagen(
        "routed",
        config={
            "count": 5,
            "rate": 0,
            "topic": "before",
            "transforms": "route,mark",
            "transforms.route.type": "RegexRouter",
            "transforms.route.regex": ".*",
            "transforms.route.replacement": topic,
            "transforms.mark.type": "InsertField$Value",
            "transforms.mark.static.field": "origin",
            "transforms.mark.static.value": "e2e",
        },
    )
    values = [json.loads(r.value or b"") for r in place.kafka.records(topic, least=5)]
    assert [(v["order_id"], v["origin"]) for v in values] == [(n, "e2e") for n in range(5)]
