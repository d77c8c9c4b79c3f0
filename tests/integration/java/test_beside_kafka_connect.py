"""Debezium in Penstock and in Kafka Connect beside it: one database, a broker for each, and the same bytes in both."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient
from connectors.sql.tests.conftest import Database

from penstock_cli.embedded import EmbeddedKafka

from ..connect_worker import ConnectWorker
from ..reading import Read, Reader, read_all
from ..running import Processes, manifest
from . import wide
from .capture import CLASS, capture, json_converters
from .plugins import debezium, folder_of

pytestmark = pytest.mark.slow

WORKER: Final = {
    "group.id": "penstock",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
}
TOPIC_PARTITIONS: Final = 3
NEW_TOPICS: Final = {
    "topic.creation.default.partitions": str(TOPIC_PARTITIONS),
    "topic.creation.default.replication.factor": "1",
}
_PROCESSED: Final = re.compile(rb'("op":"[a-z]",)"ts_ms":\d+,"ts_us":\d+,"ts_ns":\d+')
"""When a connector made an event; the only fields in which two connectors may differ on a change."""
_SNAPSHOT: Final = re.compile(rb'"(ts_ms|ts_us|ts_ns|txId|lsn)":\d+|"(sequence)":"(?:[^"\\]|\\.)*"')
"""When and where in the log a connector has read a row that was there before."""
_RUN: Final = "__debezium.context.runId"
"""A header with a random id of each run of a connector."""
_OFFSETS: Final = "connect-offsets"
PREFIXES: Final = ("typed", "plain", "rows")
_TRANSFORMS: Final = "org.apache.kafka.connect.transforms"


@dataclass(frozen=True)
class Side:
    """The Kafka that one of the two has written to."""

    servers: str

    def topics(self) -> dict[str, int]:
        """Every topic that a connector has made, with its number of partitions."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        found = admin.list_topics(timeout=30).topics
        return {name: len(t.partitions) for name, t in found.items() if name.startswith(PREFIXES)}

    def records(self, topic: str) -> dict[int, list[tuple[object, ...]]]:
        """The records of each partition of a topic, in order, without what hangs on the clock."""
        found: dict[int, list[tuple[object, ...]]] = {}
        for r in read_all(self.servers, topic):
            headers = tuple((name, b"" if name == _RUN else value) for name, value in r.headers)
            found.setdefault(r.partition, []).append((r.key, timeless(r.value), headers))
        return found

    def offsets(self) -> dict[bytes | None, bytes | None]:
        """The last value of each key of the offsets topic."""
        with Reader(self.servers, _OFFSETS, partitions=25) as reader:
            return {r.key: r.value for r in reader.to_end()}


def timeless(value: bytes | None) -> bytes | None:
    """A value without the fields of clocks, all other bytes as they are."""
    if value is None:
        return None
    value = _PROCESSED.sub(rb"\1", value)
    return _SNAPSHOT.sub(rb'"\1\2"', value) if b'"op":"r"' in value else value


def connectors(database: Database, side: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Three connectors that differ in how they write what they read."""
    typed = {
        **capture(database, "typed", slot_name=f"typed_{side}", publication_name=f"typed_{side}"),
        **json_converters(schemas=True),
        **NEW_TOPICS,
    }
    yield "typed", typed
    plain = {
        **capture(database, "plain", slot_name=f"plain_{side}", publication_name=f"plain_{side}"),
        **json_converters(schemas=False),
        **NEW_TOPICS,
        "time.precision.mode": "connect",
        "decimal.handling.mode": "double",
        "binary.handling.mode": "hex",
        "interval.handling.mode": "string",
        "provide.transaction.metadata": "true",
    }
    yield "plain", plain
    # Deletions have no row after them: they leave a value that is null and has a schema.
    rows = {
        **capture(database, "rows", slot_name=f"rows_{side}", publication_name=f"rows_{side}"),
        **json_converters(schemas=True),
        **NEW_TOPICS,
        "time.precision.mode": "connect",
        "decimal.handling.mode": "string",
        "transforms": "row,key,origin,header,route",
        "transforms.row.type": f"{_TRANSFORMS}.ExtractField$Value",
        "transforms.row.field": "after",
        "transforms.row.predicate": "tombstone",
        "transforms.row.negate": "true",
        "transforms.key.type": f"{_TRANSFORMS}.ExtractField$Key",
        "transforms.key.field": "id",
        "transforms.origin.type": f"{_TRANSFORMS}.InsertField$Value",
        "transforms.origin.topic.field": "origin",
        "transforms.header.type": f"{_TRANSFORMS}.InsertHeader",
        "transforms.header.header": "level",
        "transforms.header.value.literal": "3",
        "transforms.route.type": f"{_TRANSFORMS}.RegexRouter",
        "transforms.route.regex": "rows\\.public\\.(.*)",
        "transforms.route.replacement": "rows.public.$1",
        "predicates": "tombstone",
        "predicates.tombstone.type": f"{_TRANSFORMS}.predicates.RecordIsTombstone",
    }
    yield "rows", rows


def await_snapshot(servers: str) -> None:
    """Wait for all rows of all connectors."""
    for prefix in PREFIXES:
        for table, rows in wide.SNAPSHOT.items():
            with Reader(servers, f"{prefix}.public.{table}", partitions=TOPIC_PARTITIONS) as reader:
                reader.count(rows)


def await_last_change(servers: str) -> None:
    """Wait for the event of the last change, and for the end of its transaction."""
    note = str(wide.LAST_NOTE).encode()
    for prefix in PREFIXES:
        last = await_record(servers, f"{prefix}.public.notes", lambda r: note in (r.key or b""))
        if prefix == "plain":
            number = transaction(json.loads(last.value or b"")["transaction"])
            await_record(servers, "plain.transaction", lambda r: is_end(r, number))  # noqa: B023


def transaction(block: Mapping[str, str]) -> str:
    """PostgreSQL's number of a transaction; a position in the log follows it in an id."""
    return block["id"].partition(":")[0]


def is_end(record: Read, number: str) -> bool:
    """Whether this is the end of a transaction."""
    block = json.loads(record.value or b"")
    return block["status"] == "END" and transaction(block) == number


def await_record(servers: str, topic: str, is_wanted: Callable[[Read], bool]) -> Read:
    """The first record that is wanted."""
    with Reader(servers, topic, partitions=TOPIC_PARTITIONS) as reader:
        reader.until(lambda: any(map(is_wanted, reader.records)))
        return next(filter(is_wanted, reader.records))


@pytest.mark.timeout(600)
def test_records_and_offsets_of_debezium_are_those_of_kafka_connect(
    kafka_on: Callable[[str], EmbeddedKafka], database: Database, processes: Processes, tmp_path: Path
) -> None:
    brokers = [kafka_on("beside"), kafka_on("own")]
    for broker in brokers:
        broker.start()
    theirs, ours = (Side(broker.bootstrap_servers) for broker in brokers)
    archive = debezium("postgres")
    wide.fill(database)
    worker = {"plugin_path": str(folder_of(archive)), "exactly_once_source_support": "enabled"}
    with ConnectWorker(theirs.servers, tmp_path / "connect", **worker) as connect:
        for name, config in connectors(database, "connect"):
            connect.do("POST", "/connectors", {"name": name, "config": {"connector.class": CLASS, **config}})
        manifests = [manifest(name, CLASS, config) for name, config in connectors(database, "penstock")]
        run = processes.run(manifests, ours.servers, "--plugin-path", str(archive), worker=WORKER)
        for side in (theirs, ours):
            await_snapshot(side.servers)
        wide.change(database)
        for side in (theirs, ours):
            await_last_change(side.servers)
        run.stop()
    topics = theirs.topics()
    assert ours.topics() == topics
    assert set(topics) == {f"{p}.public.{t}" for p in PREFIXES for t in wide.RECORDS} | {"plain.transaction"}
    for topic in topics:
        expected, found = theirs.records(topic), ours.records(topic)
        if found != expected:
            pytest.fail(first_difference(topic, expected, found))
        if topic != "plain.transaction":
            assert sum(map(len, found.values())) == wide.RECORDS[topic.rpartition(".")[2]]
    assert len(theirs.offsets()) == len(PREFIXES)
    assert ours.offsets() == theirs.offsets()


def first_difference(
    topic: str, expected: dict[int, list[tuple[object, ...]]], found: dict[int, list[tuple[object, ...]]]
) -> str:
    """Where two sides part."""
    for partition, records in expected.items():
        others = found.get(partition, [])
        for number, (one, other) in enumerate(zip(records, others, strict=False)):
            if one != other:
                return f"{topic}-{partition}, record {number}:\n{one}\n{other}"
        if len(others) != len(records):
            return f"{topic}-{partition}: {len(records)} records, and {len(others)}"
    return f"{topic}: partitions {sorted(expected)} and {sorted(found)}"
