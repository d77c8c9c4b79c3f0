"""The records of one connector that the operator has read from the status topic. Pods start from them (decision 0021).

Without a snapshot a pod would read the whole topic again. Pure.
"""

from penstock_model.contracts.base import Part

__all__ = ["StatusSnapshot"]


class StatusSnapshot(Part):
    """Records up to a position. A reader that continues from there has seen what a reader of the whole topic sees.

    Attributes:
        topic_id: Kafka's id of the topic. A topic that was deleted and created again has another one.
        ends: by partition, the first offset that was not read.
        records: keys and values before those offsets: the incarnation records, joined by `incarnation.merge_records`, and
            for a task the control record.
        generation: the greatest plan generation in the reports before those offsets.
    """

    topic_id: str
    ends: tuple[int, ...]
    records: tuple[tuple[str, str], ...] = ()
    generation: int = 0

    def entries(self) -> list[tuple[bytes, bytes | None]]:
        """The records as a reader of the topic gets them."""
        return [(key.encode(), value.encode()) for key, value in self.records]
