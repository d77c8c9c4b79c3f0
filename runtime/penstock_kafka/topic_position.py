"""Position up to which a topic was read. A later reader continues there unless the topic was created again."""

from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING

from penstock_model.contracts.status_snapshot import StatusSnapshot

__all__ = ["TopicPosition"]


@dataclass(frozen=True, slots=True)
class TopicPosition:
    """Position in every partition of a topic.

    Attributes:
        topic_id: Kafka's topic ID.
        ends: by partition, the first offset that was not read.
    """

    topic_id: str
    ends: tuple[int, ...]

    @classmethod
    def of(cls, snapshot: StatusSnapshot | None) -> "TopicPosition | None":
        """Return the position of the operator's snapshot, or None without a snapshot."""
        return None if snapshot is None else cls(snapshot.topic_id, snapshot.ends)

    def start(self, partition: int, low: int, high: int) -> int:
        """Return the offset to read a partition from: its beginning if the position is not between `low` and `high`."""
        offset = self.ends[partition] if partition < len(self.ends) else -1
        return offset if low <= offset <= high else OFFSET_BEGINNING
