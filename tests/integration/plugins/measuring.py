"""A transform that counts records, and measures where it does."""

from typing import Any

from penstock import Record, RecordBatch, Transform
from telling import in_driver


class Measuring(Transform):
    def configure(self, config: Any) -> None:
        self._seen = self.context.metrics.counter("records_seen", "Records that went through.")
        self._on_spark = self.context.metrics.counter("records_seen_on_spark", "Those of Spark's workers.")
        self._last = self.context.metrics.gauge("last_batch", "Records of the last batch.")

    def apply(self, record: Record) -> Record | None:
        raise NotImplementedError

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        self._seen.add(len(batch))
        self._last.set(len(batch))
        if not in_driver():
            self._on_spark.add(len(batch))
        return batch
