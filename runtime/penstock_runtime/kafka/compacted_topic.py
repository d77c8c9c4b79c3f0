"""Reading and writing compacted topics with a task's clients: the offsets topic and the status topic."""

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
    # How long the broker keeps a request while nothing comes; what comes is answered at once. Ten times as long would save
    # 0.01 % of a core, and a first read that ends with an end event would wait for it.
    "fetch_wait_max_ms": 500,
    "queued_max_messages_kbytes": 1_024,
    "socket_timeout_ms": 60_000,
}


def reader_clients(settings: ClientSettings, *, servers: str | None = None, **properties: Any) -> ReaderClients:
    """How a reader connects.

    Args:
        settings: of the task.
        servers: `bootstrap.servers` of another cluster than the consumers'.
        properties: further ones of the consumer, with underscores for dots.
    """
    consumer = settings.for_consumer(**{"group_id": "penstock-reader", "fetch_wait_max_ms": 50, **properties})
    if servers is not None:
        consumer["bootstrap.servers"] = servers
    return ReaderClients(consumer, settings.for_admin(), LOOP.turned)


def read_to_end(settings: ClientSettings, topic: str, *, servers: str | None = None) -> list[Entry]:
    """As `penstock_kafka.compacted_reader.read_to_end`, for topics that hold little."""
    return [record.entry for record in compacted_reader.read_to_end(reader_clients(settings, servers=servers), topic)]


def read_since(
    settings: ClientSettings, topic: str, since: TopicPosition | None
) -> tuple[list[Entry], TopicPosition | None]:
    """As `penstock_kafka.compacted_reader.read_since`."""
    records, position = compacted_reader.read_since(reader_clients(settings), topic, since)
    return [record.entry for record in records], position


def follower(
    settings: ClientSettings, topic: str, keys: Sequence[bytes], since: TopicPosition | None = None
) -> CompactedReader:
    """A reader of the partitions of some keys for the life of a process."""
    return CompactedReader(reader_clients(settings, **_FOLLOWER), topic, keys=keys, since=since)


class StatusWriter(CompactedWriter):
    """A writer of records to compacted topics with a task's clients."""

    def __init__(self, settings: ClientSettings, *, client_id: str) -> None:
        super().__init__(lambda: settings.for_producer(client_id=client_id))
