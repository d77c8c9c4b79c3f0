"""Avro with a schema registry, by real tasks: what is lost and what waits while the registry is away."""

from pathlib import Path
from typing import Any, Final

import pytest
from connectors.registry.tests.servers import Proxy, Registry

from ..lab import Lab
from ..running import Running, manifest, new_name, until
from .connectors import lines

AWAY: Final[list[tuple[int, str, str] | str]] = [(503, "text/html", "<html>Service Unavailable</html>"), "hang up"]


def avro(url: str) -> dict[str, Any]:
    return {
        "key.converter": "StringConverter",
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": url,
        "errors.retry.delay.max.ms": "500",
    }


def source(file: Path, topic: str, url: str, field: str) -> dict[str, Any]:
    """Write lines as a field of this name, whose schema has a subject of its own."""
    hoist = {"transforms": "h,n", "transforms.h.type": "HoistField$Value", "transforms.h.field": field}
    name = {"transforms.n.type": "SetSchemaMetadata$Value", "transforms.n.schema.name": f"shop.{field}"}
    strategy = {"value.converter.value.subject.name.strategy": "TopicRecordNameStrategy"}
    config = {"file": str(file), "topic": topic, **avro(url), **hoist, **name, **strategy}
    return manifest(new_name("writes"), "FileStreamSource", config)


def sink(file: Path, topic: str, url: str, **more: str) -> dict[str, Any]:
    return manifest(new_name("reads"), "FileStreamSink", {"topics": topic, "file": str(file), **avro(url), **more})


def await_waiting(task: Running) -> None:
    """Wait until the task reports that it waits for the registry."""
    task.await_event(lambda e: "is unavailable" in (e.get("trouble") or ""))


@pytest.mark.parametrize("answer", AWAY, ids=["503", "no answer"])
def test_a_source_waits_for_the_registry_and_loses_no_line(lab: Lab, proxy: Proxy, tmp_path: Path, answer: Any) -> None:
    topic, file = lab.topic(), tmp_path / "in"
    file.write_text("".join(f"{n}\n" for n in range(500)))
    proxy.answer = answer
    _, task = lab.start(source(file, topic, proxy.url, "line"))
    await_waiting(task)
    assert lab.records(topic) == []
    proxy.answer = None
    until(lambda: len(lab.records(topic)) == 500, seconds=60)
    task.stop()
    read = tmp_path / "out"
    _, task = lab.start(sink(read, topic, proxy.url))
    until(lambda: len(lines(read)) >= 500, seconds=60)
    task.stop()
    assert lines(read) == [f"Struct{{line={n}}}" for n in range(500)]


def test_a_sink_waits_for_the_registry_in_the_middle_and_only_a_message_of_another_format_is_a_dead_letter(
    lab: Lab, proxy: Proxy, registry: Registry, tmp_path: Path
) -> None:
    topic, dead, read = lab.topic(), lab.topic("dead"), tmp_path / "out"
    tolerant = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    _, reader = lab.start(sink(read, topic, proxy.url, **tolerant))
    write(lab, tmp_path, topic, registry, "one")
    until(lambda: len(lines(read)) == 100, seconds=60)
    lab.produce(topic, b'{"n": 1}')
    until(lambda: len(lab.records(dead)) == 1, seconds=60)
    proxy.answer = AWAY[0]
    write(lab, tmp_path, topic, registry, "two")  # has another schema, which the sink must ask for
    await_waiting(reader)
    assert len(lines(read)) == 100
    proxy.answer = None
    until(lambda: len(lines(read)) >= 200, seconds=60)
    reader.stop()
    assert lines(read) == [f"Struct{{{word}={n}}}" for word in ("one", "two") for n in range(100)]
    (letter,) = lab.records(dead)
    assert letter.value == b'{"n": 1}'
    assert "unknown magic byte 0x7b" in str(dict(letter.headers)["__connect.errors.exception.message"])


def write(lab: Lab, folder: Path, topic: str, registry: Registry, word: str) -> None:
    """Write 100 records with a field of this name."""
    file = folder / word
    file.write_text("".join(f"{n}\n" for n in range(100)))
    before = len(lab.records(topic))
    _, writer = lab.start(source(file, topic, registry.url, word))
    until(lambda: len(lab.records(topic)) == before + 100, seconds=60)
    writer.stop()
