"""Ids of schemas in headers, by real tasks: transforms of headers, filters and dead letters leave each with its message."""

from pathlib import Path
from typing import Any, Final

import pytest
from connectors.registry.tests.servers import Proxy

from penstock.testing import parsed
from penstock_registry.avro.converter import AvroConverter

from ..lab import Lab
from ..running import manifest, new_name, until
from .connectors import lines

ID: Final = "__value_schema_id"
KEY_ID: Final = "__key_schema_id"
HEADERS: Final = "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"


@pytest.fixture
def guids(proxy: Proxy) -> Proxy:
    """A registry whose schemas have GUIDs."""
    proxy.guids = True
    return proxy


def converters(url: str) -> dict[str, str]:
    own = {"": "io.confluent.connect.avro.AvroConverter", ".schema.registry.url": url}
    sides = {f"{side}.converter{name}": text for side in ("key", "value") for name, text in own.items()}
    return sides | {f"{side}.converter.{side}.schema.id.serializer": HEADERS for side in ("key", "value")}


def write(lab: Lab, file: Path, topic: str, url: str) -> None:
    """Write the numbers of a file as structs; lines that are no numbers are skipped."""
    config = {
        "file": str(file),
        "topic": topic,
        **converters(url),
        "errors.tolerance": "all",
        "transforms": "hoist,number,name,key,copy,origin,drop",
        "transforms.hoist.type": "HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.number.type": "Cast$Value",
        "transforms.number.spec": "line:int32",
        "transforms.name.type": "SetSchemaMetadata$Value",
        "transforms.name.schema.name": "shop.Line",
        "transforms.key.type": "ValueToKey",
        "transforms.key.fields": "line",
        "transforms.copy.type": "HeaderFrom$Value",
        "transforms.copy.fields": "line",
        "transforms.copy.headers": "copied",
        "transforms.copy.operation": "copy",
        "transforms.origin.type": "InsertHeader",
        "transforms.origin.header": "origin",
        "transforms.origin.value.literal": "file",
        "transforms.drop.type": "DropHeaders",
        "transforms.drop.headers": f"nothing,{ID}",
    }
    wanted = sum(line.isdigit() for line in lines(file))
    _, task = lab.start(manifest(new_name("writes"), "FileStreamSource", config))
    until(lambda: task.failure or len(lab.records(topic)) == wanted)
    assert task.failure is None
    task.stop()


def reader(url: str, *, is_key: bool = False) -> AvroConverter:
    converter = AvroConverter()
    converter.configure(parsed(AvroConverter, {"schema.registry.url": url}), is_key=is_key)
    return converter


@pytest.mark.slow
def test_messages_keep_their_ids_through_transforms_filters_and_dead_letters(
    lab: Lab, guids: Proxy, tmp_path: Path
) -> None:
    topic, dead, file, read = lab.topic(), lab.topic("dead"), tmp_path / "in", tmp_path / "out"
    file.write_text("".join("bad\n" if n % 7 == 3 else f"{n}\n" for n in range(100)))
    write(lab, file, topic, guids.url)
    good = [n for n in range(100) if n % 7 != 3]
    written = lab.records(topic)
    keys, values = reader(guids.url, is_key=True), reader(guids.url)
    for number, record in zip(good, written, strict=True):
        assert [name for name, _ in record.headers] == ["copied", "origin", KEY_ID, ID]
        assert record.headers[0][1] == str(number).encode()
        assert record.key is not None
        assert record.value is not None
        assert keys.to_connect(topic, keys.join_headers(record.key, record.headers))[1] == {"line": number}
        assert values.to_connect(topic, values.join_headers(record.value, record.headers))[1] == {"line": number}

    headers = dict(written[0].headers)
    broken: dict[str, list[tuple[str, bytes | None]]] = {
        "no schema has it": [("a", b"1"), (ID, b"\1" * 17), ("z", None)],
        "too short": [(ID, b"\1\2"), ("z", b"\0\xff")],
        "of another format": [(ID, b"\x09" + b"x" * 16)],
        "none": [("a", b"1")],
    }
    for name, wrong in broken.items():
        lab.produce(topic, name.encode(), key=written[0].key, headers=[(KEY_ID, headers[KEY_ID]), *wrong])
    lab.produce(topic, written[0].value, headers=[(ID, headers[ID]), ("skip", b"1")])
    twice: list[tuple[str, bytes | None]] = [("a", b"1"), (ID, b"\1" * 17), (ID, headers[ID])]  # the last one counts
    lab.produce(topic, written[-1].value, headers=twice)
    lab.produce(topic, None, headers=[(ID, b"\1" * 17)])  # a tombstone needs no schema
    config: dict[str, Any] = {
        "topics": topic,
        "file": str(read),
        **converters(guids.url),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "predicates": "skipped,deleted,last",
        "predicates.skipped.type": "HasHeaderKey",
        "predicates.skipped.name": "skip",
        "predicates.deleted.type": "RecordIsTombstone",
        "predicates.last.type": "HasHeaderKey",
        "predicates.last.name": "a",
        "transforms": "drop,filter,filter2,wrong",
        "transforms.drop.type": "DropHeaders",
        "transforms.drop.headers": f"copied,{ID}",
        "transforms.filter.type": "Filter",
        "transforms.filter.predicate": "skipped",
        "transforms.filter2.type": "Filter",
        "transforms.filter2.predicate": "deleted",
        "transforms.wrong.type": "ValueToKey",
        "transforms.wrong.fields": "missing",
        "transforms.wrong.predicate": "last",
    }
    _, task = lab.start(manifest(new_name("reads"), "FileStreamSink", config))
    until(lambda: task.failure or (len(lab.records(dead)) > len(broken) and len(lines(read)) >= len(good)))
    assert task.failure is None
    task.stop()
    assert lines(read) == [f"Struct{{line={n}}}" for n in good]
    expected = [(name.encode(), ((KEY_ID, headers[KEY_ID]), *wrong)) for name, wrong in broken.items()]
    letters = [(each.value, each.headers) for each in lab.records(dead)]
    assert letters == [*expected, (written[-1].value, tuple(twice))], (
        "as they were, without what transforms have changed"
    )
