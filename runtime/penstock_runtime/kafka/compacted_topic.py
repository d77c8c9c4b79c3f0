"""Read and write compacted topics with a task's clients: the offsets topic and the status topic."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock_kafka import compacted_reader
from penstock_kafka.compacted_reader import CompactedReader
from penstock_kafka.compacted_writer import CompactedWriter
from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import ReaderClients
from penstock_kafka.topic_position import TopicPosition
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.process.liveness import LOOP

__all__ = ["StatusWriter", "follower", "read_since", "read_to_end", "reader_clients"]

_FOLLOWER: Final[Mapping[str, Any]] = {
    # How long the broker holds a request while there are no records; new records are returned immediately. Ten times
    # as long would save 0.01 % of a core, but would delay a first read, which waits for the end of the partition.
    "fetch_wait_max_ms": 500,
    "queued_max_messages_kbytes": 1_024,
    "socket_timeout_ms": 60_000,
}


def reader_clients(settings: ClientSettings, *, servers: str | None = None, **properties: Any) -> ReaderClients:
    """Return the client properties for readers of compacted topics.

    Args:
        settings: client settings of the task.
        servers: `bootstrap.servers`, if the topic is on another cluster than the consumers'.
        properties: further consumer properties, with underscores for dots.
    """
    consumer = settings.for_consumer(**{"group_id": "penstock-reader", "fetch_wait_max_ms": 50, **properties})
    if servers is not None:
        consumer["bootstrap.servers"] = servers
    return ReaderClients(consumer, settings.for_admin(), LOOP.turned)


def read_to_end(settings: ClientSettings, topic: str, *, servers: str | None = None) -> list[Entry]:
    """Return all entries of a small topic, as `penstock_kafka.compacted_reader.read_to_end` reads them."""
    return [record.entry for record in compacted_reader.read_to_end(reader_clients(settings, servers=servers), topic)]


def read_since(
    settings: ClientSettings, topic: str, since: TopicPosition | None
) -> tuple[list[Entry], TopicPosition | None]:
    """Return the entries since a position, and the new position, as `penstock_kafka.compacted_reader.read_since` does."""
    records, position = compacted_reader.read_since(reader_clients(settings), topic, since)
    return [record.entry for record in records], position


def follower(
    settings: ClientSettings, topic: str, keys: Sequence[bytes], since: TopicPosition | None = None
) -> CompactedReader:
    """Return a reader of the partitions that hold these keys, to use for the lifetime of a process."""
    return CompactedReader(reader_clients(settings, **_FOLLOWER), topic, keys=keys, since=since)


class StatusWriter(CompactedWriter):
    """Writer of compacted topics that uses a task's producer settings."""

    def __init__(self, settings: ClientSettings, *, client_id: str) -> None:
        super().__init__(lambda: settings.for_producer(client_id=client_id))
