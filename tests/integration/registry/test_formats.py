"""Every format with a schema registry, by real tasks: a source, Kafka, a sink."""

from pathlib import Path
from typing import Any, Final

import pytest
from connectors.registry.tests.servers import Registry

from ..lab import Lab
from ..running import manifest, new_name, until
from .connectors import lines

FORMATS: Final = {
    "Avro": "io.confluent.connect.avro.AvroConverter",
    "Protobuf": "io.confluent.connect.protobuf.ProtobufConverter",
    "JSON": "io.confluent.connect.json.JsonSchemaConverter",
    "Apicurio": "io.apicurio.registry.utils.converter.AvroConverter",
}
ROWS: Final = 300


def properties(name: str, registry: Registry) -> dict[str, str]:
    """Return the properties of the converters for keys and values of a format."""
    own = {"schema.registry.url": registry.url}
    if name == "JSON":  # in JSON Schema, a new property is not compatible: without it, its value may have any type
        own |= {"value.subject.name.strategy": "TopicRecordNameStrategy"}
    if name == "Apicurio":
        own = {"apicurio.registry.url": registry.own_url, "apicurio.registry.auto-register": "true"}
    sides = ("key.converter", "value.converter")
    return dict.fromkeys(sides, FORMATS[name]) | {f"{s}.{n}": text for s in sides for n, text in own.items()}


def write(lab: Lab, file: Path, topic: str, converters: dict[str, str], **wider: str) -> None:
    """Write the lines of a file as structs with a key, by a source that ends afterwards."""
    file.write_text("".join(f"{n}\n" for n in range(ROWS)))
    chain = {
        "transforms": ",".join(("hoist", "name", *wider, "key")),
        "transforms.hoist.type": "HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.name.type": "SetSchemaMetadata$Value",
        "transforms.name.schema.name": "shop.Noted"
        if wider and "Json" in converters["value.converter"]
        else "shop.Line",
        "transforms.key.type": "ValueToKey",
        "transforms.key.fields": "line",
    }
    for field, text in wider.items():
        chain |= {
            f"transforms.{field}.type": "InsertField$Value",
            f"transforms.{field}.static.field": field,
            f"transforms.{field}.static.value": text,
        }
    before = len(lab.records(topic))
    config = {"file": str(file), "topic": topic, **converters, **chain}
    _, task = lab.start(manifest(new_name("writes"), "FileStreamSource", config))
    until(lambda: task.failure or len(lab.records(topic)) == before + ROWS)
    assert task.failure is None
    task.stop()


@pytest.mark.parametrize(
    "name", ["Protobuf", *(pytest.param(each, marks=pytest.mark.slow) for each in FORMATS if each != "Protobuf")]
)
def test_a_sink_reads_what_a_source_has_written_also_where_the_schema_changes(
    lab: Lab, registry: Registry, tmp_path: Path, name: str
) -> None:
    topic, read = lab.topic(), tmp_path / "out"
    converters = properties(name, registry)
    write(lab, tmp_path / "one", topic, converters)
    write(lab, tmp_path / "two", topic, converters, note="n")
    for message in (b"\x09junk", b"\0\x7f\xff\xff\xff\0\0\0\0\0", b""):
        lab.produce(topic, message)
    dead = lab.topic("dead")
    config: dict[str, Any] = {"topics": topic, "file": str(read), **converters}
    tolerant = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    _, task = lab.start(manifest(new_name("reads"), "FileStreamSink", config | tolerant))
    until(lambda: len(lines(read)) >= 2 * ROWS and len(lab.records(dead)) >= 3)
    task.stop()
    older, newer = lines(read)[:ROWS], lines(read)[ROWS:]
    assert older == [f"Struct{{line={n}}}" for n in range(ROWS)]
    assert newer == [f"Struct{{line={n},note=n}}" for n in range(ROWS)]
    assert [each.value for each in lab.records(dead)] == [b"\x09junk", b"\0\x7f\xff\xff\xff\0\0\0\0\0", b""]
