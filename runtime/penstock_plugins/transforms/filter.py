"""Filter: drop records, usually those that match a predicate."""

from penstock import Record, RecordBatch, Transform

__all__ = ["Filter"]


class Filter(Transform):
    """Drop every record that it is applied to; later stages do not see it."""

    java_names = ("org.apache.kafka.connect.transforms.Filter",)

    def apply(self, record: Record) -> None:
        """Drop the record."""

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Drop all records."""
        return batch.take(())
