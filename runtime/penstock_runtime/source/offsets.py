"""Storage of a source's offsets: the worker's offsets topic, and the connector's own, which takes precedence (KIP-618).

With exactly-once delivery, source offsets are part of the transaction, so they are on the cluster that the connector writes
to; the worker's topic receives them after the commit, as in Kafka Connect. Reading merges both; the connector's own value
takes precedence. (Kafka Connect 4.3.1 ignores the worker's value, so a connector that gets its own offsets topic loses its
position.)
"""

from collections.abc import Sequence

from penstock_kafka.records import Entry
from penstock_runtime.kafka import offsets_topic
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.offsets_topic import StoredOffsets
from penstock_runtime.source.context import SourceContext

__all__ = ["OffsetStore"]


class OffsetStore:
    """Reader of offsets, and writer of those that are not part of a transaction.

    Args:
        context: provides the topics and the settings of the clusters.
        writer: writes to the worker's cluster.
    """

    def __init__(self, context: SourceContext, writer: StatusWriter) -> None:
        self._context = context
        self._shared = writer
        self._own: StatusWriter | None = None

    def load(self) -> StoredOffsets:
        """Read all source offsets of this connector.

        Raises:
            RetriableError, ConnectError: as raised by `penstock_kafka.compacted_reader.read_to_end`.
        """
        context = self._context
        stored = offsets_topic.load(context.shared, context.spec.connector, topic=context.worker.offset_storage_topic)
        if context.own_offsets:
            stored.prefer(offsets_topic.load(context.settings, context.spec.connector, topic=context.offsets_topic))
        return stored

    @property
    def writes(self) -> bool:
        """Return whether this task writes offsets outside of a transaction."""
        return self._context.own_offsets or not self._context.exactly_once

    def delivered(self, entries: Sequence[Entry]) -> None:
        """Write the offsets that are not part of the transaction, after the records are in Kafka.

        Raises:
            RetriableError, ConnectError: as `StatusWriter.write`.
        """
        if not entries:
            return
        context = self._context
        if context.own_offsets and not context.exactly_once:
            if self._own is None:
                self._own = StatusWriter(context.settings, client_id=f"penstock-offsets-{context.spec.id}")
            self._own.write(context.offsets_topic, entries)
        if self.writes:
            self._shared.write(context.worker.offset_storage_topic, entries)

    def close(self) -> None:
        """Close the connection of this object; `writer` belongs to the caller."""
        if self._own is not None:
            self._own.close()
