"""Kafka's own Java connectors for files and for mirroring topics."""

from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock_runtime.embedded import EmbeddedKafka

from ..lab import STRING
from ..reading import Read, Reader, await_records, create, produce
from ..running import Processes, Running, manifest, new_name, until
from .plugins import apache_connectors

pytestmark = pytest.mark.slow

FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def has_java_host(run: Running) -> bool:
    """Whether a JVM of plugins runs."""
    return any("dev.penstock.host.Main" in p.cmdline() for p in run.tree())


def test_java_file_source_delivers_lines_and_goes_on_where_it_was(
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


def test_java_file_sink_writes_lines_and_goes_on_where_it_was(
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


def test_mirror_source_copies_a_topic_of_another_kafka_byte_by_byte(
    kafka: str, own_kafka: EmbeddedKafka, processes: Processes
) -> None:
    source, name = own_kafka.bootstrap_servers, new_name("orders")
    create(source, name, partitions=3)
    producer = Producer({"bootstrap.servers": source, "acks": "all"})
    for number in range(1_000):
        key = f"key {number}".encode() if number % 5 else None
        value = bytes([number % 256, 0, 255]) if number % 7 else None
        producer.produce(name, value, key, partition=number % 3, headers=[("number", str(number).encode())])
    assert producer.flush(60) == 0
    producer.close()
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


def by_partition(records: list[Read]) -> dict[int, list[Read]]:
    """The records of each partition, in order."""
    return {p: [r for r in records if r.partition == p] for p in {r.partition for r in records}}
