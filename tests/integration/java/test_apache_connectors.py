"""Kafka's own Java connectors for files and for mirroring topics."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock_cli.embedded import EmbeddedKafka

from ..connect_worker import ConnectWorker
from ..lab import STRING
from ..reading import Read, Reader, await_records, committed, create, produce, read_all
from ..running import Processes, Running, manifest, new_name, until
from .capture import json_converters
from .plugins import apache_connectors

pytestmark = pytest.mark.slow

FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
HEARTBEAT = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
CHECKPOINT = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def has_java_host(run: Running) -> bool:
    """Whether a JVM of plugins runs."""
    return any("dev.penstock.host.Main" in p.cmdline() for p in run.tree())


def test_java_file_source_delivers_lines_and_continues_where_it_was(
    kafka: str, processes: Processes, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_text("one\ntwo\n")
    connector = manifest(new_name("file"), FILE, {**STRING, "file": str(file), "topic": topic})
    with Reader(kafka, topic) as reader:
        run = processes.run([connector], kafka, "--plugin-path", str(apache_connectors()))
        reader.count(2)
        assert has_java_host(run)
        run.stop()
        with file.open("a") as opened:
            opened.write("three\n")
        run = processes.run([connector], kafka, "--plugin-path", str(apache_connectors()))
        reader.count(3)
        run.stop()
        assert [r.value for r in reader.to_end()] == [b"one", b"two", b"three"]


def test_java_file_sink_writes_lines_and_continues_where_it_was(
    kafka: str, processes: Processes, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    connector = manifest(new_name("file"), FILE_SINK, {**STRING, "file": str(file), "topics": topic})
    create(kafka, topic)
    for first in (0, 1_000):
        produce(kafka, topic, [f"line {n}".encode() for n in range(first, first + 1_000)])
        run = processes.run([connector], kafka, "--plugin-path", str(apache_connectors()))
        until(lambda: written(file) == [f"line {n}" for n in range(first + 1_000)], what=run.last_words)  # noqa: B023
        assert has_java_host(run)
        run.stop()


def written(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


_SCHEMA: Final = {
    "type": "struct",
    "name": "order",
    "optional": True,
    "fields": [
        {"field": "id", "type": "int32", "optional": False},
        {"field": "ratio", "type": "double", "optional": True},
        {"field": "small", "type": "float", "optional": True},
        {"field": "ok", "type": "boolean", "optional": True, "default": True},
        {"field": "tags", "type": "array", "items": {"type": "string", "optional": True}, "optional": True},
        {"field": "names", "type": "map", "keys": {"type": "string"}, "values": {"type": "int64"}, "optional": True},
        {
            "field": "price",
            "type": "bytes",
            "optional": True,
            "name": "org.apache.kafka.connect.data.Decimal",
            "version": 1,
            "parameters": {"scale": "2"},
        },
        {"field": "day", "type": "int32", "optional": True, "name": "org.apache.kafka.connect.data.Date", "version": 1},
        {
            "field": "at",
            "type": "int64",
            "optional": True,
            "name": "org.apache.kafka.connect.data.Timestamp",
            "version": 1,
        },
        {
            "field": "inner",
            "type": "struct",
            "optional": True,
            "fields": [{"field": "note", "type": "string", "optional": True}],
        },
    ],
}


def order(number: int) -> dict[str, Any]:
    """The payload of an order; every third one has nulls."""
    if number % 3 == 0:
        return {"id": number, "tags": [None], "names": {}}
    return {
        "id": number,
        "ratio": number / 7,
        "small": number / 10,
        "ok": number % 2 == 0,
        "tags": ["a", f"é {number}"],
        "names": {f"name {n}": n * 1_000_000_007 for n in range(number % 20)},
        "price": "MDk=",
        "day": 19_000 + number,
        "at": 1_700_000_000_000 + number,
        "inner": {"note": f"row {number} \U0001f600"},
    }


_STRINGS: Final = ["", "one", "two words", "é\U0001f600", "tab\tand = , {}", None]
_LOOSE: Final = [
    None,
    True,
    7,
    -1.5,
    1e300,
    10**18,
    "text",
    [],
    [1, [2, None]],
    {},
    {"a": None},
    {"z": {"y": [{"x": 1}]}},
]


_INNERMOST: Final = re.compile(r"\{([^{}\[\]]*)\}|\[([^{}\[\]]*)\]")


def unordered(line: str) -> str:
    """The line with the entries of each map sorted: Penstock's maps keep the order of the record, a HashMap does not."""

    def of(match: re.Match[str]) -> str:
        entries, items = match.groups()
        inside = sorted(entries.split(", ")) if items is None else items.split(", ")
        return f"<{';'.join(inside)}>"

    count = 1
    while count:
        line, count = _INNERMOST.subn(of, line)
    return line


def tagged() -> Mapping[str, str]:
    """Transforms that change the text of what is written."""
    insert = "org.apache.kafka.connect.transforms.InsertField$Value"
    return {
        "transforms": "tag",
        "transforms.tag.type": insert,
        "transforms.tag.static.field": "origin",
        "transforms.tag.static.value": "shop",
    }


@pytest.mark.timeout(300)
def test_lines_of_the_file_sink_are_those_of_kafka_connect(
    own_kafka: EmbeddedKafka, processes: Processes, tmp_path: Path
) -> None:
    servers = own_kafka.bootstrap_servers
    loose: list[bytes | None] = [json.dumps(each).encode() for each in [*_LOOSE, *(order(n) for n in range(200))]]
    orders: list[bytes | None] = [json.dumps({"schema": _SCHEMA, "payload": order(n)}).encode() for n in range(200)]
    maps: list[bytes | None] = [json.dumps(order(n)).encode() for n in range(200)]
    work: dict[str, tuple[Mapping[str, str], list[bytes | None]]] = {
        "strings": (STRING, [None if text is None else text.encode() for text in _STRINGS * 100]),
        "loose": (json_converters(schemas=False), loose),
        "orders": (json_converters(schemas=True), [*orders, None]),
        "tagged": ({**json_converters(schemas=True), **tagged()}, orders),
        "tagged-maps": ({**json_converters(schemas=False), **tagged()}, maps),
    }
    configs: dict[str, dict[str, str]] = {}
    for name, (converters, values) in work.items():
        create(servers, name)
        produce(servers, name, values)
        configs[name] = {"topics": name, **converters}
    plugins = str(apache_connectors())
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    with ConnectWorker(servers, tmp_path / "connect") as connect:
        for name, config in configs.items():
            given = {"connector.class": FILE_SINK, "file": str(theirs / name), **config}
            connect.do("POST", "/connectors", {"name": f"theirs-{name}", "config": given})
        manifests = [
            manifest(f"ours-{name}", FILE_SINK, {"file": str(ours / name), **config})
            for name, config in configs.items()
        ]
        run = processes.run(manifests, servers, "--plugin-path", plugins)
        for name, (_, values) in work.items():
            for folder in (theirs, ours):
                file = folder / name
                until(lambda: len(written(file)) >= len(values), what=run.last_words)  # noqa: B023
        assert has_java_host(run)
        run.stop()
    for name in work:
        found, expected = written(ours / name), written(theirs / name)
        assert len(found) == len(work[name][1])
        if name == "strings":
            assert found == expected
        else:
            assert list(map(unordered, found)) == list(map(unordered, expected))


def test_mirror_source_copies_a_topic_of_another_kafka_byte_by_byte(
    kafka: str, own_kafka: EmbeddedKafka, processes: Processes
) -> None:
    source, name = own_kafka.bootstrap_servers, new_name("orders")
    create(source, name, partitions=3)
    fill(source, name)
    alias = new_name("old")
    connector = manifest(
        new_name("mirror"),
        MIRROR,
        {
            "source.cluster.alias": alias,
            "target.cluster.alias": "new",
            "source.cluster.bootstrap.servers": source,
            "target.cluster.bootstrap.servers": kafka,
            "topics": name,
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "sync.topic.acls.enabled": "false",
            "consumer.isolation.level": "read_committed",
            "exactly.once.support": "required",
            "key.converter": BYTES,
            "value.converter": BYTES,
            "header.converter": BYTES,
        },
    )
    run = processes.run([connector], kafka, "--plugin-path", str(apache_connectors()))
    copied = await_records(kafka, f"{alias}.{name}", 1_000)
    assert has_java_host(run)
    run.stop()
    assert by_partition(copied) == by_partition(await_records(source, name, 1_000))


def mirrored(source: str, target: str, topic: str, alias: str) -> dict[str, dict[str, str]]:
    """The three connectors of MirrorMaker by name, from one Kafka to another, which is called `alias`."""
    common = {
        "source.cluster.alias": "old",
        "target.cluster.alias": alias,
        "source.cluster.bootstrap.servers": source,
        "target.cluster.bootstrap.servers": target,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "heartbeats.topic.replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "key.converter": BYTES,
        "value.converter": BYTES,
        "header.converter": BYTES,
    }
    return {
        "mirror": {"connector.class": MIRROR, **common, "topics": topic, "consumer.isolation.level": "read_committed"},
        "heartbeat": {"connector.class": HEARTBEAT, **common, "emit.heartbeats.interval.seconds": "1"},
        "checkpoint": {
            "connector.class": CHECKPOINT,
            **common,
            "groups": "readers",
            "emit.checkpoints.interval.seconds": "1",
            "refresh.groups.interval.seconds": "1",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
        },
    }


@pytest.mark.timeout(300)
def test_mirrormakers_connectors_write_what_they_do_in_kafka_connect(
    kafka_on: Callable[[str], EmbeddedKafka], processes: Processes, tmp_path: Path
) -> None:
    brokers = [kafka_on(name) for name in ("source", "beside", "own")]
    for broker in brokers:
        broker.start()
    source, theirs, ours = (broker.bootstrap_servers for broker in brokers)
    create(source, "orders", partitions=3)
    fill(source, "orders")
    consumer = Consumer({"bootstrap.servers": source, "group.id": "readers"})
    consumer.commit(offsets=[TopicPartition("orders", p, 100) for p in range(3)], asynchronous=False)
    consumer.close()
    plugins = str(apache_connectors())
    with ConnectWorker(theirs, tmp_path / "connect", plugin_path=str(apache_connectors().parent)) as connect:
        for name, config in mirrored(source, theirs, "orders", "theirs").items():
            connect.do("POST", "/connectors", {"name": name, "config": config})
        own = mirrored(source, ours, "orders", "ours")
        given = [manifest(name, c.pop("connector.class"), c) for name, c in own.items()]
        run = processes.run(given, ours, "--plugin-path", plugins)
        # Where transactions end, offsets have gaps.
        found = [by_partition(await_records(s, "old.orders", 1_000), offsets=False) for s in (theirs, ours)]
        assert found[0] == found[1]
        beats = [await_records(servers, "heartbeats", 3) for servers in (theirs, ours)]
        assert {(r.key or b"").removesuffix(b"\x06theirs") for r in beats[0]} == {
            (r.key or b"").removesuffix(b"\x04ours") for r in beats[1]
        }
        checkpoints = [await_records(servers, "old.checkpoints.internal", 3) for servers in (theirs, ours)]
        keyed = [{r.key for r in records} for records in checkpoints]
        assert keyed[0] == keyed[1]
        # The group may read on at either Kafka, and misses nothing there.
        first = {p: [r.headers for r in read_all(source, "orders") if r.partition == p][100] for p in range(3)}
        for servers in (theirs, ours):
            until(lambda: len(committed(servers, "readers")) == 3, what=run.last_words)  # noqa: B023
            rest = by_partition(read_all(servers, "old.orders"))
            for (_, partition), offset in committed(servers, "readers").items():
                assert offset > 0
                assert first[partition] in [r.headers for r in rest[partition] if r.offset >= offset]
        run.stop()


def fill(servers: str, topic: str) -> None:
    """Write 1,000 records into three partitions, with keys, headers and nulls."""
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    for number in range(1_000):
        key = f"key {number}".encode() if number % 5 else None
        value = bytes([number % 256, 0, 255]) if number % 7 else None
        producer.produce(topic, value, key, partition=number % 3, headers=[("number", str(number).encode())])
    assert producer.flush(60) == 0
    producer.close()


def by_partition(records: list[Read], *, offsets: bool = True) -> dict[int, list[Read]]:
    """The records of each partition, in order; without `offsets` they are all 0."""
    if not offsets:
        records = [replace(r, offset=0) for r in records]
    return {p: [r for r in records if r.partition == p] for p in {r.partition for r in records}}
