"""Position up to which a topic was read: a later reader continues there if the topic was not created again."""

from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING

from penstock_model.contracts.status_snapshot import StatusSnapshot

__all__ = ["TopicPosition"]


@dataclass(frozen=True, slots=True)
class TopicPosition:
    """Position in every partition of a topic.

    Attributes:
        topic_id: Kafka's id of the topic.
        ends: by partition, the first offset that was not read.
    """

    topic_id: str
    ends: tuple[int, ...]

    @classmethod
    def of(cls, snapshot: StatusSnapshot | None) -> "TopicPosition | None":
        """Return the position of the operator's snapshot; None without one."""
        return None if snapshot is None else cls(snapshot.topic_id, snapshot.ends)

    def start(self, partition: int, low: int, high: int) -> int:
        """Return the offset to read a partition from: its beginning if the position is not between `low` and `high`."""
        offset = self.ends[partition] if partition < len(self.ends) else -1
        return offset if low <= offset <= high else OFFSET_BEGINNING
