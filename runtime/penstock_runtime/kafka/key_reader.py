"""Read the records of one key of a compacted topic on demand, up to the end of the topic at that moment."""

from confluent_kafka import OFFSET_BEGINNING

from penstock.sink import TopicPartition
from penstock_kafka.murmur2 import partition_of
from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import TopicConsumer
from penstock_kafka.topic_position import TopicPosition
from penstock_kafka.watermarks import end_offsets, first_offset_since
from penstock_runtime.kafka.compacted_topic import reader_clients
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["KeyReader"]


class KeyReader:
    """Incremental reader of one key. A call costs three small requests if there are no new records.

    A topic that was created again may hold as many records as before, or more. So the reader also looks up the first offset
    with the timestamp of the last record. If it has changed, or the topic's partitions have, the topic is read from its
    beginning.

    The first call reads all partitions, later calls only the partition of the key. When partitions are added to a topic, its
    records stay where they are, and for some minutes some producers still use the old number of partitions: from then on
    every call reads all partitions.

    Connects on the first call and keeps its connection.

    Args:
        settings: client settings.
        topic: topic to read, which must exist.
        key: key of the records.
        since: position at which the first call starts, unless the topic has been created again.

    Attributes:
        from_beginning: whether the last call read the key's partition from its beginning. True for the first call, unless
            `since` applies, and whenever the topic was created again or partitions were added.
        last: last record of the key that the last call read from the current partition of the key.
    """

    def __init__(self, settings: ClientSettings, topic: str, key: bytes, since: TopicPosition | None = None) -> None:
        self._since = since
        self._topic = topic
        self._key = key
        self._connection = TopicConsumer(reader_clients(settings), topic)
        self._first_count = 0
        """Number of partitions when all of them were first read."""
        self._count = 0
        """Number of partitions as of the last call."""
        self._next_offsets: dict[int, int] = {}
        self._time: tuple[int, int] | None = None
        """Milliseconds since 1970, and the first offset with that timestamp or a later one: identifies this topic."""
        self.from_beginning = False
        self.last: Entry | None = None

    def news(self, seconds: float) -> list[Entry]:
        """Return the records of the key since the last call, oldest first within each partition. The first call returns all.

        Args:
            seconds: timeout of each request.

        Raises:
            RetriableError, ConnectError: as `read_to_end`; the next call returns what this call would have returned.
        """
        with self._connection.renewed_after_silence():
            return self._news(seconds)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _news(self, seconds: float) -> list[Entry]:
        count = len(self._connection.partitions(seconds))
        home = partition_of(self._key, count)
        numbers = [home] if count == self._first_count else list(range(count))
        is_same = count == self._count and self._is_same_topic(home, seconds)
        if is_same and self._ends(numbers, seconds) == {p: self._next_offsets.get(p) for p in numbers}:
            self.from_beginning, self.last = False, None
            return []
        watermarks = self._connection.watermarks(numbers, seconds)
        continues = is_same and all(
            low <= self._next_offsets.get(p, -1) <= high for p, (low, high) in watermarks.items()
        )
        starts = {p: self._next_offsets[p] if continues else OFFSET_BEGINNING for p in watermarks}
        if self._since is not None and self._since.topic_id == self._connection.topic_id():
            starts = {p: self._since.start(p, low, high) for p, (low, high) in watermarks.items()}
        ends = {p: high for p, (low, high) in watermarks.items() if high > max(starts[p], low)}
        entries, last, last_time = [], None, 0
        try:
            for record in self._connection.read_between(starts, ends, seconds):
                is_home = record.partition == home
                if is_home:
                    last_time = record.timestamp
                if record.key == self._key:
                    entries.append(record.entry)
                    last = record.entry if is_home else last
        finally:
            self._connection.client.unassign()  # otherwise the client keeps fetching
        from_beginning = starts[home] == OFFSET_BEGINNING
        if last_time > 0:
            self._time = self._time_of(home, last_time, seconds)
        elif from_beginning:
            self._time = None
        self._first_count, self._count, self._since = self._first_count or count, count, None
        self._next_offsets = {p: high for p, (_, high) in watermarks.items()}
        self.from_beginning, self.last = from_beginning, last
        return entries

    def _ends(self, numbers: list[int], seconds: float) -> dict[int, int | None]:
        ends = end_offsets(self._connection.client, [TopicPartition(self._topic, p) for p in numbers], seconds)
        return {place.partition: offset for place, offset in ends.items()}

    def _is_same_topic(self, home: int, seconds: float) -> bool:
        """Return whether the last record read still exists. If compaction removed it, everything is read again."""
        return self._time is None or self._first_offset_since(home, self._time[0], seconds) == self._time[1]

    def _time_of(self, home: int, last: int, seconds: float) -> tuple[int, int]:
        """Return the last record's timestamp and its first offset.

        If all records have that timestamp, return the next millisecond: in a new topic all records may be later, and the
        first offset would be the same.
        """
        offset = self._first_offset_since(home, last, seconds)
        return (last, offset) if offset else (last + 1, self._first_offset_since(home, last + 1, seconds))

    def _first_offset_since(self, home: int, time: int, seconds: float) -> int:
        return first_offset_since(self._connection.client, TopicPartition(self._topic, home), time, seconds)
